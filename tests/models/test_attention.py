import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.models.attention import AdditiveScore, attend, attention_weights

SHAPES = st.tuples(*(st.integers(1, 5) for _ in range(5)))


@pytest.mark.filterwarnings("ignore:.*You are using a softmax over axis")  # of one key
@settings(max_examples=25, deadline=None)
@given(SHAPES, st.integers(0, 2**31 - 1))
def test_equals_keras_additive_attention(shape, seed):
    batch, queries, keys, units, value_units = shape
    rng = np.random.default_rng(seed)
    query = tf.constant(rng.normal(size=(batch, queries, units)), tf.float32)
    key = tf.constant(rng.normal(size=(batch, keys, units)), tf.float32)
    value = tf.constant(rng.normal(size=(batch, keys, value_units)), tf.float32)
    mask = rng.random((batch, keys)) < 0.6
    mask[:, 0] = True

    oracle = keras.layers.AdditiveAttention()
    expected, expected_weights = oracle(
        [query, value, key], mask=[None, tf.constant(mask)], return_attention_scores=True
    )
    # Keras has no projections of its own: identities here, and its scale as v.
    layer = AdditiveScore(units, units, units, seed=0)
    layer.query_kernel.assign(np.eye(units))
    layer.key_kernel.assign(np.eye(units))
    layer.scale.assign(oracle.scale.numpy()[:, None])
    weights = attention_weights(layer(query, layer.project_keys(key)), tf.constant(mask))

    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(attend(weights, value), expected, atol=1e-5)


def test_additive_score_by_hand():
    layer = AdditiveScore(2, 1, 1)
    layer.query_kernel.assign([[1.0, 0.0]])
    layer.key_kernel.assign([[0.0, 2.0]])
    layer.bias.assign([0.5, 0.0])
    layer.scale.assign([[3.0], [-1.0]])
    # 3 tanh(1*0.2 + 0.5) - tanh(2*0.4) = 3*0.6043678 - 0.6640368
    keys = layer.project_keys(tf.constant([[[0.4]]]))
    np.testing.assert_allclose(layer(tf.constant([[0.2]]), keys), [[1.1490666]], rtol=1e-6)


def test_one_query_gives_what_several_give():
    layer = AdditiveScore(4, 3, 5, seed=1)
    rng = np.random.default_rng(0)
    queries = tf.constant(rng.normal(size=(2, 6, 3)), tf.float32)
    keys = layer.project_keys(tf.constant(rng.normal(size=(2, 7, 5)), tf.float32))
    values = tf.constant(rng.normal(size=(2, 7, 8)), tf.float32)
    mask = tf.constant([[True] * 7, [True] * 4 + [False] * 3])
    together = attention_weights(layer(queries, keys), mask)
    for t in range(6):
        single = attention_weights(layer(queries[:, t], keys), mask)
        np.testing.assert_allclose(single, together[:, t], atol=1e-6)
        np.testing.assert_allclose(
            attend(single, values), attend(together, values)[:, t], atol=1e-6
        )


def test_padding_gets_no_weight_and_the_rest_sums_to_one():
    scores = tf.constant([[1e4, -1e4, 3.0], [0.0, 0.0, 0.0]])
    mask = tf.constant([[False, True, True], [True, True, False]])
    weights = attention_weights(scores, mask).numpy()
    np.testing.assert_allclose(weights, [[0, 0, 1], [0.5, 0.5, 0]], atol=1e-7)


def test_source_of_padding_alone_gives_zeros():
    weights = attention_weights(tf.constant([[1.0, 2.0]]), tf.constant([[False, False]]))
    np.testing.assert_array_equal(weights, [[0.0, 0.0]])


def test_weights_are_float32_whatever_the_scores():
    scores = tf.constant([[1.0, 2.0]], tf.bfloat16)
    assert attention_weights(scores, tf.constant([[True, True]])).dtype == tf.float32
