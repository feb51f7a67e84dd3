"""The weights of a Transformer in the layers of CTranslate2."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from seq2seq_cli.models.layers.blocks import Block, Residual
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.normalisation import LayerNorm
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
    from ctranslate2.specs import TransformerSpec, common_spec

    first = model.decoder[0]
    activation = {
        "relu": common_spec.Activation.RELU,
        "gelu": common_spec.Activation.GELU,
        "swiglu": common_spec.Activation.SWISH,
    }[first.feed_forward.activation]
    spec = TransformerSpec.from_config(
        (len(model.encoder), len(model.decoder)),
        first.self_attention.heads,
        pre_norm=model.decoder_norm is not None,
        activation=activation,
        ffn_glu=first.feed_forward.activation == "swiglu",
    )
    tables = model.embeddings
    # Quantization changes arrays in place, so no two weights may share one.
    spec.encoder.embeddings[0].weight = tables.source_table.numpy().copy()
    spec.decoder.embeddings.weight = tables.target_table.numpy().copy()
    spec.decoder.projection.weight = tables.output_table.numpy().copy()
    spec.decoder.projection.bias = tables.output_bias.numpy().copy()
    _set_stack(spec.encoder, model.encoder, model.encoder_norm, model.source_positions)
    _set_stack(spec.decoder, model.decoder, model.decoder_norm, model.target_positions)
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


def _set_stack(side: Any, blocks: Sequence[Block], last: LayerNorm | None, at: Positions) -> None:
    """Set the weights of an encoder or a decoder, except the embeddings."""
    side.scale_embeddings = True
    if at.table is not None:  # CTranslate2 computes sinusoidal positions by the same formula
        rows = np.arange(max(_MOST_POSITIONS, at.table.shape[0]))
        side.position_encodings.encodings = at(rows).numpy()
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


def _set_norm(to: Any, layer: LayerNorm) -> None:
    to.gamma, to.beta = layer.gamma.numpy(), layer.beta.numpy()


def _round_to_bfloat16(spec: Any) -> None:
    """Round all weights. CTranslate2 itself would need PyTorch for it."""
    import ml_dtypes

    for _, variable in spec.variables(ordered=True):
        if not isinstance(variable, str) and variable.dtype == "float32" and variable.shape:
            variable.array = variable.array.astype(ml_dtypes.bfloat16)
