"""The functions of `reference` with the weights of a layer of any model.

Weights are read by the names that `reference` gives under "Fast". No layer is called.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow import Tensor

from seq2seq_cli.models import reference
from seq2seq_cli.models import reference_variants as variants
from seq2seq_cli.models.layers.blocks import Block
from seq2seq_cli.models.layers.cells import Cell, GRUCell
from seq2seq_cli.models.layers.decoder import Decoder
from seq2seq_cli.models.layers.decoders import BahdanauDecoder
from seq2seq_cli.models.layers.encoder import EncoderLayer
from seq2seq_cli.models.layers.feed_forward import FeedForward
from seq2seq_cli.models.layers.linear import Linear
from seq2seq_cli.models.layers.local_attention import PredictiveWindow
from seq2seq_cli.models.layers.multi_head_attention import MultiHeadAttention
from seq2seq_cli.models.layers.normalisation import LayerNorm, Norm
from seq2seq_cli.models.layers.plain_decoders import ChoDecoder, SutskeverDecoder
from seq2seq_cli.models.layers.readout import Readout
from seq2seq_cli.models.layers.relative_positions import (
    Distances,
    LinearBias,
    RelativeBias,
    RotaryPositions,
)
from seq2seq_cli.models.layers.residual import side_by_side
from seq2seq_cli.models.layers.scores import (
    AdditiveScore,
    DotScore,
    GeneralScore,
    LocationScore,
    Score,
)

# (y_BD, state, position) -> output_BD, weights_BS and the next state
DecodingStep = Callable[..., tuple[Tensor, Tensor, reference.State]]
# (query_BTD, keys_BSD, values_BSD, mask_BTS) -> outputs_BTD and weights_BHTS
MultiHead = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def affine_of(
    layer: Linear | Readout | MultiHeadAttention | FeedForward, name: str = ""
) -> reference.Affine:
    """Return a kernel and a bias of a layer; `name` is what stands before both words."""
    return getattr(layer, f"{name}kernel"), getattr(layer, f"{name}bias")


def cell_of(cell: Cell, *more_kernels: Tensor) -> reference.Cell:
    """Return a cell. `more_kernels` multiply the vectors that are concatenated to its input."""
    weights = {
        "W_x": tf.concat([cell.kernel, *more_kernels], axis=0),
        "U_h": cell.recurrent_kernel,
        "b_x": cell.bias,
    }
    if isinstance(cell, GRUCell):
        return functools.partial(reference.gru, **weights, b_h=cell.recurrent_bias)
    return functools.partial(reference.lstm, **weights)


def stack_of(cells: Sequence[reference.Cell]) -> reference.Cell:
    """Return stacked cells as one cell. From the third cell on, each adds its input to its output.

    The state holds the states of all cells in order. The cell returns the last output first, and
    then the next state, like a single cell.
    """

    def stack(x_BD: Tensor, state: reference.State) -> reference.State:
        size, after = len(state) // len(cells), []
        for i, cell in enumerate(cells):
            new = cell(x_BD, state[i * size : (i + 1) * size])
            x_BD = new[0] + x_BD if i >= 2 else new[0]
            after += new
        return [x_BD, *after]

    return stack


def encode_by(
    layer: EncoderLayer, x_BSD: Tensor, mask_BS: Tensor
) -> tuple[Tensor, reference.State]:
    """Return h_BSD, and the last state of the backward cell, or of the only cell.

    With `both_ends` the state is the concatenation of both cells' states.
    """
    forward, backward = layer.forward_cell, layer.backward_cell
    zeros_BD = tf.zeros([x_BSD.shape[0], forward.recurrent_kernel.shape[0]])
    state = [zeros_BD] if isinstance(forward, GRUCell) else [zeros_BD, zeros_BD]
    if backward is None:
        return reference.unroll(x_BSD, mask_BS, state, cell_of(forward))
    h_BSD, last, end = reference.annotations(
        x_BSD, mask_BS, state, cell_of(forward), cell_of(backward)
    )
    if layer.both_ends:
        last = [tf.concat(pair, axis=1) for pair in zip(end, last, strict=True)]
    return h_BSD, last


def score_of(score: Score) -> reference.Score:
    """Return a score. An AdditiveScore without a bias is `concat`."""
    if isinstance(score, AdditiveScore):
        kernels, v_a = (score.query_kernel, score.key_kernel), score.scale
        if score.bias is None:
            return functools.partial(reference.concat, W_a=tf.concat(kernels, axis=0), v_a=v_a)
        W_a, U_a = kernels
        return functools.partial(reference.additive, W_a=W_a, U_a=U_a, b_a=score.bias, v_a=v_a)
    if isinstance(score, LocationScore):
        return functools.partial(variants.location, W_a=score.query_kernel)
    if isinstance(score, GeneralScore):
        return functools.partial(reference.general, W_a=score.kernel)
    assert isinstance(score, DotScore)
    return reference.scaled_dot if score.scaled else reference.dot


def decoding_step_of(decoder: Decoder, h_BSD: Tensor, mask_BS: Tensor) -> DecodingStep:
    """Return a decoder's step. Its state is that of the cells, and the fed vector if there is one.

    The step also takes the position of the word, for local attention. With several layers, the
    query is the first layer's state in Bahdanau's wiring, and the last layer's in Luong's. The
    output uses the last layer's state.
    """
    kernel = decoder.gate_kernels[0] if decoder.gate_kernels else None
    first = cell_of(decoder.cell, *([] if kernel is None else [kernel]))
    f = stack_of([first, *map(cell_of, decoder.upper.cells)])
    if isinstance(decoder, SutskeverDecoder | ChoDecoder):
        return _plain_step_of(decoder, f, h_BSD, mask_BS)

    def bahdanau(y_BD: Tensor, state: reference.State, t: int = 0) -> tuple:
        readout = readout_of(decoder.readout)
        if decoder.readout.is_maxout:  # it reads the previous state
            s_BD = _output_of(state, len(decoder.upper.cells) + 1)
            readout = functools.partial(_with_state, s_BD, readout)
        t_BD, alpha_BS, (_, *state) = reference.bahdanau_step(
            y_BD, state, h_BSD, mask_BS, f, attention_of(decoder, t), readout
        )
        return t_BD, decoder.reported(alpha_BS), state

    def luong(y_BD: Tensor, state: reference.State, t: int = 0) -> tuple:
        *state, fed_BD = state if kernel is not None else [*state, None]
        attention = attention_of(decoder, t)
        output_BD, a_BS, (_, *state) = reference.luong_step(
            y_BD, state, h_BSD, mask_BS, f, attention, decoder.attentional_kernel, fed_BD
        )
        state = state if kernel is None else [*state, output_BD]
        return output_BD, decoder.reported(a_BS), state

    return bahdanau if isinstance(decoder, BahdanauDecoder) else luong


def attention_of(decoder: Decoder, t: int) -> reference.Attention:
    """Return a decoder's attention for the word at position t, counted from 0."""
    score, window = score_of(decoder.score), decoder.window
    if window is None:
        return functools.partial(reference.global_attention, score=score)

    def local(query_BTD: Tensor, h_BSD: Tensor, mask_BTS: Tensor) -> tuple[Tensor, Tensor]:
        length_B11 = tf.reduce_sum(tf.cast(mask_BTS, tf.float32), axis=2, keepdims=True)
        if window.positions is not None:  # it stays where there are scores
            length_B11 = tf.minimum(length_B11, float(window.positions))
        if isinstance(window, PredictiveWindow):
            weights = {"W_p": window.kernel, "v_p": window.scale}
            p_BT1 = variants.predicted_position(query_BTD, length_B11, **weights)
        else:
            p_BT1 = variants.own_position(tf.fill([*query_BTD.shape[:2], 1], float(t)), length_B11)
        predicted = isinstance(window, PredictiveWindow)
        return variants.local_attention(
            query_BTD, h_BSD, mask_BTS, score, window.reach, p_BT1, predicted
        )

    return local


def _plain_step_of(
    decoder: SutskeverDecoder | ChoDecoder, f: reference.Cell, h_BSD: Tensor, mask_BS: Tensor
) -> DecodingStep:
    """Return the step of a decoder without attention, for which `h_BSD` holds one vector."""
    no_weights_BS = tf.zeros(mask_BS.shape)

    def sutskever(y_BD: Tensor, state: reference.State, t: int = 0) -> tuple:
        del t
        output_BD, (_, *state) = variants.sutskever_step(y_BD, state, f)
        return output_BD, no_weights_BS, state

    def cho(y_BD: Tensor, state: reference.State, t: int = 0) -> tuple:
        del t
        output_BD, (_, *state) = variants.cho_step(
            y_BD, state, h_BSD[:, 0], f, readout_of(decoder.readout)
        )
        return output_BD, no_weights_BS, state

    return cho if isinstance(decoder, ChoDecoder) else sutskever


def readout_of(layer: Readout) -> reference.Readout:
    """Return a readout."""
    kernel, bias = affine_of(layer)
    if layer.is_maxout:
        return functools.partial(variants.maxout_readout, W_o=kernel, b_o=bias)
    return functools.partial(reference.tanh_readout, W_t=kernel, b_t=bias)


def _with_state(
    old_BD: Tensor, readout: reference.Readout, s_BD: Tensor, y_BD: Tensor, c_BD: Tensor
) -> Tensor:
    """Return a readout of another state instead of `s_BD`."""
    del s_BD
    return readout(old_BD, y_BD, c_BD)


def _output_of(state: reference.State, layers: int) -> Tensor:
    """Return the output for the state of a decoder's layers; see `stack_of`."""
    outputs = state[:: len(state) // layers]
    return outputs[0] if layers == 1 else tf.add_n(outputs[1:])


def multi_head_of(layer: MultiHeadAttention, score: variants.HeadScore | None = None) -> MultiHead:
    """Return multi-head attention. A given score may differ between heads."""
    names = ("query", "key", "value", "output")
    weights: dict[str, Any] = {
        "heads": layer.heads,
        "W_QKVO": [affine_of(layer, f"{name}_") for name in names],
    }
    groups = layer.key_value_heads
    if score is None and groups == layer.heads:
        return functools.partial(reference.multi_head_attention, **weights)
    score = score or variants.plain_score
    return functools.partial(variants.multi_head_attention, **weights, score=score, groups=groups)


def score_of_distances(
    layer: Distances | None, positions_BT: Tensor, heads: int
) -> variants.HeadScore | None:
    """Return the score of self-attention, if it depends on positions."""
    if isinstance(layer, RotaryPositions):
        return functools.partial(variants.rotary_score, positions_BT=positions_BT)
    if isinstance(layer, LinearBias):
        return functools.partial(variants.alibi_score, positions_BT=positions_BT, heads=heads)
    if isinstance(layer, RelativeBias):
        options = {"b": layer.bias_table, "both_ways": layer.both_ways}
        return functools.partial(variants.t5_score, positions_BT=positions_BT, **options)
    return None


def norm_of(layer: Norm) -> reference.Layer:
    """Return a normalisation."""
    if not isinstance(layer, LayerNorm):
        return functools.partial(variants.rms_norm, g=layer.gamma)
    return functools.partial(reference.layer_norm, g=layer.gamma, b=layer.beta)


def feed_forward_of(layer: FeedForward) -> reference.Layer:
    """Return a feed-forward network."""
    return functools.partial(
        reference.feed_forward,
        first=affine_of(layer, "inner_"),
        second=affine_of(layer, "output_"),
        activation=layer.activation,
        gate=affine_of(layer, "gate_") if layer.activation == "swiglu" else None,
    )


def apply_block(
    layer: Block,
    x_BTD: Tensor,
    mask_BTS: Tensor,
    memory_BSD: Tensor | None = None,
    memory_mask_BTS: Tensor | None = None,
    score: variants.HeadScore | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Return the block's outputs_BTD, and weights_BHTS of its self-attention and cross-attention.

    `score` is the score of the self-attention; see `score_of_distances`.
    """
    weights: list[Tensor] = []

    def attention(layer: MultiHeadAttention, mask: Tensor, memory: Tensor | None) -> Callable:
        def sublayer(x: Tensor) -> Tensor:
            seen, own = (x, score) if memory is None else (memory, None)
            outputs, weights_BHTS = multi_head_of(layer, own)(x, seen, seen, mask)
            weights.append(weights_BHTS)
            return outputs

        return sublayer

    sublayers = [attention(layer.self_attention, mask_BTS, None)]
    residuals = [layer.self_residual]
    if memory_BSD is not None:
        sublayers.append(attention(layer.cross_attention, memory_mask_BTS, memory_BSD))
        residuals.append(layer.cross_residual)
    sublayers.append(feed_forward_of(layer.feed_forward))
    if layer.through is side_by_side:
        norm = norm_of(layer.self_residual.norm)
        return variants.parallel_block(x_BTD, sublayers, norm), weights
    norms = [norm_of(residual.norm) for residual in [*residuals, layer.feed_forward_residual]]
    outputs_BTD = reference.block(x_BTD, sublayers, norms, layer.self_residual.is_pre)
    return outputs_BTD, weights
