"""The fast layers, and whole models, against the reference with the same weights."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config
from test_reference import (
    ACTIVATIONS,
    SCORES,
    affine,
    assert_same,
    block_of,
    cell_of,
    feed_forward_of,
    make_block,
    multi_head_of,
    norm_of,
    normal,
    randomised,
    score_of,
)

from seq2seq_cli.models import reference
from seq2seq_cli.models.decoder_only import DecoderOnly
from seq2seq_cli.models.layers.attention import MultiHeadAttention, attend, attention_weights
from seq2seq_cli.models.layers.blocks import FeedForward
from seq2seq_cli.models.layers.cells import CELLS, run_cell
from seq2seq_cli.models.layers.decoders import BahdanauDecoder, LuongDecoder
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.encoder import EncoderLayer
from seq2seq_cli.models.layers.normalisation import LayerNorm
from seq2seq_cli.models.layers.scores import make_score
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.transformer import Transformer
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.training.loss import cross_entropy
from seq2seq_cli.training.step import Updater

WIRINGS = ["bahdanau", "luong", "luong with input feeding"]
MASK = tf.sequence_mask([5, 2, 0], 5)  # of three sources, one of which is padding alone


def step_of(decoder, score_kind: str, h_BSD, mask_BS):
    """Return the reference of a decoder of one layer, as a function of y_BD and a state."""
    score = score_of(score_kind, decoder.score)
    if isinstance(decoder, BahdanauDecoder):
        cell, readout = cell_of(decoder.cell, decoder.context_kernel), affine(decoder.readout)
        return lambda y, state: reference.bahdanau_step(
            y, state, h_BSD, mask_BS, cell, score, readout
        )

    def luong(y, state):
        feeds = decoder.feed_kernel is not None
        cell = cell_of(decoder.cell, *([decoder.feed_kernel] if feeds else []))
        *state, fed = state if feeds else [*state, None]
        output, weights, state = reference.luong_step(
            y, state, h_BSD, mask_BS, cell, score, decoder.attentional_kernel, fed
        )
        return output, weights, [*state, output] if feeds else state

    return luong


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
    cells = [layer.forward_cell, *([layer.backward_cell] if bidirectional else [])]
    run = reference.annotations if bidirectional else reference.unroll
    assert_same(
        lambda x: layer(x, MASK),
        lambda x: run(x, MASK, cells[0].zeros(3), *map(cell_of, cells)),
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
        scores = score_of(kind, score)(query, keys)
        return reference.attend(scores, values, MASK[:, tf.newaxis])

    assert_same(fast, expected, [query, keys, values], score.trainable_variables)


@pytest.mark.parametrize("score_kind", SCORES)
@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_decoders_equal_the_reference_in_a_step_and_in_a_sequence(cell, wiring, score_kind):
    value_units = 6 if "dot" in score_kind else 8
    arguments = (make_score(score_kind, 7, 6, value_units), CELLS[cell], 1, 6, 3, value_units)
    if wiring == "bahdanau":
        decoder = BahdanauDecoder(*arguments, [])
    else:
        decoder = LuongDecoder(*arguments, wiring == "luong with input feeding", [])
    randomised(decoder)
    y, h = normal(3, 4, 3), normal(3, 5, value_units)
    state = [normal(3, 6, seed=n) for n, _ in enumerate(decoder.state_names)]

    def memory(h):
        return {"mask": MASK, **decoder.prepare(h)}

    assert_same(
        lambda y, h, *state: decoder.step(y, list(state), memory(h), decoder.kernels()),
        lambda y, h, *state: step_of(decoder, score_kind, h, MASK)(y, list(state)),
        [y[:, 0], h, *state],
        decoder.trainable_variables,
    )
    assert_same(
        lambda y, h, *state: decoder.run(y, list(state), memory(h)),
        lambda y, h, *state: decode(step_of(decoder, score_kind, h, MASK), y, list(state)),
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
        return block_of(layer, y, mask, *memory, mask_BTS)

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
        lambda logits: reference.cross_entropy(logits, labels, MASK, smoothing),
        [5 * normal(3, 5, vocabulary)],
    )


# Whole models

SOURCE = tf.constant([[5, 6, 7, 8, EOS], [9, EOS, PAD, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
TARGET = tf.constant([[BOS, 4, 5, 6, EOS], [BOS, 7, EOS, PAD, PAD], [BOS, 9, 10, EOS, PAD]])


def rnn_logits(model: RNN, kind: str, source, target) -> tf.Tensor:
    mask, layer = source != PAD, model.encoder.layers[0]
    cells = cell_of(layer.forward_cell), cell_of(layer.backward_cell)
    embedded = tf.gather(tf.convert_to_tensor(model.source_embedding.embeddings), source)
    h, last = reference.annotations(embedded, mask, layer.forward_cell.zeros(3), *cells)
    state = [tf.tanh(s @ b.kernel + b.bias) for s, b in zip(last, model.bridges, strict=True)]
    if "fed" in model.decoder.state_names:
        state.append(tf.zeros_like(state[0]))
    y = tf.gather(tf.convert_to_tensor(model.target_embedding.embeddings), target)
    outputs = decode(step_of(model.decoder, kind, h, mask), y, state)
    kernel, bias = affine(model.output_projection)
    return outputs @ kernel + bias


def embedded(table, positions, ids, numbers) -> tf.Tensor:
    """Return embeddings of ids, with their positions."""
    vectors = tf.gather(tf.convert_to_tensor(table), ids) * table.shape[1] ** 0.5
    if positions.table is not None:
        return vectors + tf.gather(tf.convert_to_tensor(positions.table), numbers)
    return vectors + reference.sinusoidal_positions(numbers, table.shape[1])


def transformer_logits(model: Transformer, source, target) -> tf.Tensor:
    mask, embeddings = (source != PAD)[:, tf.newaxis], model.embeddings
    x = embedded(embeddings.source_table, model.source_positions, source, tf.range(5))
    for block in model.encoder:
        x = block_of(block, x, mask)
    x = norm_of(model.encoder_norm)(x) if model.encoder_norm else x
    length = target.shape[1]
    y = embedded(embeddings.target_table, model.target_positions, target, tf.range(length))
    for block in model.decoder:
        y = block_of(block, y, reference.causal_mask(length), x, mask)
    y = norm_of(model.decoder_norm)(y) if model.decoder_norm else y
    return y @ tf.transpose(tf.convert_to_tensor(embeddings.output_table)) + embeddings.output_bias


def decoder_only_logits(model: DecoderOnly, source, target) -> tf.Tensor:
    """Run the stack once over source and target, each row of which sees what it may."""
    mask, embeddings, length = source != PAD, model.embeddings, target.shape[1]
    numbers = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)[:, tf.newaxis] + tf.range(length)
    parts = [
        embedded(embeddings.source_table, model.positions, source, tf.range(5)),
        embedded(embeddings.target_table, model.positions, target, numbers),
    ]
    x = tf.concat(parts, axis=1)
    in_source = tf.range(5 + length) < 5
    seen = in_source | reference.causal_mask(5 + length) & ~in_source
    mask = seen & tf.pad(mask, [[0, 0], [0, length]], constant_values=True)[:, tf.newaxis]
    for block in model.blocks:
        x = block_of(block, x, mask)
    x = norm_of(model.norm)(x) if model.norm else x
    table = tf.convert_to_tensor(embeddings.output_table)
    return x[:, 5:] @ tf.transpose(table) + embeddings.output_bias


def make_rnn(cell: str, kind: str, wiring: str):
    options = {"wiring": wiring.split()[0], "input_feeding": "feeding" in wiring}
    model = RNN(11, 11, 4, 3, 6, 5, cell=cell, attention=kind, **options)
    return randomised(model), lambda *ids: rnn_logits(model, kind, *ids)


def make_stack(architecture, norm: str, activation: str, positions: str, tied: bool):
    layers = (2,) if architecture is DecoderOnly else (2, 1)
    model = architecture(
        11, 11, 8, 2, 6, *layers, norm, activation, positions, 16, tied_embeddings=tied
    )
    run = decoder_only_logits if architecture is DecoderOnly else transformer_logits
    return randomised(model), lambda *ids: run(model, *ids)


MODELS = {
    "rnn-bahdanau": lambda: make_rnn("gru", "additive", "bahdanau"),
    "rnn-luong": lambda: make_rnn("gru", "dot", "luong"),
    "rnn-luong-feeding": lambda: make_rnn("lstm", "general", "luong with input feeding"),
    "transformer-pre": lambda: make_stack(Transformer, "pre", "relu", "sinusoidal", True),
    "transformer-post": lambda: make_stack(Transformer, "post", "gelu", "learned", False),
    "decoder-only": lambda: make_stack(DecoderOnly, "pre", "swiglu", "sinusoidal", True),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_equal_the_reference(name):
    model, expected = MODELS[name]()
    assert_same(
        lambda: model((SOURCE, TARGET)),
        lambda: expected(SOURCE, TARGET),
        [],
        model.trainable_variables,
    )


# XLA compiles parts of a training step, which takes some seconds for each model.
@pytest.mark.parametrize("name", ["rnn-bahdanau", "rnn-luong-feeding", "transformer-pre"])
def test_training_has_the_loss_and_the_gradient_of_the_reference(name):
    model, expected = MODELS[name]()
    settings = {"compile": "auto", "label_smoothing": 0.1, "gradient_clip_norm": 1e9}
    config = tiny_config("x", **{f"training__{key}": value for key, value in settings.items()})
    updater = Updater(model, config.training)
    gradients, _, loss = updater.compiled(updater.gradients)(SOURCE, TARGET)
    labels = TARGET[:, 1:]
    tokens = tf.math.count_nonzero(labels, dtype=tf.float32)
    with tf.GradientTape() as tape:
        logits = expected(SOURCE, TARGET[:, :-1])
        expected_loss = reference.cross_entropy(logits, labels, labels != PAD, 0.1) / tokens
    expected_gradients = tape.gradient(expected_loss, model.trainable_variables)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    for a, b in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(a, tf.convert_to_tensor(b), rtol=1e-5, atol=1e-5)
