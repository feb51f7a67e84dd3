"""The tables `[data]` and `[tokenizer]`."""

from typing import Any, Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table

CORPORA = ("phrasebook", "tatoeba")

CATALOG = "tfds:"  # before the name of a data set of TensorFlow Datasets


class CorpusConfig(Table):
    """`[[data.sources]]`: one of several corpora that are mixed."""

    corpus: str
    """A corpus, as in `data.corpus`."""
    weight: float = Field(1.0, ge=0.001, le=1000)
    """How often an epoch shows each of its pairs, on average: 2 shows each twice, 0.1 a tenth of
    them. A process keeps one number in memory for each pair that an epoch shows, so the weight has
    an upper limit."""
    columns: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+ [A-Za-z0-9_-]+$")
    """As in `data.columns`, which is the default."""
    train_only: bool = False
    """Its pairs are only for training, such as synthetic ones. The dev and test splits are those of
    the other corpora. Pairs that share a sentence with dev or test are left out."""


class DataConfig(Table):
    """`[data]`: the corpus, its languages and its splits."""

    corpus: str | None = "phrasebook"
    """`phrasebook`, `tatoeba`, `tfds:NAME/CONFIG` from the catalog of TensorFlow Datasets, or a
    path. A path is a zip with one text file, a TSV file, PREFIX of two parallel files PREFIX.en and
    PREFIX.es, or a folder that `s2s data prepare` made. Text files may be gzipped."""
    sources: list[CorpusConfig] = Field([])
    """Several corpora, mixed by weight, instead of `corpus`."""
    source_language: str = Field("en", pattern=r"^[A-Za-z0-9_-]+$")
    """Language to translate from: one of `columns`, or the ending of a parallel file."""
    target_language: str = Field("es", pattern=r"^[A-Za-z0-9_-]+$")
    """Language to translate to: the other of `columns`, or the ending of a parallel file."""
    columns: str = Field("en es", pattern=r"^[A-Za-z0-9_-]+ [A-Za-z0-9_-]+$")
    """Languages of the first two columns of a TSV file."""
    dev: str | None = None
    """A file of pairs that choose the best checkpoint, instead of pairs of the corpus."""
    test: str | None = None
    """A file of pairs that `s2s eval` scores, instead of pairs of the corpus."""
    dev_pairs: int = Field(2500, ge=1, le=10**9)
    """Approximate number of pairs to choose the best checkpoint; at most a tenth of the corpus."""
    test_pairs: int = Field(2500, ge=1, le=10**9)
    """Approximate number of pairs that `s2s eval` scores; at most a tenth of the corpus."""
    split_seed: int = Field(0, ge=0, lt=2**31)
    """Determines the split. It does not depend on `training.seed`, so that runs can be compared.
    A corpus that brings its own dev and test, such as `phrasebook`, keeps them."""
    skip_bad_lines: bool = False
    """Leave out and count lines that cannot be read. Otherwise the first of them is an error."""

    @property
    def mixture(self) -> list[CorpusConfig]:
        """The corpora to read: `sources`, or `corpus` alone."""
        return self.sources or [CorpusConfig(corpus=str(self.corpus))]

    def moved_to(self, corpus: str) -> "DataConfig":
        """Return the same table with another corpus, and without `sources`."""
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
    def _something_to_hold_out(self) -> "DataConfig":
        splits_off = self.dev is None or self.test is None
        if splits_off and all(source.train_only for source in self.mixture):
            raise ValueError(
                "data.sources are all train_only = true, so there are no pairs for dev and test. "
                "Leave it out for one of them, or set both data.dev and data.test"
            )
        return self

    @model_validator(mode="after")
    def _two_languages(self) -> "DataConfig":
        if self.source_language == self.target_language:
            raise ValueError(
                "data.source_language and data.target_language must differ; "
                f"both are {self.source_language!r}"
            )
        return self


class TokenizerConfig(Table):
    """`[tokenizer]`: how text becomes ids. The vocabulary is learned from the training side."""

    kind: Literal["unigram", "bpe", "wordpiece", "words", "bytes"] = "unigram"
    """`unigram` or `bpe` are SentencePiece models that write characters without a piece as bytes;
    `wordpiece`, `words` and `bytes` (of UTF-8) are the others."""
    vocabulary_size: int = Field(3000, ge=300, le=1_000_000)
    """Number of ids of each vocabulary. SentencePiece uses 256 of them for bytes. A small corpus
    may give fewer. `bytes` and given models have their own number."""
    vocabularies: Literal["joint", "separate"] = "joint"
    """`joint` is one vocabulary for both languages, `separate` one for each."""
    training_pairs: int = Field(200_000, ge=1, le=10**9)
    """Maximum number of pairs to learn the vocabulary from, evenly spaced over the corpus."""
    model: str | None = None
    """A SentencePiece model to use instead of learning one: for both languages, or with separate
    vocabularies for the source language."""
    target_model: str | None = None
    """The same for the target language, with separate vocabularies."""
    sampling_alpha: float = Field(0.0, ge=0, le=1)
    """Subword regularisation: training samples many segmentations of a sentence; 0 for the best
    one only. For `unigram` it is the power of a segmentation's probability (Kudo 2018): 0.1 to 0.5,
    where less gives more variety. For `bpe` it is the share of merges that are left out (Provilkov
    et al. 2020): 0.1."""

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
                f"tokenizer.kind is {self.kind!r}. Set it to 'unigram' or 'bpe', as the model is"
            )
        if self.target_model and self.vocabularies == "joint":
            raise ValueError(
                "tokenizer.target_model is for tokenizer.vocabularies = 'separate'; with 'joint' "
                "tokenizer.model serves both languages"
            )
        if self.vocabularies == "separate" and (self.model is None) != (self.target_model is None):
            raise ValueError(
                "tokenizer.vocabularies = 'separate' takes both tokenizer.model and "
                "tokenizer.target_model, or neither"
            )
        return self
