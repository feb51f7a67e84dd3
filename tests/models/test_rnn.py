import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.rnn import RNN, BidirectionalEncoder, GRUCell, scan
from seq2seq_cli.special_tokens import PAD

UNITS, INPUTS = 4, 3


def keras_weights(cell: GRUCell) -> list[np.ndarray]:
    biases = np.stack([cell.bias.numpy(), cell.recurrent_bias.numpy()])
    return [cell.kernel.numpy(), cell.recurrent_kernel.numpy(), biases]


def randomise(layer, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.5))


def test_cell_equals_keras():
    cell, oracle = GRUCell(UNITS, INPUTS), keras.layers.GRUCell(UNITS)
    randomise(cell)
    oracle.build((None, INPUTS))
    oracle.set_weights(keras_weights(cell))
    rng = np.random.default_rng(1)
    x = tf.constant(rng.normal(size=(5, INPUTS)), tf.float32)
    h = tf.constant(rng.normal(size=(5, UNITS)), tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, h])
        found, expected = cell(cell.project(x), h), oracle(x, h)[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    for source in (x, h):
        a, b = tape.gradient(found, source), tape.gradient(expected, source)
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_encoder_equals_keras_bidirectional_gru(jit):
    encoder = BidirectionalEncoder(UNITS, INPUTS)
    randomise(encoder)
    oracle = keras.layers.Bidirectional(
        keras.layers.GRU(UNITS, return_sequences=True, return_state=True)
    )
    oracle.build((None, None, INPUTS))
    oracle.set_weights(keras_weights(encoder.forward_cell) + keras_weights(encoder.backward_cell))
    inputs = tf.constant(np.random.default_rng(2).normal(size=(3, 6, INPUTS)), tf.float32)
    mask = tf.sequence_mask([6, 2, 4], 6)
    run = tf.function(lambda x, m: encoder(x, m), jit_compile=jit)
    values, last = run(inputs, mask)
    expected, _, expected_last = oracle(inputs, mask=mask)
    real = mask.numpy()
    np.testing.assert_allclose(values.numpy()[real], expected.numpy()[real], atol=1e-6)
    np.testing.assert_allclose(last, expected_last, atol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_scan_accumulates_and_can_be_differentiated(jit):
    @tf.function(jit_compile=jit)
    def cumulative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            state, (sums,) = scan(
                lambda slices, s: ([s[0] + slices[0]], [s[0] + slices[0]]), [x], [tf.zeros([2])]
            )
            loss = tf.reduce_sum(sums)
        return state[0], sums, tape.gradient(loss, x)

    x = tf.constant(np.arange(8.0).reshape(4, 2), tf.float32)
    last, sums, gradient = cumulative(x)
    np.testing.assert_allclose(sums, np.cumsum(x, axis=0))
    np.testing.assert_allclose(last, sums[-1])
    np.testing.assert_allclose(gradient, [[4, 4], [3, 3], [2, 2], [1, 1]])


def test_the_same_seed_gives_the_same_weights():
    first, same, other = (RNN(20, 20, 4, 4, 4, 4, seed=seed) for seed in (1, 1, 2))
    pairs = list(zip(first.trainable_variables, same.trainable_variables, strict=True))
    assert all(np.array_equal(a, b) for a, b in pairs)
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(first.trainable_variables, other.trainable_variables, strict=True)
    )


def test_variables_have_unique_stable_paths():
    first, second = RNN(20, 20, 4, 4, 4, 4), RNN(20, 20, 4, 4, 4, 4)
    paths = [v.path for v in first.variables]
    assert len(set(paths)) == len(paths)
    assert paths == [v.path for v in second.variables]


def test_a_row_of_padding_gives_no_nan():
    model = RNN(20, 20, 4, 4, 4, 4)
    source, target = tf.constant([[PAD, PAD], [5, 3]]), tf.constant([[PAD, PAD], [2, 6]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model((source, target)))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert np.isfinite(loss)
    assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in gradients)
