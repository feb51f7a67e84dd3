"""The configuration's tables: the only home of every default."""

from typing import Any, ClassVar, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, model_validator

CORPORA = ("phrasebook", "tatoeba")
MOST_LAYERS = 64
MOST_UNITS = 16_384
MOST_SHARDS = 64
CATALOG = "tfds:"  # what follows names a data set of TensorFlow Datasets


class Table(BaseModel):
    """A table of the configuration: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class SourceConfig(Table):
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
    sources: list[SourceConfig] = []
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
    def mixture(self) -> list[SourceConfig]:
        """What is read: `sources`, or `corpus` alone."""
        return self.sources or [SourceConfig(corpus=str(self.corpus))]

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
    """Subword regularisation, 0 for none: training sees many divisions of a sentence. The power
    of a division's probability for `unigram` (Kudo 2018; 0.1 to 0.5, the less, the more varied),
    the share of merges left out for `bpe` (Provilkov et al. 2020; 0.1)."""

    @model_validator(mode="after")
    def _keys_agree(self) -> "TokenizerConfig":
        has_models = self.kind in ("unigram", "bpe")
        if self.sampling_alpha and not has_models:
            raise ValueError(
                "tokenizer.sampling_alpha is for tokenizer.kind 'unigram' or 'bpe'; with "
                f"{self.kind!r} a sentence has one division. Leave one of them out"
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


DOT_PRODUCTS = ("dot", "scaled_dot")


def _usual_wiring(model: dict[str, Any]) -> Literal["bahdanau", "luong"]:
    """Return the wiring of the paper that the score is from."""
    return "bahdanau" if model.get("attention") == "additive" else "luong"


def _fitting_encoder_units(model: dict[str, Any]) -> int:
    """Return a width with which the score learns fast, and a dot product is defined."""
    if not model.get("bidirectional"):
        return 256
    return {"dot": 192, "scaled_dot": 192, "general": 128}.get(str(model.get("attention")), 256)


def _fitting_decoder_units(model: dict[str, Any]) -> int:
    """Return a width for which the score is defined, given the values before it."""
    if model.get("attention") not in DOT_PRODUCTS:
        return 256
    units = model.get("encoder_units", 256)
    return 2 * units if model.get("bidirectional") else units


def _fitting_penalty(model: dict[str, Any]) -> float:
    """Return a penalty with which the score learns fast, given the values before it."""
    return 0.01 if model.get("attention") == "dot" else 0.0


class RNNConfig(Table):
    """`[model]` of `kind = "rnn"`: recurrent encoder and decoder with attention."""

    training_defaults: ClassVar[dict[str, Any]] = {}
    """Values of `[training]` that suit this kind, where its own default does not."""

    kind: Literal["rnn"] = "rnn"
    """Recurrent encoder and decoder with attention."""
    cell: Literal["gru", "lstm"] = "gru"
    """The recurrent cell of encoder and decoder."""
    encoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    """Layers of the encoder; from the third on each adds its input to its output."""
    decoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    """Layers of the decoder; from the third on each adds its input to its output."""
    bidirectional: bool = True
    """Each layer of the encoder reads from both ends, which doubles the width of its values."""
    attention: Literal["additive", "dot", "general", "concat", "scaled_dot"] = "additive"
    """How a query is scored against a key (Bahdanau et al. 2015; Luong et al. 2015; Vaswani et al.
    2017)."""
    wiring: Literal["bahdanau", "luong"] = Field(default_factory=_usual_wiring)
    """Where attention stands. `bahdanau`: the previous state asks, and the context enters the cell;
    usual for `additive`. `luong`: the cell moves first and the new state asks; for the others."""
    input_feeding: bool = True
    """In Luong's wiring: the cell reads the attentional vector of the step before."""
    bridge: Literal["projection", "zero"] = "projection"
    """How the decoder begins: with a projection of the encoder's last state, or with zeros."""
    embedding_units: int = Field(256, ge=1, le=MOST_UNITS)
    """Width of the embeddings, and of the readout in Bahdanau's wiring."""
    encoder_units: int = Field(default_factory=_fitting_encoder_units, ge=1, le=MOST_UNITS)
    """Width of the encoder in each direction: 256; where there are two, 192 for `dot` and
    `scaled_dot`, and 128 for `general`, with which values as wide as the decoder's states learn
    faster."""
    decoder_units: int = Field(default_factory=_fitting_decoder_units, ge=1, le=2 * MOST_UNITS)
    """Width of the decoder's state: 256, or for `dot` and `scaled_dot` that of the encoder's
    values, which it has to equal: `encoder_units`, or twice that if `bidirectional`."""
    attention_units: int = Field(256, ge=1, le=MOST_UNITS)
    """Width of the hidden layer of the scores `additive` and `concat`."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of embeddings, inputs of upper layers, encoder values and decoder outputs set to zero
    in training."""
    variational_dropout: bool = False
    """Set the same units to zero at all places of a sentence (Gal and Ghahramani 2016)."""
    activation_penalty: float = Field(default_factory=_fitting_penalty, ge=0, le=1000)
    """Weight of a penalty on the squares of the encoder's values (Merity et al. 2017): 0.01 for
    `dot`, with which large values soon make attention all or nothing and slow to learn; else 0."""

    @model_validator(mode="after")
    def _widths_of_a_dot_product(self) -> "RNNConfig":
        if self.attention not in DOT_PRODUCTS:
            return self
        width = 2 * self.encoder_units if self.bidirectional else self.encoder_units
        if self.decoder_units != width:
            twice = "twice " if self.bidirectional else ""
            raise ValueError(
                f"model.attention {self.attention!r} multiplies the decoder's states, of width "
                f"{self.decoder_units} (model.decoder_units), by the encoder's values, of width "
                f"{width} ({twice}model.encoder_units); the widths must be equal. Leave out "
                f"model.decoder_units or set it to {width}, or take model.attention 'general', "
                "which fits any widths"
            )
        return self

    @property
    def label(self) -> str:
        """A short name, for the run's folder."""
        return f"rnn-{self.attention}"

    @property
    def description(self) -> str:
        """A line that says what it is."""
        return f"rnn, {self.attention} attention, {self.wiring} wiring"


class AttentionStackConfig(Table):
    """What every `[model]` made of Transformer blocks takes."""

    training_defaults: ClassVar[dict[str, Any]] = {"peak_learning_rate": 2e-3}

    kind: Literal["transformer", "decoder_only"]
    """Which of them."""
    units: int = Field(256, ge=4, le=MOST_UNITS, multiple_of=2)
    """Width of embeddings and layers (d_model in Vaswani et al. 2017)."""
    heads: int = Field(4, ge=1, le=1024)
    """Number of attention heads; divides `units`."""
    inner_units: int = Field(1024, ge=1, le=4 * MOST_UNITS)
    """Width inside the feed-forward networks (d_ff)."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer (Xiong et al. 2020), or after it, as in the first paper."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Inside the feed-forward networks; `swiglu` (Shazeer 2020) has half as many weights again."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """How a token's place is told; of learned positions the last stands for all later ones."""
    max_positions: int = Field(2048, ge=1, le=131_072)
    """How many learned positions there are; the longest sentences of training must fit."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of embeddings and of each sublayer's outputs set to zero in training."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Share of attention weights set to zero in training."""
    tied_embeddings: bool = True
    """Use the target's embeddings for the output, and for the source where it has the same ids."""

    @model_validator(mode="after")
    def _heads_divide_units(self) -> "AttentionStackConfig":
        if self.units % self.heads:
            raise ValueError(
                f"model.heads must divide model.units; they are {self.heads} and {self.units}"
            )
        return self

    def _described(self, kind: str, layers: str) -> str:
        return (
            f"{kind}, {layers} layers of {self.units} units and {self.heads} heads, "
            f"{self.norm}-norm, {self.activation}, {self.positions} positions"
        )


class TransformerConfig(AttentionStackConfig):
    """`[model]` of `kind = "transformer"`: encoder and decoder of Vaswani et al. (2017)."""

    kind: Literal["transformer"] = "transformer"
    """Multi-head attention in an encoder and a decoder."""
    encoder_layers: int = Field(2, ge=1, le=MOST_LAYERS)
    """Number of layers in the encoder."""
    decoder_layers: int = Field(2, ge=1, le=MOST_LAYERS)
    """Number of layers in the decoder."""

    @property
    def label(self) -> str:
        """A short name, for the run's folder."""
        return "transformer"

    @property
    def description(self) -> str:
        """A line that says what it is."""
        return self._described("transformer", f"{self.encoder_layers} + {self.decoder_layers}")


class DecoderOnlyConfig(AttentionStackConfig):
    """`[model]` of `kind = "decoder_only"`: one stack over source, separator and target."""

    kind: Literal["decoder_only"] = "decoder_only"
    """A Transformer's decoder without cross-attention, which goes on where the source ends."""
    layers: int = Field(4, ge=1, le=MOST_LAYERS)
    """Number of layers."""

    @property
    def label(self) -> str:
        """A short name, for the run's folder."""
        return "decoder-only"

    @property
    def description(self) -> str:
        """A line that says what it is."""
        return self._described("decoder-only", str(self.layers))


ModelConfig = RNNConfig | TransformerConfig | DecoderOnlyConfig
MODELS: dict[str, type[RNNConfig] | type[TransformerConfig] | type[DecoderOnlyConfig]] = {
    "rnn": RNNConfig,
    "transformer": TransformerConfig,
    "decoder_only": DecoderOnlyConfig,
}
DEFAULT_KIND = "rnn"


class TrainingConfig(Table):
    """`[training]`: how long, how fast, and what is kept."""

    seed: int = Field(0, ge=0, lt=2**31)
    """Determines initial weights, order of the data and dropout."""
    device: str = Field("auto", pattern=r"^(auto|cpu|gpu|gpu:\d+)$")
    """`auto`, `cpu`, `gpu` or `gpu:N`; what is asked for is used or refused."""
    compile: Literal["auto", "xla", "graph"] = "auto"
    """`auto` lets XLA compile the parts of a training step that gain by it, such as recurrent
    loops; `xla` the whole step; `graph` nothing, so that the first updates come sooner and all
    others later."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of matrix products in training; all else is float32. `auto` measures which is faster at
    products of this model's widths, and takes bfloat16 if it is faster by a quarter."""
    epochs: int | None = Field(None, ge=1, le=10**9)
    """Stop after this many passes over the data; 4 where no limit is given."""
    steps: int | None = Field(None, ge=1, le=10**12)
    """Stop after this many updates."""
    budget_seconds: float | None = Field(None, gt=0, le=1e9)
    """Stop after this much time in training, validation and interruptions' resumes included."""
    batch_tokens: int = Field(1024, ge=64, le=1_000_000)
    """Size of a batch: about so many tokens of each side, padding included."""
    batch_pairs: int | None = Field(None, ge=1, le=100_000)
    """So many pairs in each batch, whatever their length, in place of `batch_tokens`."""
    shards: int | None = Field(None, ge=1, le=MOST_SHARDS)
    """Parts of a batch that are computed at once; their gradients are added. Where not given, one
    for each core of a CPU, of at least 512 tokens, or fewer where a measurement shows that those
    are faster; one in all on a GPU and with `xla`. Each part adds to the graph of an
    update, which takes longer to compile. A new run takes at most 4 parts for each core, and at
    most one for each row of its largest batch."""
    max_source_tokens: int = Field(64, ge=4, le=65_534)
    """Longer sources are left out of training."""
    max_target_tokens: int = Field(64, ge=4, le=65_534)
    """Longer targets are left out of training."""
    peak_learning_rate: float = Field(4e-3, gt=0, le=1000)
    """Adam's learning rate after warm-up, from where it falls to 0 along a cosine; another default
    where `model.kind` is not `rnn`."""
    warmup_steps: int = Field(400, ge=0, le=10**9)
    """Updates in which the learning rate rises; at most a tenth of the training."""
    gradient_clip_norm: float = Field(1.0, gt=0, le=1e9)
    """The gradient's global norm is cut to this."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability spread evenly over the vocabulary."""
    validate_every_steps: int | None = Field(None, ge=1, le=10**12)
    """Updates between validations; an epoch where not given."""
    patience: int = Field(8, ge=1, le=10**9)
    """Stop after this many validations without a better dev BLEU."""
    checkpoint_minutes: float = Field(5.0, gt=0, le=1e7)
    """A checkpoint is saved at each validation, and at least this often."""
    keep_checkpoints: int = Field(2, ge=1, le=10**6)
    """How many of the newest checkpoints are kept, beside the best."""

    @model_validator(mode="after")
    def _batch_holds_the_longest_pair(self) -> "TrainingConfig":
        longest = max(self.max_source_tokens, self.max_target_tokens)
        if not self.batch_pairs and self.batch_tokens < longest:
            raise ValueError(
                f"training.batch_tokens ({self.batch_tokens}) cannot hold one pair of the length "
                f"that training.max_source_tokens and max_target_tokens allow ({longest})"
            )
        return self

    @property
    def epoch_limit(self) -> int | None:
        """The limit on epochs in force: some limit always is."""
        if self.epochs is None and self.steps is None and self.budget_seconds is None:
            return 4
        return self.epochs


class DecodingConfig(Table):
    """`[decoding]`: how translations are searched for."""

    beam: int = Field(1, ge=1, le=10_000)
    """Hypotheses that are followed for each sentence; 1 is greedy decoding."""
    n_best: int = Field(1, ge=1, le=1000)
    """Translations given of each sentence: at most `beam` of them, or that many samples."""
    length_penalty: float = Field(0.6, ge=0, le=5)
    """A log-probability is divided by this power, alpha, of the length; 0 for no penalty."""
    length_penalty_kind: Literal["gnmt", "simple"] = "gnmt"
    """What has that power: `gnmt` (5 + length) / 6 (Wu et al. 2016), `simple` the length."""
    coverage_penalty: float = Field(0.0, ge=0, le=100)
    """Weight beta of the penalty for source tokens that got little attention (Wu et al. 2016)."""
    sample: bool = False
    """Draw each token by its probability, and do not search for the best."""
    temperature: float = Field(1.0, ge=0.001, le=100)
    """Of sampling: below 1 the probable becomes more probable, above 1 less."""
    top_k: int | None = Field(None, ge=1, le=1_000_000)
    """Of sampling: draw from the so many most probable tokens."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Of sampling: draw from the most probable tokens that together are so probable."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Of sampling: with the sentence's number, it determines all draws."""
    repetition_penalty: float = Field(1.0, ge=1, le=100)
    """Tokens that are in the translation already become less probable (Keskar et al. 2019)."""
    no_repeat_ngram: int = Field(0, ge=0, le=100)
    """No sequence of so many tokens comes twice in a translation; 0 for no such rule."""
    max_length: int | None = Field(None, ge=1, le=100_000)
    """A translation has at most so many tokens, its end included, whatever the source's length."""
    max_length_ratio: float = Field(2.0, gt=0, le=100)
    """A translation has at most this times the source's tokens, plus `max_length_extra`; where it
    begins with a prefix, at least one token more than that."""
    max_length_extra: int = Field(10, ge=0, le=100_000)
    """See `max_length_ratio`."""
    min_length: int = Field(0, ge=0, le=100_000)
    """A translation has at least so many tokens, its end included."""
    min_length_ratio: float = Field(0.0, ge=0, le=100)
    """A translation has at least this times the source's tokens."""
    max_source_tokens: int = Field(512, ge=4, le=1_000_000)
    """A longer source, and target to be scored, is cut, with a warning. A prefix may have as many
    where `max_length` is not given."""
    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    """Of matrix products. bfloat16 is faster on some processors, and changes scores in the third
    digit; `auto` measures which is faster here."""
    batch_sentences: int = Field(256, ge=1, le=10**6)
    """Sentences translated at once."""
    batch_tokens: int = Field(4096, ge=1, le=10**9)
    """Size of a batch: sentences times the length of the longest, padding included; a batch has one
    sentence at least."""

    @model_validator(mode="after")
    def _keys_agree(self) -> "DecodingConfig":
        if self.sample and self.beam > 1:
            raise ValueError(
                f"decoding.sample = true and decoding.beam = {self.beam} exclude each other: "
                "samples are drawn, beams are searched. Leave one of them out"
            )
        if not self.sample and self.n_best > self.beam:
            raise ValueError(
                f"decoding.n_best = {self.n_best} asks for more translations than a beam of "
                f"{self.beam} finds. To search for them, add decoding.beam = {self.n_best}; to "
                "draw them, decoding.sample = true"
            )
        given = [
            f"decoding.{key} = {getattr(self, key)}"
            for key in ("temperature", "top_k", "top_p")
            if getattr(self, key) != type(self).model_fields[key].default
        ]
        if given and not self.sample:
            raise ValueError(
                f"only sampling uses {' and '.join(given)}. Add decoding.sample = true, or leave "
                f"{'it' if len(given) == 1 else 'them'} out"
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(
                f"decoding.min_length = {self.min_length} is more than "
                f"decoding.max_length = {self.max_length}. Change one of them"
            )
        return self

    @property
    def description(self) -> str:
        """How it searches, in a word or two."""
        if self.sample:
            return "sampled"
        return "greedy" if self.beam == 1 else f"beam {self.beam}"


class Config(Table):
    """Everything that determines a training; `run/config.toml` holds it whole."""

    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = Field(RNNConfig(), discriminator="kind")
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    @model_validator(mode="before")
    @classmethod
    def _suit_training_to_the_kind(cls, tables: dict[str, Any]) -> dict[str, Any]:
        """Put what suits the kind of model where `[training]` says nothing."""
        model, training = tables.get("model", {}), tables.get("training", {})
        kind = model.get("kind") if isinstance(model, dict) else model.kind
        if isinstance(training, TrainingConfig):
            return tables
        defaults = MODELS[kind or DEFAULT_KIND].training_defaults
        return {**tables, "training": {**defaults, **training}}

    @model_validator(mode="after")
    def _positions_for_the_longest_pair(self) -> "Config":
        model, training = self.model, self.training
        if isinstance(model, RNNConfig) or model.positions == "sinusoidal":
            return self
        source, target = training.max_source_tokens, training.max_target_tokens
        # The target begins with BOS, and is read up to its last token.
        longest = source + target if isinstance(model, DecoderOnlyConfig) else max(source, target)
        if model.max_positions < longest:
            raise ValueError(
                f"model.max_positions ({model.max_positions}) is too small for the sentences that "
                f"training.max_source_tokens and max_target_tokens allow: {longest} are needed"
            )
        return self

    def to_toml(self) -> str:
        """Write every value that is set, by table."""
        return tomli_w.dumps(self.model_dump(exclude_none=True))

    def flat(self) -> dict[str, Any]:
        """Return the values by dotted key."""
        return {
            f"{table}.{key}": value
            for table, values in self.model_dump().items()
            for key, value in values.items()
        }
