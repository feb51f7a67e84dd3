"""The configuration: its tables, the only home of every default, and how it is read and shown."""

import difflib
import os
import re
import sys
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from seq2seq_cli.errors import UsageError

if sys.version_info >= (3, 11):
    from importlib.resources.abc import Traversable

    import tomllib
else:
    from importlib.abc import Traversable

    import tomli as tomllib


class Table(BaseModel):
    """A table of the configuration: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DataConfig(Table):
    """`[data]`: which pairs, and how they are split."""

    corpus: str = "phrasebook"
    """`phrasebook`, `tatoeba`, or a path: a zip with one text file, a TSV file, or PREFIX of
    PREFIX.en/PREFIX.es; text may be gzipped."""
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
    dev_pairs: int = Field(2500, ge=1)
    """About how many pairs choose the best checkpoint; at most a tenth of the corpus."""
    test_pairs: int = Field(2500, ge=1)
    """About how many pairs `s2s eval` scores; at most a tenth of the corpus."""
    split_seed: int = Field(0, ge=0)
    """Another seed draws another split; it is apart from `training.seed`, so that runs compare."""
    skip_bad_lines: bool = False
    """Leave out and count the lines that cannot be read; otherwise the first is an error."""

    @model_validator(mode="after")
    def _two_languages(self) -> "DataConfig":
        if self.source_language == self.target_language:
            raise ValueError(
                "data.source_language and data.target_language must differ; "
                f"both are {self.source_language!r}"
            )
        return self


class TokenizerConfig(Table):
    """`[tokenizer]`: one SentencePiece model for both languages, trained on the training side."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """SentencePiece's algorithm."""
    vocabulary_size: int = Field(3000, ge=300, le=1_000_000)
    """Number of pieces, 256 of them for bytes; fewer where the corpus has no more."""


class RNNConfig(Table):
    """`[model]` of `kind = "rnn"`: recurrent encoder and decoder with attention."""

    training_defaults: ClassVar[dict[str, Any]] = {"compile": "xla"}
    """Values of `[training]` that suit this kind, where its own default does not."""

    kind: Literal["rnn"] = "rnn"
    """Bidirectional GRU encoder and GRU decoder with attention."""
    attention: Literal["additive"] = "additive"
    """How a query is scored against a key (Bahdanau et al. 2015)."""
    wiring: Literal["bahdanau"] = "bahdanau"
    """Where attention stands: the previous state asks, and the context enters the cell."""
    embedding_units: int = Field(256, ge=1)
    """Width of the embeddings and of the readout."""
    encoder_units: int = Field(256, ge=1)
    """Width of the encoder in each direction."""
    decoder_units: int = Field(256, ge=1)
    """Width of the decoder's state."""
    attention_units: int = Field(256, ge=1)
    """Width of the hidden layer of the additive score."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of embeddings, encoder values and readout set to zero in training."""

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

    # As fast as XLA on a CPU, without a compilation for each length.
    training_defaults: ClassVar[dict[str, Any]] = {"compile": "graph", "peak_learning_rate": 2e-3}

    kind: Literal["transformer", "decoder_only"]
    """Which of them."""
    units: int = Field(256, ge=4, multiple_of=2)
    """Width of embeddings and layers (d_model in Vaswani et al. 2017)."""
    heads: int = Field(4, ge=1)
    """Number of attention heads; divides `units`."""
    inner_units: int = Field(1024, ge=1)
    """Width inside the feed-forward networks (d_ff)."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer (Xiong et al. 2020), or after it, as in the first paper."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Inside the feed-forward networks; `swiglu` (Shazeer 2020) has half as many weights again."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """How a token's place is told; of learned positions the last stands for all later ones."""
    max_positions: int = Field(2048, ge=1)
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
    encoder_layers: int = Field(2, ge=1)
    """Number of layers in the encoder."""
    decoder_layers: int = Field(2, ge=1)
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
    layers: int = Field(4, ge=1)
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
_AUTO_COMPILE = ("compile", "auto")


class TrainingConfig(Table):
    """`[training]`: how long, how fast, and what is kept."""

    seed: int = Field(0, ge=0, lt=2**31)
    """Determines initial weights, order of the data and dropout."""
    device: str = Field("auto", pattern=r"^(auto|cpu|gpu|gpu:\d+)$")
    """`auto`, `cpu`, `gpu` or `gpu:N`; what is asked for is used or refused."""
    compile: Literal["auto", "xla", "graph"] = "auto"
    """Compile the training step with XLA, or run it as a plain graph; `auto` is what suits
    the kind of model: XLA for `rnn`, else a plain graph."""
    epochs: int | None = Field(None, ge=1)
    """Stop after this many passes over the data; 4 where no limit is given."""
    steps: int | None = Field(None, ge=1)
    """Stop after this many updates."""
    budget_seconds: float | None = Field(None, gt=0)
    """Stop after this much time in training, validation and interruptions' resumes included."""
    batch_tokens: int = Field(1024, ge=64)
    """Size of a batch: rows times the length of the longer side, padding included."""
    max_source_tokens: int = Field(64, ge=4)
    """Longer sources are left out of training."""
    max_target_tokens: int = Field(64, ge=4)
    """Longer targets are left out of training."""
    peak_learning_rate: float = Field(4e-3, gt=0)
    """Adam's learning rate after warm-up, from where it falls to 0 along a cosine; another default
    where `model.kind` is not `rnn`."""
    warmup_steps: int = Field(400, ge=0)
    """Updates in which the learning rate rises; at most a tenth of the training."""
    gradient_clip_norm: float = Field(1.0, gt=0)
    """The gradient's global norm is cut to this."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability spread evenly over the vocabulary."""
    validate_every_steps: int | None = Field(None, ge=1)
    """Updates between validations; an epoch where not given."""
    patience: int = Field(8, ge=1)
    """Stop after this many validations without a better dev BLEU."""
    checkpoint_minutes: float = Field(5.0, gt=0)
    """A checkpoint is saved at each validation, and at least this often."""
    keep_checkpoints: int = Field(2, ge=1)
    """How many of the newest checkpoints are kept, beside the best."""

    @model_validator(mode="after")
    def _batch_holds_the_longest_pair(self) -> "TrainingConfig":
        longest = max(self.max_source_tokens, self.max_target_tokens)
        if self.batch_tokens < longest:
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

    batch_sentences: int = Field(128, ge=1)
    """Sentences translated at once."""
    max_length_ratio: float = Field(2.0, gt=0)
    """A translation has at most this times the source's tokens, plus `max_length_extra`."""
    max_length_extra: int = Field(10, ge=0)
    """See `max_length_ratio`."""
    max_source_tokens: int = Field(512, ge=4)
    """A longer source is cut, with a warning."""


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
        """Put what suits the kind of model where `[training]` says nothing, or `auto`."""
        model, training = tables.get("model", {}), tables.get("training", {})
        kind = model.get("kind") if isinstance(model, dict) else model.kind
        if isinstance(training, TrainingConfig):
            return tables
        given = {key: value for key, value in training.items() if (key, value) != _AUTO_COMPILE}
        defaults = MODELS[kind or DEFAULT_KIND].training_defaults
        return {**tables, "training": {**defaults, **given}}

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


CORPORA = ("phrasebook", "tatoeba")
ATTENTION_ALIASES = {
    "bahdanau": {"model.attention": "additive", "model.wiring": "bahdanau"},
}


class Overrides(dict[str, Any]):
    """Values by dotted key, and for each the words by which an error names its origin."""

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[str, str] = {}

    @classmethod
    def read(cls, path: Path) -> "Overrides":
        """Read the values of a TOML file.

        Raises:
            UsageError: if it cannot be read or is not TOML.
        """
        overrides = cls()
        for key, value in _read_toml(path).items():
            overrides.put(key, value, str(path))
        return overrides

    def put(self, key: str, value: Any, origin: str) -> None:
        """Set `key`; a later origin wins over an earlier."""
        self[key] = value
        self.origins[key] = origin

    def put_all(self, later: "Overrides") -> None:
        """Take over all values of `later`."""
        for key, value in later.items():
            self.put(key, value, later.origins[key])

    def put_attention(self, name: str) -> None:
        """Set from `--attention NAME`, a score or a name that people know."""
        name = name.replace("-", "_")
        for key, value in ATTENTION_ALIASES.get(name, {"model.attention": name}).items():
            self.put(key, value, "--attention")

    def put_duration(self, key: str, text: str, origin: str) -> None:
        """Set a number of seconds from a text such as 90s, 10m or 1.5h."""
        match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh])", text.strip())
        if not match:
            raise UsageError(f"{origin} {text}: expected a time such as 90s, 10m or 1.5h")
        self.put(key, float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]], origin)

    def put_assignment(self, assignment: str) -> None:
        """Set from `--set KEY=VALUE`, with VALUE in TOML or, failing that, a plain string."""
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(
                f"--set {assignment}: expected KEY=VALUE, such as --set training.batch_tokens=4096"
            )
        try:
            value = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        self.put(key, value, f"--set {key}")


def load_config(*layers: Overrides) -> Config:
    """Validate the defaults with the values of `layers` in their place, the last ones winning.

    Relative paths in `[data]` are made absolute, so that the config holds in any folder.

    Raises:
        UsageError: naming the file or option, the key, what is allowed and what was given.
    """
    merged = Overrides()
    for layer in layers:
        merged.put_all(layer)
    config = _validate(merged)
    paths = {
        key: os.path.abspath(os.path.expanduser(path))
        for key in ("corpus", "dev", "test")
        if (path := getattr(config.data, key)) not in (None, *CORPORA)
    }
    return config.model_copy(update={"data": config.data.model_copy(update=paths)})


def shipped_configs() -> dict[str, Traversable]:
    """Return the config files that travel with the package, by name."""
    package = resources.files("seq2seq_cli") / "configs"
    folder = package if package.is_dir() else resources.files("seq2seq_cli") / "../configs"
    files = {f.name.removesuffix(".toml"): f for f in folder.iterdir() if f.name.endswith(".toml")}
    return dict(sorted(files.items()))


def find_config(name: str) -> Path:
    """Return the file that `--config` means: a path, or the name of a shipped config."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = shipped_configs()
    if name in shipped:
        return Path(str(shipped[name]))
    raise UsageError(
        f"--config {name}: no such file, nor a config of that name. "
        f"Shipped configs: {', '.join(shipped) or 'none'}"
    )


def _read_toml(path: Path) -> dict[str, Any]:
    """Read a file of tables into values by dotted key."""
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    values: dict[str, Any] = {}
    for name, table in tables.items():
        if isinstance(table, dict):
            values.update({f"{name}.{key}": value for key, value in table.items()})
        else:
            values[name] = table
    return values


def _validate(values: Overrides) -> Config:
    """Build a Config; one error tells everything that is wrong."""
    kind = values.get("model.kind", DEFAULT_KIND)
    if kind not in MODELS:  # on which all else depends
        raise UsageError(_wrong_value("model.kind", DEFAULT_KIND, kind, values.origins))
    problems = []
    known = Config(model=MODELS[kind]()).flat()
    tables: dict[str, dict[str, Any]] = {"model": {"kind": kind}}
    for key, value in values.items():
        table, _, name = key.partition(".")
        if key == "model.kind":
            continue
        if key in known:
            tables.setdefault(table, {})[name] = value
        else:
            problems.append(f"{values.origins[key]}: {_unknown(key, kind, list(known))}")
    try:
        config = Config.model_validate(tables)
    except ValidationError as error:
        problems += [_problem(details, kind, values.origins) for details in error.errors()]
    if problems:
        raise UsageError("\n".join(problems))
    return config


def _unknown(key: str, kind: str, known: list[str]) -> str:
    name = key.rpartition(".")[2]
    others = [k for k, m in MODELS.items() if key == f"model.{name}" and name in m.model_fields]
    if others:
        owners = " or ".join(repr(other) for other in others)
        return f"{key} belongs to model.kind = {owners}; it is {kind!r}"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    near = near or [k for k in known if k.rpartition(".")[2] == name]
    if not near:
        by_name = {k.rpartition(".")[2]: k for k in known}
        near = [by_name[n] for n in difflib.get_close_matches(name, list(by_name), n=1)]
    hint = f"did you mean {near[0]!r}?" if near else "`s2s config show` lists every key"
    return f"unknown key {key!r}; {hint}"


def _problem(details: Any, kind: str, origins: dict[str, str]) -> str:
    """Word one of pydantic's errors as origin, key, what is allowed, what was given."""
    # Between table and key stands the kind of model, where there is one.
    key = ".".join([str(part) for part in details["loc"] if part != kind][:2])
    message = details["msg"].removeprefix("Value error, ")
    if key not in origins:  # a combination of values, which its own message names
        involved = [origin for k, origin in origins.items() if k.rpartition(".")[2] in message]
        return f"{', '.join(dict.fromkeys(involved)) or 'config'}: {message}"
    return _wrong_value(key, kind, details["input"], origins)


def _wrong_value(key: str, kind: str, value: Any, origins: dict[str, str]) -> str:
    return f"{origins[key]}: {key} must be {allowed(key, kind)}; it is {value!r}"


def allowed(key: str, kind: str = DEFAULT_KIND) -> str:
    """Say in words what a key takes, with a model of `kind`."""
    if key == "model.kind":
        return "one of " + ", ".join(repr(choice) for choice in MODELS)
    table, _, name = key.partition(".")
    field = type(getattr(Config(model=MODELS[kind]()), table)).model_fields[name]
    annotation, options = field.annotation, [field.annotation]
    if get_origin(annotation) in (Union, UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(options[0]) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(options[0]))
    words = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
    text = words[options[0]]
    bounds = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds["multiple_of"] = "a multiple of"
    limits = [
        f"{words} {getattr(constraint, name)}"
        for constraint in field.metadata
        for name, words in bounds.items()
        if getattr(constraint, name, None) is not None
    ]
    pattern = next((c.pattern for c in field.metadata if getattr(c, "pattern", None)), None)
    if name == "device":
        return "auto, cpu, gpu or gpu:N"
    if pattern:
        limits.append(f"of the form {pattern}")
    return " ".join([text, " and ".join(limits)]).strip()
