import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.layers.embeddings import Embeddings, Positions
from seq2seq_cli.models.layers.feed_forward import FeedForward
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.layers.residual import Residual
from seq2seq_cli.models.ops.layer_norm import EPSILON
from seq2seq_cli.models.ops.products import dense
from seq2seq_cli.vocabularies import Vocabularies


def randomised(layer: keras.layers.Layer) -> keras.layers.Layer:
    rng = np.random.default_rng(0)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.5))
    return layer


INPUTS = tf.constant(np.random.default_rng(1).normal(size=(2, 3, 4)), tf.float32)


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_equals_keras_layers(activation):
    layer = randomised(FeedForward(4, 6, activation))

    def dense(kernel, bias, activation=None):
        oracle = keras.layers.Dense(kernel.shape[1], activation=activation)
        oracle.build((None, kernel.shape[0]))
        oracle.set_weights([kernel.numpy(), bias.numpy()])
        return oracle

    # Keras' GELU is the exact one by default; swish is the name of the paper for its silu.
    function = "silu" if activation == "swiglu" else activation
    inner = dense(layer.inner_kernel, layer.inner_bias, function)(INPUTS)
    if activation == "swiglu":
        inner *= dense(layer.gate_kernel, layer.gate_bias)(INPUTS)
    expected = dense(layer.output_kernel, layer.output_bias)(inner)
    np.testing.assert_allclose(layer(INPUTS), expected, atol=1e-5)


def test_swiglu_by_hand():
    layer = FeedForward(1, 1, "swiglu")
    layer.inner_kernel.assign([[2.0]])
    layer.gate_kernel.assign([[3.0]])
    layer.output_kernel.assign([[1.0]])
    # swish(2) * 3 = 2 / (1 + exp(-2)) * 3 = 2 * 0.8807971 * 3
    np.testing.assert_allclose(layer(tf.constant([[[1.0]]])), [[[5.2847825]]], rtol=1e-6)


def test_sinusoids_by_hand():
    vectors = Positions("sinusoidal", 4, 0)(tf.constant([0, 9])).numpy()
    expected = [
        [np.sin(1), np.sin(1 / 10_000), np.cos(1), np.cos(1 / 10_000)],
        [np.sin(10), np.sin(10 / 10_000), np.cos(10), np.cos(10 / 10_000)],
    ]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_learned_positions_are_rows_of_a_table_and_later_ones_share_the_last():
    layer = Positions("learned", 4, 3, seed=0)
    vectors = layer(tf.constant([[0, 2, 3, 50]])).numpy()[0]
    np.testing.assert_array_equal(vectors, layer.table.numpy()[[0, 2, 2, 2]])


def test_only_embeddings_are_scaled_and_not_logits():
    layer = Embeddings(Vocabularies(5, 5), 4, tied=True, seed=0)
    table = layer.target_table.numpy()
    np.testing.assert_allclose(layer.embed_source(tf.constant([3])), table[[3]] * 2)
    hidden = INPUTS.numpy()
    layer.output_bias.assign(np.arange(5.0))
    for logits in (layer.logits(INPUTS), dense(INPUTS, *layer.logits_map())):
        np.testing.assert_allclose(logits, hidden @ table.T + np.arange(5), atol=1e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_residual_normalises_before_or_after(norm):
    layer = randomised(Residual(4, norm, Dropout(0.0, DropoutKey(), 0)))
    oracle = keras.layers.LayerNormalization(epsilon=EPSILON)
    oracle.build((None, 4))
    oracle.set_weights([w.numpy() for w in layer.trainable_variables])
    found, also = layer.around(lambda x: (3 * x, "also"), INPUTS, training=False)
    assert also == "also"
    expected = INPUTS + 3 * oracle(INPUTS) if norm == "pre" else oracle(INPUTS + 3 * INPUTS)
    np.testing.assert_allclose(found, expected, atol=1e-5)
