"""The reference against Keras and against numbers computed by hand."""

from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf
from test_cells import ORACLES, keras_weights, randomise

from seq2seq_cli.config.model import TransformerConfig
from seq2seq_cli.models import reference, reference_training
from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.layers.blocks import Block
from seq2seq_cli.models.layers.cells import CELLS
from seq2seq_cli.models.layers.encoder import EncoderLayer
from seq2seq_cli.models.layers.feed_forward import FeedForward
from seq2seq_cli.models.layers.multi_head_attention import MultiHeadAttention
from seq2seq_cli.models.layers.normalisation import LayerNorm
from seq2seq_cli.models.layers.regularisation import dropout_maker
from seq2seq_cli.models.textbook_layers import (
    affine_of,
    apply_block,
    cell_of,
    encode_by,
    multi_head_of,
)

SCORES = ["additive", "dot", "general", "concat", "scaled_dot"]
ACTIVATIONS = ["relu", "gelu", "swiglu"]
MASK = tf.sequence_mask([5, 2, 1], 5)  # of three sources


def normal(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.constant(np.random.default_rng((seed, *shape)).normal(size=shape), tf.float32)


def randomised(layer: keras.layers.Layer) -> keras.layers.Layer:
    randomise(layer)
    return layer


def results(run, inputs, weights) -> list[np.ndarray]:
    """Return all outputs, and the gradients of a randomly weighted sum of them."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = [tf.convert_to_tensor(x) for x in tf.nest.flatten(run(*inputs))]
        loss = tf.add_n([tf.reduce_sum(x * normal(*x.shape, seed=9)) for x in outputs])
    gradients = tape.gradient(loss, [*inputs, *weights], unconnected_gradients="zero")
    return [x.numpy() for x in [*outputs, *map(tf.convert_to_tensor, gradients)]]


def assert_same(found, expected, inputs, weights=()) -> None:
    """Compare the outputs of two functions, and the gradients of their inputs and of weights."""
    pairs = zip(results(found, inputs, weights), results(expected, inputs, weights), strict=True)
    for number, (a, b) in enumerate(pairs):
        tolerance = 2e-5 * max(1, np.abs(b).max())
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=tolerance, err_msg=f"tensor {number}")


def make_block(norm: str, activation: str, cross: bool) -> Block:
    options = {"norm": norm, "activation": activation, "dropout": 0.0, "attention_dropout": 0.0}
    config = TransformerConfig(units=8, heads=2, inner_units=6, **options)
    return randomised(Block(config, dropout_maker(DropoutKey()), cross))


def residuals_of(layer: Block) -> list:
    cross = [layer.cross_residual] if layer.has_cross else []
    return [layer.self_residual, *cross, layer.feed_forward_residual]


@pytest.mark.parametrize("kind", CELLS)
def test_a_step_of_a_cell_equals_keras(kind):
    cell = randomised(CELLS[kind](4, 3))
    oracle = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}[kind](4)
    oracle.build((None, 3))
    oracle.set_weights(keras_weights(cell))
    inputs = [normal(2, 3), *(normal(2, 4, seed=n) for n, _ in enumerate(cell.state_names))]
    assert_same(
        lambda x, *state: cell_of(cell)(x, list(state)),
        lambda x, *state: oracle(x, list(state))[1],
        inputs,
    )


@pytest.mark.parametrize("kind", CELLS)
def test_annotations_equal_those_of_keras(kind):
    layer = randomised(EncoderLayer(CELLS[kind], 4, 3))
    one_way = ORACLES[kind](4, return_sequences=True, return_state=True)
    oracle = keras.layers.Bidirectional(one_way)
    oracle.build((None, None, 3))
    cells = layer.forward_cell, layer.backward_cell
    oracle.set_weights([weights for cell in cells for weights in keras_weights(cell)])
    on_tokens = tf.cast(MASK, tf.float32)[:, :, tf.newaxis]

    def found(x):
        h, last = encode_by(layer, x, MASK)
        return h * on_tokens, last

    def expected(x):
        h, *states = oracle(x, mask=MASK)
        return h * on_tokens, states[-len(cells[0].state_names) :]

    assert_same(found, expected, [normal(3, 5, 3)])


@pytest.mark.parametrize("kind", SCORES)
def test_scores_and_attention_equal_keras(kind):
    query, keys, values = normal(3, 5, 6), normal(3, 5, 6, seed=1), normal(3, 5, 2)
    eye, kernel = tf.eye(6), normal(6, 6)
    if kind == "additive":
        oracle = keras.layers.AdditiveAttention()
        oracle.build([query.shape, values.shape, keys.shape])
        weights = {"W_a": eye, "U_a": eye, "b_a": 0.0, "v_a": oracle.scale[:, tf.newaxis]}
    elif kind == "concat":
        oracle = keras.layers.Attention(score_mode="concat")
        oracle.build([query.shape, values.shape, keys.shape])
        oracle.concat_score_weight.assign(0.7)
        weights = {"W_a": tf.concat([eye, eye], axis=0), "v_a": tf.fill([6, 1], 0.7)}
    else:
        oracle = keras.layers.Attention(use_scale=kind == "scaled_dot")
        oracle.build([query.shape, values.shape, keys.shape])
        weights = {"W_a": kernel} if kind == "general" else {}
        if kind == "scaled_dot":
            oracle.scale.assign(6**-0.5)

    def found(query, keys, values):
        scores = getattr(reference, kind)(query, keys, **weights)
        return reference.attend(scores, values, MASK[:, tf.newaxis] & reference.causal_mask(5))

    def expected(query, keys, values):
        query = tf.einsum("btq,kq->btk", query, kernel) if kind == "general" else query
        return oracle(
            [query, values, keys],
            mask=[None, MASK],
            return_attention_scores=True,
            use_causal_mask=True,
        )

    assert_same(found, expected, [query, keys, values])


def test_scores_by_hand():
    query, key, v_a = tf.constant([[[0.2]]]), tf.constant([[[0.4]]]), tf.constant([[3.0], [-1.0]])
    W_a, U_a, b_a = (tf.constant(x) for x in ([[1.0, 0.0]], [[0.0, 2.0]], [0.5, 0.0]))
    # 3 tanh(1*0.2 + 0.5) - tanh(2*0.4) = 3*0.6043678 - 0.6640368
    np.testing.assert_allclose(
        reference.additive(query, key, W_a, U_a, b_a, v_a), [[[1.1490666]]], rtol=1e-6
    )
    # 3 tanh(1*0.2 + 0.5*0.4) - tanh(0*0.2 + 2*0.4) = 3*0.3799490 - 0.6640368
    W_a = tf.constant([[1.0, 0.0], [0.5, 2.0]])
    np.testing.assert_allclose(reference.concat(query, key, W_a, v_a), [[[0.4758102]]], rtol=1e-6)
    # [1, 2] . [3*0.5, -1*0.5]
    query, key = tf.constant([[[1.0, 2.0]]]), tf.constant([[[0.5]]])
    W_a = tf.constant([[3.0, -1.0]])
    np.testing.assert_allclose(reference.general(query, key, W_a), [[[0.5]]], rtol=1e-6)
    # [1, 2] . [3, 0.5], divided by sqrt(2) where scaled
    key = tf.constant([[[3.0, 0.5]]])
    np.testing.assert_allclose(reference.dot(query, key), [[[4]]], rtol=1e-6)
    np.testing.assert_allclose(reference.scaled_dot(query, key), [[[2.8284271]]], rtol=1e-6)


def test_attention_is_over_tokens_alone_by_hand():
    scores = tf.constant([[[0.0, np.log(3.0), 100.0]]] * 2)
    values = tf.constant([[[10.0], [20.0], [1000.0]]] * 2)
    mask = tf.constant([[[True, True, False]], [[False] * 3]])
    context, weights = reference.attend(scores, values, mask)
    np.testing.assert_allclose(weights, [[[0.25, 0.75, 0]], [[0, 0, 0]]], rtol=1e-6)
    np.testing.assert_allclose(context, [[[17.5]], [[0]]], rtol=1e-6)


def test_steps_of_decoders_by_hand():
    def f(x_BD, state):  # each part of its input has another weight
        return [x_BD @ tf.constant([[1.0], [2.0]]) + state[0]]

    y, state, fed = tf.constant([[0.5]]), [tf.constant([[0.2]])], tf.constant([[0.3]])
    h, mask = tf.constant([[[1.0], [-1.0], [7.0]]]), tf.constant([[True, True, False]])
    # e = (0.2, -0.2), alpha_1 = 1 / (1 + exp(-0.4)) = 0.5986877, c = 0.5986877 - 0.4013123
    weights = {"W_t": tf.constant([[1.0], [2.0], [3.0]]), "b_t": tf.constant([0.1])}
    readout = partial(reference.tanh_readout, **weights)
    attention = partial(reference.global_attention, score=reference.dot)
    t, alpha, (s,) = reference.bahdanau_step(y, state, h, mask, f, attention, readout)
    np.testing.assert_allclose(alpha, [[0.5986877, 0.4013123, 0]], rtol=1e-6)
    np.testing.assert_allclose(s, [[0.5 + 2 * 0.1973753 + 0.2]], rtol=1e-6)
    np.testing.assert_allclose(t, np.tanh([[1.0947506 + 2 * 0.5 + 3 * 0.1973753 + 0.1]]), rtol=1e-6)
    # h_t = 0.5 + 2*0.3 + 0.2, a_1 = 1 / (1 + exp(-2.6)) = 0.9308616, c = 0.9308616 - 0.0691384
    W_c = tf.constant([[3.0], [-1.0]])
    output, a, (s,) = reference.luong_step(y, state, h, mask, f, attention, W_c, fed)
    np.testing.assert_allclose(s, [[1.3]], rtol=1e-6)
    np.testing.assert_allclose(a, [[0.9308616, 0.0691384, 0]], rtol=1e-5)
    np.testing.assert_allclose(output, np.tanh([[3 * 0.8617232 - 1.3]]), rtol=1e-6)


def keras_multi_head(layer: MultiHeadAttention) -> keras.layers.Layer:
    oracle = keras.layers.MultiHeadAttention(layer.heads, layer.units // layer.heads)
    oracle.build(*[(None, None, layer.units)] * 3)
    weights = zip(layer.trainable_variables, oracle.get_weights(), strict=True)
    oracle.set_weights([ours.numpy().reshape(theirs.shape) for ours, theirs in weights])
    return oracle


def keras_norm(layer: LayerNorm) -> keras.layers.Layer:
    oracle = keras.layers.LayerNormalization(epsilon=1e-6)
    oracle.build((None, layer.gamma.shape[0]))
    oracle.set_weights([layer.gamma.numpy(), layer.beta.numpy()])
    return oracle


def keras_feed_forward(layer: FeedForward):
    def dense(name, activation=None):
        kernel, bias = affine_of(layer, name)
        oracle = keras.layers.Dense(kernel.shape[1], activation=activation)
        oracle.build((None, kernel.shape[0]))
        oracle.set_weights([kernel.numpy(), bias.numpy()])
        return oracle

    if layer.activation == "swiglu":
        inner, gate, output = dense("inner_", "silu"), dense("gate_"), dense("output_")
        return lambda x: output(inner(x) * gate(x))
    return keras.Sequential([dense("inner_", layer.activation), dense("output_")])


def test_multi_head_attention_equals_keras():
    layer = randomised(MultiHeadAttention(8, 2))
    oracle, mask = keras_multi_head(layer), MASK[:, tf.newaxis] & (normal(3, 4, 5) < 0.5)
    mask |= tf.one_hot(tf.zeros([3, 4], tf.int32), 5, True, False)  # each query sees some key
    assert_same(
        lambda q, k, v: multi_head_of(layer)(q, k, v, mask),
        lambda q, k, v: oracle(q, v, k, attention_mask=mask, return_attention_scores=True),
        [normal(3, 4, 8), normal(3, 5, 8), normal(3, 5, 8, seed=1)],
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_block_of_a_decoder_equals_layers_of_keras(norm, activation):
    layer = make_block(norm, activation, cross=True)
    own, cross = (keras_multi_head(x) for x in (layer.self_attention, layer.cross_attention))
    norms = [keras_norm(x.norm) for x in residuals_of(layer)]

    def expected(y, x):
        sublayers = [
            lambda y: own(y, y, y, use_causal_mask=True),
            lambda y: cross(y, x, x, attention_mask=MASK[:, tf.newaxis]),
            keras_feed_forward(layer.feed_forward),
        ]
        for sublayer, norm_ in zip(sublayers, norms, strict=True):
            y = y + sublayer(norm_(y)) if norm == "pre" else norm_(y + sublayer(y))
        return y

    assert_same(
        lambda y, x: apply_block(layer, y, reference.causal_mask(4), x, MASK[:, tf.newaxis])[0],
        expected,
        [normal(3, 4, 8), normal(3, 5, 8)],
    )


def test_sinusoids_by_hand():
    vectors = reference.sinusoidal_positions(tf.constant([0, 9]), 4)
    angles = np.array([[1, 1 / 10_000], [10, 10 / 10_000]])
    np.testing.assert_allclose(vectors, np.hstack([np.sin(angles), np.cos(angles)]), atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_equals_keras_and_numbers_by_hand(smoothing):
    oracle = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=smoothing, reduction="none"
    )
    labels = tf.constant([[1, 2, 6, 5, 4], [3, 3, 0, 0, 0], [6, 0, 0, 0, 0]])
    assert_same(
        lambda logits: reference_training.cross_entropy(logits, labels, MASK, smoothing),
        lambda logits: tf.reduce_sum(oracle(tf.one_hot(labels, 7), logits)[MASK]),
        [normal(3, 5, 7)],
    )
    # p = (1/4, 3/4); q' = (0, 1), or (0.1, 0.9): 0.1 ln 4 + 0.9 ln 4/3
    logits, label = tf.constant([[[0.0, np.log(3.0)]]]), tf.constant([[1]])
    found = reference_training.cross_entropy(logits, label, tf.constant([[True]]), smoothing)
    np.testing.assert_allclose(found, 0.3975433 if smoothing else 0.2876821, rtol=1e-6)
