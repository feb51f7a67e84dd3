import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cells import ORACLES, SIZES, keras_weights, randomise

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.layers.cells import CELLS
from seq2seq_cli.models.layers.encoder import Encoder
from seq2seq_cli.models.layers.regularisation import Dropout


def make_encoder(kind, layers, units, inputs, bidirectional, rate=0.0, variational=False):
    key = DropoutKey()
    dropouts = [Dropout(rate, key, site, variational) for site in range(layers - 1)]
    sizes = {"encoder_layers": layers, "encoder_units": units, "embedding_units": inputs}
    encoder = Encoder(RNNConfig(cell=kind, bidirectional=bidirectional, **sizes), dropouts)
    randomise(encoder)
    return encoder


def stacked_keras_layers(encoder, kind, units):
    """Return the same layers of Keras as a function of inputs and mask."""
    oracles = []
    for layer in encoder.layers:
        cells = [layer.forward_cell, layer.backward_cell]
        oracle = ORACLES[kind](units, return_sequences=True, return_state=True)
        if layer.backward_cell is not None:
            oracle = keras.layers.Bidirectional(oracle)
        oracle.build((None, None, layer.forward_cell.kernel.shape[0]))
        oracle.set_weights([w for cell in cells if cell is not None for w in keras_weights(cell)])
        oracles.append(oracle)

    def run(x, mask):
        for number, oracle in enumerate(oracles, start=1):
            output, *states = oracle(x, mask=mask)
            x = output + x if number >= 3 else output
        return x, states[-len(encoder.layers[0].forward_cell.state_names) :]

    return run


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
@settings(max_examples=5)
@given(st.integers(1, 3), st.lists(st.integers(1, 5), min_size=1, max_size=4), SIZES, SIZES, SIZES)
@pytest.mark.few_cases(2)
def test_equals_keras_forward_and_backward(
    kind, bidirectional, layers, lengths, inputs, units, seed
):
    encoder = make_encoder(kind, layers, units, inputs, bidirectional)
    oracle = stacked_keras_layers(encoder, kind, units)
    rng = np.random.default_rng(seed)
    x = tf.constant(rng.normal(size=(len(lengths), max(lengths), inputs)), tf.float32)
    mask = tf.sequence_mask(lengths)
    real = tf.cast(mask, tf.float32)[:, :, tf.newaxis]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        values, last = encoder(x, mask)
        expected, expected_last = oracle(x, mask)
        loss, expected_loss = (tf.reduce_sum((v * real) ** 2) for v in (values, expected))
    np.testing.assert_allclose(values * real, expected * real, atol=1e-5)
    for a, b in zip(last, expected_last, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    gradient, expected_gradient = tape.gradient(loss, x), tape.gradient(expected_loss, x)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-5)


def test_compiled_by_xla_equals_keras():
    encoder = make_encoder("gru", 2, 4, 3, True)
    x = tf.constant(np.random.default_rng(2).normal(size=(3, 6, 3)), tf.float32)
    mask = tf.sequence_mask([6, 2, 4], 6)
    values, last = tf.function(lambda x, m: encoder(x, m), jit_compile=True)(x, mask)
    expected, expected_last = stacked_keras_layers(encoder, "gru", 4)(x, mask)
    real = mask.numpy()
    np.testing.assert_allclose(values.numpy()[real], expected.numpy()[real], atol=1e-5)
    np.testing.assert_allclose(last[0], expected_last[0], atol=1e-5)


def test_variational_dropout_keeps_its_units_at_all_positions():
    encoder = make_encoder("gru", 2, 8, 3, True, rate=0.5, variational=True)
    seen = []
    encoder.layers[1].call = lambda inputs, mask: (seen.append(inputs), (inputs, []))[1]
    encoder(tf.ones([2, 5, 3]), tf.ones([2, 5], tf.bool), training=True)
    dropped = seen[0].numpy() == 0
    assert dropped.any()
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[0] != dropped[1]).any()
