"""The table `[model]`, for each kind of model."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table

MOST_LAYERS = 64

MOST_UNITS = 16_384

DOT_PRODUCTS = ("dot", "scaled_dot")


def _default_wiring(model: dict[str, Any]) -> Literal["bahdanau", "luong"]:
    """Return the wiring of the paper that introduced the score."""
    return "bahdanau" if model.get("attention") == "additive" else "luong"


def _default_encoder_units(model: dict[str, Any]) -> int:
    """Return a width at which the score learns fast."""
    if not model.get("bidirectional"):
        return 256
    return {"dot": 192, "scaled_dot": 192, "general": 128}.get(str(model.get("attention")), 256)


def _default_decoder_units(model: dict[str, Any]) -> int:
    """Return a width for which the score is defined, given the earlier keys."""
    if model.get("attention") not in DOT_PRODUCTS:
        return 256
    units = model.get("encoder_units", 256)
    return 2 * units if model.get("bidirectional") else units


def _default_penalty(model: dict[str, Any]) -> float:
    """Return a penalty with which the score learns fast, given the earlier keys."""
    return 0.01 if model.get("attention") == "dot" else 0.0


class RNNConfig(Table):
    """`[model]` of `kind = "rnn"`: recurrent encoder and decoder with attention."""

    training_defaults: ClassVar[dict[str, Any]] = {"parts": 1}
    """Defaults of `[training]` that are different for this kind."""

    kind: Literal["rnn"] = "rnn"
    """Recurrent encoder and decoder with attention."""
    cell: Literal["gru", "lstm"] = "gru"
    """The recurrent cell of encoder and decoder."""
    encoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    """Number of layers of the encoder. From the third on, each adds its input to its output."""
    decoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    """Number of layers of the decoder. From the third on, each adds its input to its output."""
    bidirectional: bool = True
    """Each layer of the encoder reads in both directions, which doubles the width of its values."""
    attention: Literal["additive", "dot", "general", "concat", "scaled_dot", "location", "none"] = (
        "additive"
    )
    """How a query is scored against a key (Bahdanau et al. 2015; Luong et al. 2015; Vaswani et al.
    2017). With `location`, it is scored only against the key's position (Luong et al. 2015,
    equation 8). With `none` there is no attention, and the decoder gets only the encoder's last
    states (Sutskever et al. 2014; in Bahdanau's wiring Cho et al. 2014)."""
    attention_span: Literal["global", "local_m", "local_p"] = "global"
    """The part of the source that a query sees: the whole source, or a window around a position
    (Luong et al. 2015, section 3.2). With `local_m` it is the query's own position. With `local_p`
    the query predicts it, and attention decreases with the distance from it."""
    attention_window: int = Field(10, ge=1, le=65_534)
    """Number of source positions before and after the centre of a local window (D in Luong et al.
    2015)."""
    attention_positions: int = Field(128, ge=1, le=65_534)
    """Number of source positions for the score `location`; later positions get no attention. It
    must be enough for the longest sources of training."""
    wiring: Literal["bahdanau", "luong"] = Field(default_factory=_default_wiring)
    """What the query is. `bahdanau`: the decoder's previous state, and the context vector is an
    input of the cell; the default for `additive`. `luong`: the cell's new state; the default for
    the other scores. Without attention, `bahdanau` gives the encoder's last states to each decoding
    step, and `luong` only to the decoder's initial state."""
    input_feeding: bool = True
    """In Luong's wiring, the cell reads the attentional vector of the previous decoding step.
    Without attention there is no such vector."""
    readout: Literal["tanh", "maxout"] = "tanh"
    """The layer before the output in Bahdanau's wiring: a tanh layer over state, word and context
    vector, or the paper's maxout layer (appendix A.2.2), which has twice as many weights."""
    bridge: Literal["projection", "zero"] = "projection"
    """The decoder's initial state: a projection of the encoder's last state, or zeros."""
    embedding_units: int = Field(256, ge=1, le=MOST_UNITS)
    """Width of the embeddings, and of the readout layer in Bahdanau's wiring."""
    encoder_units: int = Field(default_factory=_default_encoder_units, ge=1, le=MOST_UNITS)
    """Width of the encoder in each direction. The default is 256; with two directions it is 192 for
    `dot` and `scaled_dot`, and 128 for `general`, which learns faster if the values are as wide as
    the decoder's states."""
    decoder_units: int = Field(default_factory=_default_decoder_units, ge=1, le=2 * MOST_UNITS)
    """Width of the decoder's state. The default is 256. For `dot` and `scaled_dot` it must equal
    the width of the encoder's values: `encoder_units`, or twice that if `bidirectional`."""
    attention_units: int = Field(256, ge=1, le=MOST_UNITS)
    """Width of the hidden layer of the scores `additive` and `concat`."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of embeddings, inputs of upper layers, encoder values and decoder outputs set to zero
    in training. It is rounded to a multiple of 1/256."""
    variational_dropout: bool = False
    """Set the same units to zero at all positions of a sentence (Gal and Ghahramani 2016)."""
    activation_penalty: float = Field(default_factory=_default_penalty, ge=0, le=1000)
    """Weight of a penalty on the squares of the encoder's values (Merity et al. 2017). The default
    is 0.01 for `dot`, because large values saturate its softmax and slow down learning. Otherwise
    it is 0."""

    @model_validator(mode="after")
    def _widths_of_a_dot_product(self) -> "RNNConfig":
        if self.attention not in DOT_PRODUCTS:
            return self
        width = self.value_units
        if self.decoder_units != width:
            twice = "twice " if self.bidirectional else ""
            raise ValueError(
                f"model.attention {self.attention!r} multiplies the decoder's states, of width "
                f"{self.decoder_units} (model.decoder_units), by the encoder's values, of width "
                f"{width} ({twice}model.encoder_units); the widths must be equal. Leave out "
                f"model.decoder_units or set it to {width}, or use model.attention 'general', "
                "which works with any widths"
            )
        return self

    @model_validator(mode="after")
    def _a_way_from_source_to_target(self) -> "RNNConfig":
        if (self.attention, self.wiring, self.bridge) == ("none", "luong", "zero"):
            raise ValueError(
                "model.bridge 'zero' hides the source from the decoder, because model.attention is "
                "'none' and model.wiring is 'luong'. Set model.bridge to 'projection' or "
                "model.wiring to 'bahdanau'"
            )
        return self

    @model_validator(mode="after")
    def _readout_of_the_wiring(self) -> "RNNConfig":
        if self.readout == "maxout" and self.wiring != "bahdanau":
            raise ValueError(
                f"model.readout 'maxout' needs model.wiring 'bahdanau'; it is {self.wiring!r}. "
                "Change one of them"
            )
        return self

    @model_validator(mode="after")
    def _a_window_needs_attention(self) -> "RNNConfig":
        if self.attention == "none" and self.attention_span != "global":
            raise ValueError(
                f"model.attention_span is {self.attention_span!r}, but model.attention is 'none'. "
                "Leave out one of them"
            )
        return self

    @property
    def has_attention(self) -> bool:
        """Whether the decoder attends to the source."""
        return self.attention != "none"

    @property
    def value_units(self) -> int:
        """Width of the encoder's values, which the decoder attends to."""
        return 2 * self.encoder_units if self.bidirectional else self.encoder_units

    @property
    def label(self) -> str:
        """A short name, used for the run's folder."""
        span = "" if self.attention_span == "global" else f"-{self.attention_span}"
        return f"rnn-{self.attention}{span}"

    @property
    def description(self) -> str:
        """A one-line description."""
        attention: str = self.attention if self.has_attention else "no"
        if self.attention_span != "global":
            attention = f"{self.attention_span.replace('_', '-')} {attention}"
        return f"rnn, {attention} attention, {self.wiring} wiring"


class AttentionStackConfig(Table):
    """The keys of every `[model]` that consists of Transformer blocks."""

    training_defaults: ClassVar[dict[str, Any]] = {"peak_learning_rate": 2e-3}
    has_attention: ClassVar[bool] = True

    kind: Literal["transformer", "decoder_only"]
    """The kind of model."""
    units: int = Field(256, ge=4, le=MOST_UNITS, multiple_of=2)
    """Width of embeddings and layers (d_model in Vaswani et al. 2017)."""
    heads: int = Field(4, ge=1, le=1024)
    """Number of attention heads; divides `units`, unless `head_units` is set."""
    head_units: int | None = Field(None, ge=1, le=MOST_UNITS)
    """Width of a head's queries, keys and values (d_k and d_v in Vaswani et al. 2017). The default
    is `units` / `heads`."""
    key_value_heads: int | None = Field(None, ge=1, le=1024)
    """Number of heads of keys and values; divides `heads`. Each of them serves a group of query
    heads (grouped-query attention, Ainslie et al. 2023; with 1, multi-query attention, Shazeer
    2019). The default is `heads`. The encoder of a Transformer always has `heads`, unless it shares
    the decoder's weights."""
    inner_units: int = Field(1024, ge=1, le=4 * MOST_UNITS)
    """Width inside the feed-forward networks (d_ff)."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer (Xiong et al. 2020), or after it (Vaswani et al. 2017)."""
    normalisation: Literal["layer", "rms"] = "layer"
    """Layer normalisation (Ba et al. 2016), or RMS normalisation (Zhang and Sennrich 2019), which
    has no mean and no bias."""
    parallel_blocks: bool = False
    """Apply the attention and the feed-forward network of a block in parallel to the same
    normalised input (GPT-J; PaLM, Chowdhery et al. 2022). Needs `norm = "pre"`."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward networks; `swiglu` (Shazeer 2020) has 50 % more weights."""
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative"] = "sinusoidal"
    """Encoding of positions. Two kinds are added to the embeddings: `sinusoidal` (Vaswani et al.
    2017), and `learned`, whose last position also serves all later ones. Three kinds encode
    distances in self-attention: `rotary` (Su et al. 2021), `alibi` (Press et al. 2022), and
    `relative`, the learned bias of T5 (Raffel et al. 2020)."""
    max_positions: int = Field(2048, ge=1, le=131_072)
    """Number of learned positions; it must be enough for the longest sentences of training. In a
    decoder-only model, they are for source and target together."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of embeddings and of each sublayer's outputs set to zero in training. It is rounded to
    a multiple of 1/256."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Share of attention weights set to zero in training. It is rounded to a multiple of 1/256."""
    inner_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of the units inside the feed-forward networks set to zero in training, after the
    activation. It is rounded to a multiple of 1/256."""
    weight_sharing: Literal["none", "layers", "stacks"] = "none"
    """With `layers`, all layers of a stack share their weights (Universal Transformer, Dehghani et
    al. 2019). With `stacks`, the encoder and the decoder also share theirs."""
    tied_embeddings: bool = True
    """Use the target embeddings for the output, and for the source if the vocabulary is joint."""

    @model_validator(mode="after")
    def _heads_divide_units(self) -> "AttentionStackConfig":
        if self.head_units is None and self.units % self.heads:
            raise ValueError(
                f"model.units must be divisible by model.heads; they are {self.units} "
                f"and {self.heads}. Change one of them, or set model.head_units"
            )
        if self.key_value_heads and self.heads % self.key_value_heads:
            raise ValueError(
                "model.key_value_heads must divide model.heads; they are "
                f"{self.key_value_heads} and {self.heads}"
            )
        if self.positions == "rotary" and self.head_width % 2:
            width = "model.head_units" if self.head_units else "model.units / model.heads"
            raise ValueError(
                "model.positions 'rotary' rotates pairs of units, so a head needs an even number "
                f"of units; {width} is {self.head_width}"
            )
        return self

    @model_validator(mode="after")
    def _one_norm_before_all_sublayers(self) -> "AttentionStackConfig":
        if self.parallel_blocks and self.norm != "pre":
            raise ValueError(
                "model.parallel_blocks needs a normalisation before the block, so model.norm must "
                f"be 'pre'; it is {self.norm!r}"
            )
        return self

    @property
    def head_width(self) -> int:
        """Width of a head's queries, keys and values."""
        return self.head_units or self.units // self.heads

    def _described(self, kind: str, layers: str) -> str:
        norm = f"{self.norm}-norm" + (" (RMS)" if self.normalisation == "rms" else "")
        blocks = ", parallel blocks" if self.parallel_blocks else ""
        if self.weight_sharing != "none":
            blocks += f", shared {self.weight_sharing}"
        heads = f"{self.heads} heads"
        if self.head_units:
            heads += f" of {self.head_units} units"
        if self.key_value_heads:
            heads += f" ({self.key_value_heads} of keys and values)"
        return (
            f"{kind}, {layers} layers of {self.units} units and {heads}, "
            f"{norm}, {self.activation}, {self.positions} positions{blocks}"
        )


class TransformerConfig(AttentionStackConfig):
    """`[model]` of `kind = "transformer"`: encoder and decoder of Vaswani et al. (2017)."""

    kind: Literal["transformer"] = "transformer"
    """Multi-head attention in an encoder and a decoder."""
    encoder_layers: int = Field(2, ge=1, le=MOST_LAYERS)
    """Number of layers in the encoder."""
    decoder_layers: int = Field(2, ge=1, le=MOST_LAYERS)
    """Number of layers in the decoder."""
    encoder_layer_drop: float = Field(0.0, ge=0, lt=1)
    """Probability that a shard of a batch skips a layer of the encoder (LayerDrop, Fan et al.
    2020). It is rounded to a multiple of 1/256. It is useful for deep encoders."""

    @property
    def label(self) -> str:
        """A short name, used for the run's folder."""
        return "transformer"

    @property
    def description(self) -> str:
        """A one-line description."""
        return self._described("transformer", f"{self.encoder_layers} + {self.decoder_layers}")


class DecoderOnlyConfig(AttentionStackConfig):
    """`[model]` of `kind = "decoder_only"`: one stack over source, separator and target."""

    kind: Literal["decoder_only"] = "decoder_only"
    """A Transformer's decoder without cross-attention, which continues the source."""
    weight_sharing: Literal["none", "layers"] = "none"
    """With `layers`, all layers have the same weights (Dehghani et al. 2019)."""
    layers: int = Field(4, ge=1, le=MOST_LAYERS)
    """Number of layers."""

    @property
    def label(self) -> str:
        """A short name, used for the run's folder."""
        return "decoder-only"

    @property
    def description(self) -> str:
        """A one-line description."""
        return self._described("decoder-only", str(self.layers))


ModelConfig = RNNConfig | TransformerConfig | DecoderOnlyConfig

MODELS: dict[str, type[RNNConfig] | type[TransformerConfig] | type[DecoderOnlyConfig]] = {
    "rnn": RNNConfig,
    "transformer": TransformerConfig,
    "decoder_only": DecoderOnlyConfig,
}

DEFAULT_KIND = "rnn"
