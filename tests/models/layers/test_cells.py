import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.layers.cells import CELLS, Cell, GRUCell, LSTMCell, UpperLayers, run_cell
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.scan import product

ORACLES = {
    "gru": lambda units, **options: keras.layers.GRU(units, reset_after=True, **options),
    "lstm": lambda units, **options: keras.layers.LSTM(units, **options),
}
SIZES = st.integers(1, 4)


def keras_weights(cell: Cell) -> list[np.ndarray]:
    bias = cell.bias.numpy()
    if isinstance(cell, GRUCell):
        bias = np.stack([bias, cell.recurrent_bias.numpy()])
    return [cell.kernel.numpy(), cell.recurrent_kernel.numpy(), bias]


def randomise(layer: keras.layers.Layer, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.5))


@pytest.mark.parametrize("kind", CELLS)
@settings(max_examples=10)
@given(SIZES, SIZES, SIZES, SIZES, st.integers(0, 2**31 - 1))
def test_run_equals_keras_forward_and_backward(kind, batch, length, inputs, units, seed):
    rng = np.random.default_rng(seed)
    cell, oracle = CELLS[kind](units, inputs), ORACLES[kind](units, return_sequences=True)
    randomise(cell, seed)
    oracle.build((None, None, inputs))
    oracle.set_weights(keras_weights(cell))
    x = tf.constant(rng.normal(size=(batch, length, inputs)), tf.float32)
    state = [tf.constant(rng.normal(size=(batch, units)), tf.float32) for _ in cell.state_names]
    towards = tf.constant(rng.normal(size=(batch, length, units)), tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, state])
        found, expected = run_cell(cell, x, state), oracle(x, initial_state=state)
        loss, expected_loss = tf.reduce_sum(found * towards), tf.reduce_sum(expected * towards)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    gradients = tape.gradient(loss, [x, *state, cell.kernel, cell.recurrent_kernel])
    kernels = [oracle.cell.kernel, oracle.cell.recurrent_kernel]
    expected_gradients = tape.gradient(expected_loss, [x, *state, *kernels])
    for a, b in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_gru_by_hand():
    cell = GRUCell(1, 1)
    cell.kernel.assign([[1.0, 2.0, 3.0]])
    cell.recurrent_kernel.assign([[0.5, -1.0, 2.0]])
    cell.bias.assign([0.0, 0.1, 0.2])
    cell.recurrent_bias.assign([0.0, 0.0, -0.5])
    (h,) = cell(cell.project(tf.constant([[0.5]])), [tf.constant([[0.4]])])
    # z = sigmoid(0.5 + 0.2) = 0.6681878, r = sigmoid(1.1 - 0.4) = 0.6681878
    # n = tanh(1.7 + r (0.8 - 0.5)) = tanh(1.9004563) = 0.9562765
    np.testing.assert_allclose(h, [[0.6681878 * 0.4 + 0.3318122 * 0.9562765]], rtol=1e-6)


def test_lstm_by_hand():
    cell = LSTMCell(1, 1)
    cell.kernel.assign([[1.0, 2.0, 3.0, -1.0]])
    cell.recurrent_kernel.assign([[0.5, -1.0, 2.0, 1.0]])
    cell.bias.assign([0.0, 0.1, 0.2, 0.0])
    state = [tf.constant([[0.4]]), tf.constant([[0.5]])]
    h, c = cell(cell.project(tf.constant([[0.5]])), state)
    # i = sigmoid(0.7) = 0.6681878, f = sigmoid(0.7) = 0.6681878, g = tanh(2.5) = 0.9866143,
    # o = sigmoid(-0.1) = 0.4750208
    expected = 0.6681878 * 0.5 + 0.6681878 * 0.9866143
    np.testing.assert_allclose(c, [[expected]], rtol=1e-6)
    np.testing.assert_allclose(h, [[0.4750208 * np.tanh(expected)]], rtol=1e-6)


def test_lstm_forgets_little_at_first():
    assert LSTMCell(2, 3).bias.numpy().tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


def upper_layers(layers: int, rate: float = 0.0, variational: bool = False) -> UpperLayers:
    key = DropoutKey()
    dropouts = [Dropout(rate, key, site, variational) for site in range(layers - 1)]
    upper = UpperLayers(LSTMCell, layers, 4, dropouts)
    randomise(upper)
    return upper


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_upper_layers_equal_stacked_keras_layers_with_residuals_from_the_third(layers):
    upper = upper_layers(layers)
    rng = np.random.default_rng(1)
    x = tf.constant(rng.normal(size=(3, 5, 4)), tf.float32)
    states = [tf.constant(rng.normal(size=(3, 4)), tf.float32) for _ in range(2 * (layers - 1))]
    expected = x
    for number, cell in enumerate(upper.cells, start=2):
        oracle = keras.layers.LSTM(4, return_sequences=True)
        oracle.build((None, None, 4))
        oracle.set_weights(keras_weights(cell))
        i = 2 * (number - 2)
        output = oracle(expected, initial_state=states[i : i + 2])
        expected = expected + output if number >= 3 else output
    np.testing.assert_allclose(upper.run(x, states, training=False), expected, atol=1e-5)


@pytest.mark.parametrize("variational", [False, True])
def test_stepping_with_masks_drops_what_a_run_drops(variational):
    upper = upper_layers(3, rate=0.5, variational=variational)
    x = tf.constant(np.random.default_rng(1).normal(size=(3, 5, 4)), tf.float32)
    states = [tf.zeros([3, 4])] * 4
    expected = upper.run(x, states, training=True)
    assert not np.allclose(expected, upper.run(x, states, training=False))
    masks = upper.masks(3, 5, training=True)
    for t in range(5):
        output, states = upper.step(x[:, t], states, [mask[t] for mask in masks])
        np.testing.assert_allclose(output, expected[:, t], atol=1e-5)


def test_a_step_multiplies_by_the_given_kernels_with_the_given_product():
    upper = upper_layers(3)
    kernels, multiplied = upper.kernels(), []

    def counted(equation, x, factor, parts=1):
        multiplied.append(id(factor))
        return product(equation, x, factor, parts)

    given = tf.ones([3, 4]), [tf.ones([3, 4])] * 4, []
    output, _ = upper.step(*given, kernels, counted)
    assert multiplied == [id(kernel) for kernel in kernels.values()]
    np.testing.assert_array_equal(output, upper.step(*given)[0])
