"""The fast layers against the reference with the same weights."""

import numpy as np
import pytest
import tensorflow as tf
from test_reference import (
    ACTIVATIONS,
    SCORES,
    assert_same,
    make_block,
    normal,
    randomised,
)

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models import reference, reference_training
from seq2seq_cli.models.layers.attention import attend, attention_weights
from seq2seq_cli.models.layers.cells import CELLS, run_cell
from seq2seq_cli.models.layers.decoders import BahdanauDecoder, LuongDecoder
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.encoder import EncoderLayer
from seq2seq_cli.models.layers.feed_forward import FeedForward
from seq2seq_cli.models.layers.multi_head_attention import MultiHeadAttention
from seq2seq_cli.models.layers.normalisation import LayerNorm
from seq2seq_cli.models.layers.scores import make_score
from seq2seq_cli.models.textbook_layers import (
    apply_block,
    cell_of,
    decoding_step_of,
    encode_by,
    feed_forward_of,
    multi_head_of,
    norm_of,
    score_of,
)
from seq2seq_cli.special_tokens import PAD
from seq2seq_cli.training.loss import cross_entropy

WIRINGS = ["bahdanau", "luong", "luong with input feeding"]
MASK = tf.sequence_mask([5, 2, 0], 5)  # of three sources, one of which is padding alone


def decode(step, y_BTD, state) -> tf.Tensor:
    outputs = []
    for y_BD in tf.unstack(y_BTD, axis=1):
        output, _, state = step(y_BD, state)
        outputs.append(output)
    return tf.stack(outputs, axis=1)


@pytest.mark.parametrize("kind", CELLS)
def test_cells_equal_the_reference_in_a_step_and_in_a_sequence(kind):
    cell = randomised(CELLS[kind](4, 3))
    state = [normal(3, 4, seed=n) for n, _ in enumerate(cell.state_names)]
    assert_same(
        lambda x, *state: cell(cell.project(x), list(state)),
        lambda x, *state: cell_of(cell)(x, list(state)),
        [normal(3, 3), *state],
        cell.trainable_variables,
    )
    assert_same(
        lambda x, *state: run_cell(cell, x, list(state)),
        lambda x, *state: reference.unroll(x, MASK | True, list(state), cell_of(cell))[0],
        [normal(3, 5, 3), *state],
        cell.trainable_variables,
    )


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", CELLS)
def test_encoder_layers_equal_the_reference(kind, bidirectional):
    layer = randomised(EncoderLayer(CELLS[kind], 4, 3, bidirectional))
    assert_same(
        lambda x: layer(x, MASK),
        lambda x: encode_by(layer, x, MASK),
        [normal(3, 5, 3)],
        layer.trainable_variables,
    )


@pytest.mark.parametrize("kind", SCORES)
def test_scores_and_attention_equal_the_reference(kind):
    score = randomised(make_score(kind, 7, 6, 6 if "dot" in kind else 4))
    query, keys, values = normal(3, 4, 6), normal(3, 5, 6 if "dot" in kind else 4), normal(3, 5, 2)

    def fast(query, keys, values):
        weights = attention_weights(score(query, score.project_keys(keys)), MASK)
        return attend(weights, values), weights

    def expected(query, keys, values):
        scores = score_of(score)(query, keys)
        return reference.attend(scores, values, MASK[:, tf.newaxis])

    assert_same(fast, expected, [query, keys, values], score.trainable_variables)


# Cells alternate, so that each meets every score and every wiring.
@pytest.mark.parametrize(
    ("cell", "wiring", "score_kind"),
    [
        (list(CELLS)[(w + s) % 2], wiring, score)
        for w, wiring in enumerate(WIRINGS)
        for s, score in enumerate(SCORES)
    ],
)
def test_decoders_equal_the_reference_in_a_step_and_in_a_sequence(cell, wiring, score_kind):
    value_units = 6 if "dot" in score_kind else 8
    sizes = {"embedding_units": 3, "encoder_units": value_units // 2, "decoder_units": 6}
    options = {"input_feeding": "feeding" in wiring, "attention": score_kind, "cell": cell}
    kind = BahdanauDecoder if wiring == "bahdanau" else LuongDecoder
    decoder = randomised(kind(RNNConfig(attention_units=7, **sizes, **options), []))
    y, h = normal(3, 4, 3), normal(3, 5, value_units)
    state = [normal(3, 6, seed=n) for n, _ in enumerate(decoder.state_names)]

    def memory(h):
        return {"mask": MASK, **decoder.prepare(h)}

    assert_same(
        lambda y, h, *state: decoder.step(y, list(state), memory(h), decoder.kernels()),
        lambda y, h, *state: decoding_step_of(decoder, h, MASK)(y, list(state)),
        [y[:, 0], h, *state],
        decoder.trainable_variables,
    )
    assert_same(
        lambda y, h, *state: decoder.run(y, list(state), memory(h)),
        lambda y, h, *state: decode(decoding_step_of(decoder, h, MASK), y, list(state)),
        [y, h, *state],
        decoder.trainable_variables,
    )


@pytest.mark.parametrize("causal", [False, True])
def test_multi_head_attention_equals_the_reference(causal):
    layer = randomised(MultiHeadAttention(8, 2, key_units=6, value_units=5))
    inputs = [normal(3, 5, 8), normal(3, 5, 6), normal(3, 5, 5)]
    mask_BTS = MASK[:, tf.newaxis] & (reference.causal_mask(5) | (not causal))
    assert_same(
        lambda *inputs: layer(*inputs, attention_mask=MASK, causal=causal),
        lambda *inputs: multi_head_of(layer)(*inputs, mask_BTS),
        inputs,
        layer.trainable_variables,
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_feed_forward_networks_equal_the_reference(activation):
    layer = randomised(FeedForward(6, 7, activation))
    expected = feed_forward_of(layer)
    assert_same(layer, expected, [normal(2, 3, 6)], layer.trainable_variables)


def test_layer_normalisation_equals_the_reference():
    layer = randomised(LayerNorm(6))
    assert_same(layer, norm_of(layer), [3 * normal(2, 3, 6) + 1], layer.trainable_variables)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("cross", [False, True])
def test_blocks_equal_the_reference(cross, norm, activation):
    layer, mask_BTS = make_block(norm, activation, cross), MASK[:, tf.newaxis]

    def encoder(x):
        return layer(x, MASK).outputs_BTD

    def decoder(y, x):
        memory = layer.cross_attention.project_keys_values(x)
        return layer(y, causal=True, memory=memory, memory_mask_BS=MASK).outputs_BTD

    def expected(y, *memory):
        mask = reference.causal_mask(4) if memory else mask_BTS
        return apply_block(layer, y, mask, *memory, *([mask_BTS] if memory else []))[0]

    inputs = [normal(3, 4, 8), normal(3, 5, 8)] if cross else [normal(3, 5, 8)]
    assert_same(decoder if cross else encoder, expected, inputs, layer.trainable_variables)


def test_sinusoids_equal_the_reference():
    positions = tf.constant([[0, 1, 2], [7, 30, 199]])
    expected = reference.sinusoidal_positions(positions, 8)
    np.testing.assert_allclose(Positions("sinusoidal", 8, 0)(positions), expected, atol=1e-4)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("vocabulary", [7, 131])
def test_cross_entropy_equals_the_reference(vocabulary, smoothing):
    labels = np.random.default_rng(0).integers(1, vocabulary, size=(3, 5))
    labels = tf.where(MASK, labels, PAD)
    assert_same(
        lambda logits: cross_entropy(logits, labels, smoothing)[0],
        lambda logits: reference_training.cross_entropy(logits, labels, MASK, smoothing),
        [5 * normal(3, 5, vocabulary)],
    )
