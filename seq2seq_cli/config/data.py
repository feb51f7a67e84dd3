"""The tables `[data]` and `[tokenizer]`."""

from typing import Any, Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table

CORPORA = ("phrasebook", "tatoeba")

CATALOG = "tfds:"  # what follows names a data set of TensorFlow Datasets


class CorpusConfig(Table):
    """`[[data.sources]]`: one of several corpora that are mixed."""

    corpus: str
    """As `data.corpus`."""
    weight: float = Field(1.0, ge=0.001, le=1000)
    """How often an epoch shows each of its pairs, on average: 2 twice, 0.1 a tenth of them. The
    order of an epoch is held in memory, one number for each pair that is shown, so a larger weight
    could exhaust it; a smaller one would show next to nothing."""
    columns: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+ [A-Za-z0-9_-]+$")
    """As `data.columns`, and that where not given."""


class DataConfig(Table):
    """`[data]`: which pairs, and how they are split."""

    corpus: str | None = "phrasebook"
    """`phrasebook`, `tatoeba`, `tfds:NAME/CONFIG` of the catalog of TensorFlow Datasets, or a path:
    a zip with one text file, a TSV file, or PREFIX of PREFIX.en/PREFIX.es, each of which may be
    gzipped; or a folder that `s2s data prepare` made."""
    sources: list[CorpusConfig] = Field([])
    """Several corpora, mixed by weight, in the place of `corpus`."""
    source_language: str = Field("en", pattern=r"^[A-Za-z0-9_-]+$")
    """Language translated from: one of `columns`, or the ending of a parallel file."""
    target_language: str = Field("es", pattern=r"^[A-Za-z0-9_-]+$")
    """Language translated to: the other of `columns`, or the ending of a parallel file."""
    columns: str = Field("en es", pattern=r"^[A-Za-z0-9_-]+ [A-Za-z0-9_-]+$")
    """Languages of the first two columns of a TSV file."""
    dev: str | None = None
    """A file of pairs that choose the best checkpoint, where the corpus' own shall not."""
    test: str | None = None
    """A file of pairs that `s2s eval` scores, where the corpus' own shall not."""
    dev_pairs: int = Field(2500, ge=1, le=10**9)
    """About how many pairs choose the best checkpoint; at most a tenth of the corpus."""
    test_pairs: int = Field(2500, ge=1, le=10**9)
    """About how many pairs `s2s eval` scores; at most a tenth of the corpus."""
    split_seed: int = Field(0, ge=0, lt=2**31)
    """Another seed draws another split; it is apart from `training.seed`, so that runs compare.
    What a corpus brings as its own dev and test, as `phrasebook` does, stays as it is."""
    skip_bad_lines: bool = False
    """Leave out and count the lines that cannot be read; otherwise the first is an error."""

    @property
    def mixture(self) -> list[CorpusConfig]:
        """What is read: `sources`, or `corpus` alone."""
        return self.sources or [CorpusConfig(corpus=str(self.corpus))]

    def moved_to(self, corpus: str) -> "DataConfig":
        """Return the same with another place for the corpus."""
        return self.model_copy(update={"corpus": corpus, "sources": []})

    @model_validator(mode="before")
    @classmethod
    def _sources_stand_for_corpus(cls, values: Any) -> Any:
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


class TokenizerConfig(Table):
    """`[tokenizer]`: how text becomes ids; learned from the training side."""

    kind: Literal["unigram", "bpe", "wordpiece", "words", "bytes"] = "unigram"
    """SentencePiece's unigram or BPE with bytes for what has no piece, WordPiece, whole words, or
    UTF-8's bytes."""
    vocabulary_size: int = Field(3000, ge=300, le=1_000_000)
    """Number of ids of each vocabulary, 256 of SentencePiece's for bytes; fewer where the corpus
    has no more. `bytes` and given models have their own."""
    vocabularies: Literal["joint", "separate"] = "joint"
    """One vocabulary for both languages, or one for each."""
    training_pairs: int = Field(200_000, ge=1, le=10**9)
    """The vocabulary is learned from at most this many pairs, evenly spaced over the corpus."""
    model: str | None = None
    """A SentencePiece model to use and not to learn one: of both languages, or of the source where
    vocabularies are separate."""
    target_model: str | None = None
    """The same for the target where vocabularies are separate."""
    sampling_alpha: float = Field(0.0, ge=0, le=1)
    """Subword regularisation: training sees many segmentations of a sentence; 0 for one. For
    `unigram`, the power of a segmentation's probability (Kudo 2018; 0.1 to 0.5, a lower one gives
    more variety). For `bpe`, the share of merges left out (Provilkov et al. 2020; 0.1)."""

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
