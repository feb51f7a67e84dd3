"""A model's outputs by the textbook: the equations of `reference` with the model's own weights.

`s2s selftest` and the tests compare a model with it. Dropout is off. Everything is computed in
float32, and an RNN position by position: slowly, but as in the papers.
"""

from typing import NamedTuple

import tensorflow as tf
from tensorflow import Tensor

from seq2seq_cli.models import reference
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.layers.embeddings import Embeddings, Positions
from seq2seq_cli.models.layers.normalisation import Norm
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.models.textbook_layers import (
    affine_of,
    apply_block,
    decoding_step_of,
    encode_by,
    norm_of,
    score_of_distances,
)
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import PAD


class TextbookOutputs(NamedTuple):
    """The logits and the attention of all positions of the target.

    Attributes:
        logits_BTV: float32, unnormalised log-probabilities of the token after each target token.
        attention_BTS: float32, weights over the source.
        maps: see AttentionMaps.
    """

    logits_BTV: Tensor
    attention_BTS: Tensor
    maps: dict[str, list[Tensor]]


def textbook_outputs(model: Seq2Seq, source_BS: Tensor, target_BT: Tensor) -> TextbookOutputs:
    """Compute a model's outputs by the equations of `reference`.

    Args:
        model: an RNN, a Transformer or a DecoderOnly, with any options.
        source_BS: source ids, int32, right-padded with PAD; its shape must be static.
        target_BT: target ids, int32, like source_BS; each row begins with BOS.

    Raises:
        TypeError: for a model of another class.
    """
    if isinstance(model, RNN):
        return _rnn_outputs(model, source_BS, target_BT)
    if isinstance(model, Transformer):
        return _transformer_outputs(model, source_BS, target_BT)
    if isinstance(model, DecoderOnly):
        return _decoder_only_outputs(model, source_BS, target_BT)
    raise TypeError(
        "Invalid class of model. Expected one of RNN, Transformer, DecoderOnly. "
        f"Received: {type(model).__name__}"
    )


def _rnn_outputs(model: RNN, source_BS: Tensor, target_BT: Tensor) -> TextbookOutputs:
    mask_BS = source_BS != PAD
    h_BSD = _lookup(model.source_embedding.embeddings, source_BS)
    last: reference.State = []
    for number, layer in enumerate(model.encoder.layers, start=1):
        x_BSD, (h_BSD, last) = h_BSD, encode_by(layer, h_BSD, mask_BS)
        h_BSD = h_BSD + x_BSD if number >= 3 else h_BSD
    state = [
        tf.tanh(last[i % len(last)] @ bridge.kernel + bridge.bias)
        for i, bridge in enumerate(model.bridges)
    ]
    # The fed vector starts at 0. Without bridges, the whole state starts at 0.
    zeros_BD = tf.zeros([source_BS.shape[0], model.decoder_units])
    state += [zeros_BD] * (len(model.decoder.state_names) - len(state))

    if not model.has_attention:
        h_BSD = last[0][:, tf.newaxis]
    step = decoding_step_of(model.decoder, h_BSD, mask_BS)
    outputs, attention = [], []
    words = tf.unstack(_lookup(model.target_embedding.embeddings, target_BT), axis=1)
    for t, y_BD in enumerate(words):
        output_BD, weights_BS, state = step(y_BD, state, t)
        outputs.append(output_BD)
        attention.append(weights_BS)
    kernel, bias = affine_of(model.output_projection)
    logits_BTV, weights_BTS = tf.stack(outputs, axis=1) @ kernel + bias, tf.stack(attention, axis=1)
    maps = {"cross": [weights_BTS[:, tf.newaxis]]} if model.has_attention else {}
    return TextbookOutputs(logits_BTV, weights_BTS, maps)


def _transformer_outputs(
    model: Transformer, source_BS: Tensor, target_BT: Tensor
) -> TextbookOutputs:
    length, target_length, heads = source_BS.shape[1], target_BT.shape[1], model.config.heads
    tables, mask_BTS = model.embeddings, (source_BS != PAD)[:, tf.newaxis]
    x_BSD = _embed(tables.source_table, model.source_positions, source_BS, tf.range(length))
    maps: dict[str, list[Tensor]] = {"cross": [], "encoder": [], "decoder": []}
    score = score_of_distances(model.encoder_distances, tf.range(length)[tf.newaxis], heads)
    for block in model.encoder:
        x_BSD, weights = apply_block(block, x_BSD, mask_BTS, score=score)
        maps["encoder"] += weights
    x_BSD = _last_norm(model.encoder_norm, x_BSD)

    y_BTD = _embed(tables.target_table, model.target_positions, target_BT, tf.range(target_length))
    causal_1TT = reference.causal_mask(target_length)
    score = score_of_distances(model.decoder_distances, tf.range(target_length)[tf.newaxis], heads)
    for block in model.decoder:
        y_BTD, (own_BHTT, cross_BHTS) = apply_block(
            block, y_BTD, causal_1TT, x_BSD, mask_BTS, score
        )
        maps["decoder"].append(own_BHTT)
        maps["cross"].append(cross_BHTS)
    logits_BTV = _logits(tables, _last_norm(model.decoder_norm, y_BTD))
    return TextbookOutputs(logits_BTV, tf.reduce_mean(maps["cross"][-1], axis=1), maps)


def _decoder_only_outputs(
    model: DecoderOnly, source_BS: Tensor, target_BT: Tensor
) -> TextbookOutputs:
    """Run the stack once over source and target side by side: L positions in all."""
    length, target_length = source_BS.shape[1], target_BT.shape[1]
    mask_BS = source_BS != PAD
    # The target's positions continue from the source's real length.
    real_B1 = tf.reduce_sum(tf.cast(mask_BS, tf.int32), axis=1, keepdims=True)
    tables, positions = model.embeddings, model.positions
    parts = [
        _embed(tables.source_table, positions, source_BS, tf.range(length)),
        _embed(tables.target_table, positions, target_BT, real_B1 + tf.range(target_length)),
    ]
    x_BLD, stack = tf.concat(parts, axis=1), []
    # All see the source, and the target sees itself up to the same position.
    in_source_L = tf.range(length + target_length) < length
    seen_1LL = in_source_L | reference.causal_mask(length + target_length) & ~in_source_L
    real_BL = tf.pad(mask_BS, [[0, 0], [0, target_length]], constant_values=True)
    source_BS = tf.repeat(tf.range(length)[tf.newaxis], source_BS.shape[0], axis=0)
    positions_BL = tf.concat([source_BS, real_B1 + tf.range(target_length)], axis=1)
    score = score_of_distances(model.distances, positions_BL, model.config.heads)
    for block in model.blocks:
        x_BLD, weights = apply_block(block, x_BLD, seen_1LL & real_BL[:, tf.newaxis], score=score)
        stack += weights
    logits_BTV = _logits(tables, _last_norm(model.norm, x_BLD[:, length:]))
    over_source_BTS = tf.reduce_mean(stack[-1], axis=1)[:, length:, :length]
    total_BT1 = tf.reduce_sum(over_source_BTS, axis=2, keepdims=True)
    attention_BTS = tf.math.divide_no_nan(over_source_BTS, total_BT1)
    return TextbookOutputs(logits_BTV, attention_BTS, {"stack": stack})


def _lookup(table: Tensor, ids: Tensor) -> Tensor:
    return tf.gather(tf.convert_to_tensor(table), ids)


def _embed(table: Tensor, positions: Positions, ids: Tensor, numbers: Tensor) -> Tensor:
    """Return vectors of ids, times sqrt(D), and of their positions: Vaswani et al. (2017), 3.4."""
    vectors = _lookup(table, ids) * table.shape[1] ** 0.5
    if not positions.are_added:
        return vectors
    if positions.table is None:
        return vectors + reference.sinusoidal_positions(numbers, table.shape[1])
    last = positions.table.shape[0] - 1  # all later positions use the last row
    return vectors + _lookup(positions.table, tf.minimum(numbers, last))


def _last_norm(norm: Norm | None, x: Tensor) -> Tensor:
    """Apply the normalisation after the last block, which a post-norm stack does not have."""
    return x if norm is None else norm_of(norm)(x)


def _logits(tables: Embeddings, x: Tensor) -> Tensor:
    return x @ tf.transpose(tf.convert_to_tensor(tables.output_table)) + tables.output_bias
