"""The tables `[data]` and `[tokenizer]`."""

import re
from typing import Any, Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table
from seq2seq_cli.errors import UsageError
from seq2seq_cli.special_tokens import TO

CORPORA = ("phrasebook", "tatoeba")

CATALOG = "tfds:"  # before the name of a data set of TensorFlow Datasets


def is_address(corpus: str | None) -> bool:
    """Return whether a corpus is an address such as https://…, instead of a name or a path."""
    return corpus is not None and re.match(r"[a-z][a-z0-9+.-]*://", corpus) is not None


class CorpusConfig(Table):
    """`[[data.sources]]`: one of several corpora that are mixed."""

    corpus: str = Field(min_length=1)
    """A corpus, as in `data.corpus`."""
    weight: float = Field(1.0, ge=0.001, le=1000)
    """How often an epoch contains each of its pairs, on average: with 2 each occurs twice, with 0.1
    a tenth of them occur. A process keeps one number in memory for each pair of an epoch, so the
    weight has an upper limit."""
    columns: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+ [A-Za-z0-9_-]+$")
    """Like `data.columns`, which is the default."""
    tag: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+$")
    """A token `<tag>` before each source sentence, such as `bt`, so that the model can distinguish
    this corpus from the others (Caswell et al. 2019). A corpus with a tag is used only for
    training; see `train_only`. Sentences to translate have no tag."""
    train_only: bool = False
    """Use the corpus only for training. The dev and test splits then come from the other corpora,
    and pairs of this corpus that share a sentence with them are left out."""
    target_language: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+$")
    """Language of its targets, if it is not `data.target_language`. Every source sentence then
    begins with a tag of the language to translate into, such as `<2de>` (Johnson et al. 2017). The
    corpus is used only for training; see `train_only`."""

    @property
    def only_trains(self) -> bool:
        """Whether none of its pairs is held out."""
        return self.train_only or bool(self.tags)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of its source sentences; the tag of another target language comes first."""
        language = [TO + self.target_language] if self.target_language else []
        return (*language, *([self.tag] if self.tag else []))


class DataConfig(Table):
    """`[data]`: the corpus, its languages and its splits."""

    corpus: str | None = Field("phrasebook", min_length=1)
    """`phrasebook`, `tatoeba`, `tfds:NAME/CONFIG` from the catalog of TensorFlow Datasets, or a
    path. A path is a zip with one text file, a TSV file, the PREFIX of two parallel files PREFIX.en
    and PREFIX.es, or a folder that `s2s data prepare` made. Text files may be gzipped. The folder
    may also be given by its address (`https://…`, `gs://…`, `s3://…`)."""
    sources: list[CorpusConfig] = Field([])
    """Several corpora, mixed by weight, instead of `corpus`."""
    source_language: str = Field("en", pattern=r"^[A-Za-z0-9_-]+$")
    """Language to translate from: one of `columns`, or the ending of a parallel file."""
    target_language: str = Field("es", pattern=r"^[A-Za-z0-9_-]+$")
    """Language to translate into: the other of `columns`, or the ending of a parallel file."""
    both_directions: bool = False
    """Train one model for both directions (Johnson et al. 2017; Ding et al. 2021). Each pair is
    used twice, once reversed. The first token of a source sentence names the language to translate
    into, such as `<2es>`. Dev BLEU is that of `target_language`."""
    columns: str = Field("en es", pattern=r"^[A-Za-z0-9_-]+ [A-Za-z0-9_-]+$")
    """Languages of the first two columns of a TSV file."""
    dev: str | None = Field(None, min_length=1)
    """A file of pairs that select the best checkpoint, instead of pairs of the corpus."""
    test: str | None = Field(None, min_length=1)
    """A file of pairs that `s2s eval` scores, instead of pairs of the corpus."""
    dev_pairs: int = Field(2500, ge=1, le=10**9)
    """Approximate number of pairs to select the best checkpoint; at most a tenth of the corpus."""
    test_pairs: int = Field(2500, ge=1, le=10**9)
    """Approximate number of pairs that `s2s eval` scores; at most a tenth of the corpus."""
    split_seed: int = Field(0, ge=0, lt=2**31)
    """Determines the split. It does not depend on `training.seed`, so that runs can be compared.
    A corpus that has its own dev and test splits, such as `phrasebook`, keeps them."""
    skip_bad_lines: bool = False
    """Leave out and count lines that cannot be read. By default the first such line is an error."""

    @property
    def mixture(self) -> list[CorpusConfig]:
        """The corpora to read: `sources`, or `corpus` alone."""
        return self.sources or [CorpusConfig(corpus=str(self.corpus))]

    @property
    def target_languages(self) -> list[str]:
        """The languages that a model translates into, `target_language` first."""
        others = [source.target_language for source in self.sources if source.target_language]
        return [*self.directions, *dict.fromkeys(others)]

    @property
    def directions(self) -> list[str]:
        """The target languages of the pairs, and of the reversed pairs if `both_directions`."""
        return [self.target_language, *([self.source_language] if self.both_directions else [])]

    @property
    def target_first(self) -> bool:
        """Whether splits put the target language first.

        They use the languages in alphabetical order, so both directions have the same splits.
        """
        return self.target_language < self.source_language

    @property
    def direction(self) -> str:
        """The languages in words."""
        targets = [name for name in self.target_languages if name != self.source_language]
        back = " and back" if self.both_directions else ""
        return f"{self.source_language} to {' and '.join(targets)}{back}"

    def languages_to(self, target: str | None) -> tuple[str, str]:
        """Return (source, target) of the direction to a language; None is `target_language`.

        Raises:
            UsageError: if a model with this table does not translate into it.
        """
        usual = self.source_language, self.target_language
        if target is None or target == self.target_language:
            return usual
        if target in self.directions:
            return usual[::-1]
        if target in self.target_languages:
            return self.source_language, target
        raise UsageError(
            f"this run does not translate into {target!r} (--to); it translates from "
            f"{self.direction}. Leave it out, or train with data.both_directions or with a corpus "
            "of that language"
        )

    def covers(self, source: str, target: str) -> bool:
        """Return whether a model with this table translates from one language into another."""
        return target in self.target_languages and self.languages_to(target) == (source, target)

    def moved_to(self, corpus: str) -> "DataConfig":
        """Return the same table with another corpus, and without `sources`.

        Raises:
            UsageError: if the path is empty, or a config file cannot hold it.
        """
        if not corpus or re.search("[\0\ud800-\udfff]", corpus):
            fault = "has a NUL character or bytes that are not UTF-8" if corpus else "is empty"
            raise UsageError(f"--data: the path {fault}. Give another one, or leave it out")
        return self.model_copy(update={"corpus": corpus, "sources": []})

    @model_validator(mode="before")
    @classmethod
    def _sources_replace_corpus(cls, values: Any) -> Any:
        if not values.get("sources") or not isinstance(values["sources"], list):
            return values
        if values.get("corpus") is not None:
            raise ValueError(
                "data.corpus and data.sources exclude each other; data.corpus is "
                f"{values['corpus']!r}, and data.sources has {len(values['sources'])} entries"
            )
        return {**values, "corpus": None}

    @model_validator(mode="after")
    def _two_languages(self) -> "DataConfig":
        if self.source_language == self.target_language:
            raise ValueError(
                "data.source_language and data.target_language must differ; "
                f"both are {self.source_language!r}"
            )
        return self

    @model_validator(mode="after")
    def _tags_of_languages_are_clear(self) -> "DataConfig":
        for number, source in enumerate(self.sources):
            if source.target_language in (self.source_language, self.target_language):
                raise ValueError(
                    f"data.sources[{number}].target_language is for a third language; it is "
                    f"{source.target_language!r}, but data.source_language and "
                    f"data.target_language are {self.source_language!r} and "
                    f"{self.target_language!r}. Leave it out"
                )
            if source.tag is not None and source.tag.startswith(TO):
                raise ValueError(
                    f"data.sources[{number}].tag must not begin with {TO!r}, which is reserved for "
                    f"the tags of languages; it is {source.tag!r}"
                )
        return self

    @model_validator(mode="after")
    def _something_is_held_out(self) -> "DataConfig":
        given = self.dev and self.test
        if self.sources and not given and all(each.only_trains for each in self.sources):
            raise ValueError(
                "data.sources: every corpus has a tag, train_only or a target_language, so there "
                "are no pairs for dev and test. Add a corpus without these, or set data.dev and "
                "data.test"
            )
        return self


class TokenizerConfig(Table):
    """`[tokenizer]`: how text becomes ids. The vocabulary is learned from the training side."""

    kind: Literal["unigram", "bpe", "wordpiece", "words", "bytes"] = "unigram"
    """`unigram` and `bpe` are SentencePiece models; characters without a piece become bytes.
    `wordpiece` has WordPieces, `words` whole words, and `bytes` the bytes of UTF-8."""
    vocabulary_size: int = Field(3000, ge=300, le=1_000_000)
    """Number of ids of each vocabulary. SentencePiece uses 256 of them for bytes. A small corpus
    may give fewer. `bytes` and given models have fixed numbers."""
    vocabularies: Literal["joint", "separate"] = "joint"
    """`joint` is one vocabulary for both languages, `separate` one for each."""
    training_pairs: int = Field(200_000, ge=1, le=10**9)
    """Maximum number of pairs to learn the vocabulary from, evenly spaced over the corpus."""
    model: str | None = Field(None, min_length=1)
    """A SentencePiece model to use instead of learning one. With separate vocabularies it is for
    the source language, otherwise for both languages."""
    target_model: str | None = Field(None, min_length=1)
    """The same for the target language, with separate vocabularies."""
    sampling_alpha: float = Field(0.0, ge=0, le=1)
    """Subword regularisation: training samples many segmentations of a sentence; 0 uses the best
    one only. For `unigram` it is the power of a segmentation's probability (Kudo 2018), usually 0.1
    to 0.5; smaller values give more variety. For `bpe` it is the share of merges that are left out
    (Provilkov et al. 2020), usually 0.1."""

    @model_validator(mode="after")
    def _keys_agree(self) -> "TokenizerConfig":
        has_models = self.kind in ("unigram", "bpe")
        if self.sampling_alpha and not has_models:
            raise ValueError(
                "tokenizer.sampling_alpha is for tokenizer.kind 'unigram' or 'bpe'; with "
                f"{self.kind!r} a sentence has one segmentation. Leave one of them out"
            )
        if (self.model or self.target_model) and not has_models:
            raise ValueError(
                "tokenizer.model and tokenizer.target_model are SentencePiece models, and "
                f"tokenizer.kind is {self.kind!r}. Set it to the kind of the model, "
                "'unigram' or 'bpe'"
            )
        if self.target_model and self.vocabularies == "joint":
            raise ValueError(
                "tokenizer.target_model is for tokenizer.vocabularies = 'separate'; with 'joint', "
                "tokenizer.model is for both languages"
            )
        if self.vocabularies == "separate" and (self.model is None) != (self.target_model is None):
            raise ValueError(
                "tokenizer.vocabularies = 'separate' needs both tokenizer.model and "
                "tokenizer.target_model, or neither"
            )
        return self
