"""The weights of a Transformer in the layers of CTranslate2."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from seq2seq_cli.config.model import AttentionStackConfig
from seq2seq_cli.models.layers.blocks import Block
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.normalisation import LayerNorm, Norm
from seq2seq_cli.models.layers.relative_positions import MOST_DISTANCE, Distances, RelativeBias
from seq2seq_cli.models.layers.residual import Residual
from seq2seq_cli.models.ops.layer_norm import EPSILON
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, UNK

_MOST_POSITIONS = 4096  # rows of a learned table; later positions use the last row
_SELF = (("query", "key", "value"), ("output",))
_CROSS = (("query",), ("key", "value"), ("output",))


def convert(
    model: Transformer,
    pieces: tuple[Sequence[str], Sequence[str]],
    folder: Path,
    quantization: str = "float32",
) -> None:
    """Write a model's weights, vocabularies and config.

    Args:
        model: the Transformer.
        pieces: the pieces of the source vocabulary and of the target vocabulary.
        folder: an existing folder.
        quantization: `float32`, `int8`, `int16` or `bfloat16`.
    """
    from ctranslate2.specs import TransformerSpec, transformer_spec

    make_encoder = transformer_spec.TransformerEncoderSpec
    make_decoder = transformer_spec.TransformerDecoderSpec
    spec = TransformerSpec(
        make_encoder(len(model.encoder), **_options(model.config, model.encoder[0])),
        make_decoder(len(model.decoder), **_options(model.config, model.decoder[0])),
    )
    tables = model.embeddings
    # Quantization changes arrays in place, so no two weights may share one.
    spec.encoder.embeddings[0].weight = tables.source_table.numpy().copy()
    spec.decoder.embeddings.weight = tables.target_table.numpy().copy()
    spec.decoder.projection.weight = tables.output_table.numpy().copy()
    spec.decoder.projection.bias = tables.output_bias.numpy().copy()
    _set_stack(spec.encoder, model.encoder, model.encoder_norm)
    _set_stack(spec.decoder, model.decoder, model.decoder_norm)
    _set_positions(spec.encoder, model.source_positions, model.encoder_distances)
    _set_positions(spec.decoder, model.target_positions, model.decoder_distances)
    source, target = pieces
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    config = spec.config
    config.layer_norm_epsilon = EPSILON
    config.unk_token, config.bos_token, config.eos_token = (target[i] for i in (UNK, BOS, EOS))
    config.decoder_start_token = target[BOS]
    config.add_source_eos = False
    spec.validate()
    if quantization == "bfloat16":
        _round_to_bfloat16(spec)
    spec.optimize(quantization=None if quantization in ("float32", "bfloat16") else quantization)
    spec.save(str(folder))


def _options(config: AttentionStackConfig, block: Block) -> dict[str, Any]:
    """Return the options of the specification of an encoder or a decoder with blocks like this."""
    from ctranslate2.specs import common_spec

    activations = common_spec.Activation
    options = {
        "num_heads": block.self_attention.heads,
        "num_heads_kv": block.self_attention.key_value_heads,
        "head_dim": config.head_width,
        "pre_norm": config.norm == "pre",
        "activation": {
            "relu": activations.RELU,
            "gelu": activations.GELU,
            "swiglu": activations.SWISH,
        }[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.normalisation == "rms",
        "relative_attention_bias": config.positions == "relative",
    }
    if config.positions == "rotary":
        options |= {"rotary_dim": config.head_width, "rotary_interleave": True}
    return options


def _set_positions(side: Any, added: Positions, distances: Distances | None) -> None:
    """Set the positions of an encoder or a decoder.

    CTranslate2 computes sinusoidal and rotary positions by the formulas of s2s.
    """
    if added.table is not None:
        rows = np.arange(max(_MOST_POSITIONS, added.table.shape[0]))
        side.position_encodings.encodings = added(rows).numpy()
    if isinstance(distances, RelativeBias):
        for to in side.layer:
            to.self_attention.relative_attention_bias = distances.bias_table.numpy()
            to.self_attention.relative_attention_max_distance = np.int32(MOST_DISTANCE)


def _set_stack(side: Any, blocks: Sequence[Block], last: Norm | None) -> None:
    """Set the weights of an encoder or a decoder, except embeddings and positions."""
    side.scale_embeddings = True
    if last is not None:
        _set_norm(side.layer_norm, last)
    for to, block in zip(side.layer, blocks, strict=True):
        _set_attention(to.self_attention, block.self_attention, block.self_residual, _SELF)
        if block.has_cross:
            _set_attention(to.attention, block.cross_attention, block.cross_residual, _CROSS)
        _set_norm(to.ffn.layer_norm, block.feed_forward_residual.norm)
        swiglu = block.feed_forward.activation == "swiglu"
        _set_dense(to.ffn.linear_0, block.feed_forward, "inner")
        if swiglu:
            _set_dense(to.ffn.linear_0_noact, block.feed_forward, "gate")
        _set_dense(to.ffn.linear_1, block.feed_forward, "output")


def _set_attention(
    to: Any, layer: keras.layers.Layer, residual: Residual, projections: Sequence[Sequence[str]]
) -> None:
    _set_norm(to.layer_norm, residual.norm)
    for linear, names in zip(to.linear, projections, strict=True):
        _set_dense(linear, layer, *names)


def _set_dense(to: Any, layer: keras.layers.Layer, *names: str) -> None:
    """Set a linear layer to the maps of these names, concatenated. Its weights are [out, in]."""
    kernels = [getattr(layer, f"{name}_kernel").numpy().T for name in names]
    to.weight = np.concatenate(kernels).copy()
    to.bias = np.concatenate([getattr(layer, f"{name}_bias").numpy() for name in names])


def _set_norm(to: Any, layer: Norm) -> None:
    to.gamma = layer.gamma.numpy()
    if isinstance(layer, LayerNorm):
        to.beta = layer.beta.numpy()


def _round_to_bfloat16(spec: Any) -> None:
    """Round all weights. CTranslate2 itself would need PyTorch for it."""
    import ml_dtypes

    for _, variable in spec.variables(ordered=True):
        if not isinstance(variable, str) and variable.dtype == "float32" and variable.shape:
            variable.array = variable.array.astype(ml_dtypes.bfloat16)
