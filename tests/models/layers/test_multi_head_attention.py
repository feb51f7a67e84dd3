import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.models.layers.multi_head_attention import (
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from seq2seq_cli.models.ops.cache import KeysValues

SHAPES = st.tuples(*(st.integers(1, 5) for _ in range(5)))


def random_mask(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """True for about two thirds, the first key among them."""
    mask = rng.random(shape) < 0.66
    mask[..., 0] = True
    return mask


def outputs_and_gradients(call, inputs: list[tf.Tensor]) -> tuple:
    """Call, and differentiate something that depends on every output differently."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = call(*inputs)
        size = tf.cast(tf.size(output), tf.float32)
        loss = tf.reduce_sum(output * tf.reshape(tf.sin(tf.range(size)), tf.shape(output)))
    return output, tape.gradient(loss, inputs)


def assert_same(found: tuple, expected: tuple) -> None:
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    for gradient, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*You are using a softmax over axis")  # of one key
@settings(max_examples=20)
@given(SHAPES, st.booleans(), st.integers(0, 2**31 - 1))
def test_scaled_dot_product_equals_keras_attention(shape, causal, seed):
    batch, queries, keys, units, value_units = shape
    rng = np.random.default_rng(seed)
    query, key, value = (
        tf.constant(rng.normal(size=(batch, *size)), tf.float32)
        for size in ((queries, units), (keys, units), (keys, value_units))
    )
    mask = tf.constant(random_mask(rng, batch, keys))
    oracle = keras.layers.Attention()  # which does not scale by itself

    def expected(q, k, v):
        q = q / np.sqrt(units).astype(np.float32)
        return oracle([q, v, k], mask=[None, mask], use_causal_mask=causal)

    def found(q, k, v):
        return scaled_dot_product_attention(q, k, v, mask, causal)[0]

    inputs = [query, key, value]
    assert_same(outputs_and_gradients(found, inputs), outputs_and_gradients(expected, inputs))


@settings(max_examples=20)
@given(SHAPES, st.integers(1, 3), st.integers(0, 2**31 - 1))
def test_scaled_dot_product_by_heads_equals_keras_ops(shape, heads, seed):
    batch, queries, keys, units, _ = shape
    rng = np.random.default_rng(seed)
    inputs = [
        tf.constant(rng.normal(size=(batch, heads, length, units)), tf.float32)
        for length in (queries, keys, keys)
    ]
    mask = tf.constant(random_mask(rng, batch, queries, keys))

    def expected(*tensors):
        by_length = (tf.transpose(x, [0, 2, 1, 3]) for x in tensors)
        output = keras.ops.dot_product_attention(*by_length, mask=mask[:, tf.newaxis])
        return tf.transpose(output, [0, 2, 1, 3])

    def found(*tensors):
        return scaled_dot_product_attention(*tensors, mask)[0]

    assert_same(outputs_and_gradients(found, inputs), outputs_and_gradients(expected, inputs))


@pytest.mark.filterwarnings("ignore:.*You are using a softmax over axis")  # of one key
@settings(max_examples=15)
@given(
    SHAPES,
    st.integers(1, 3),
    st.integers(1, 5),
    st.sampled_from(["self", "key is value", "all differ"]),
    st.booleans(),
    st.integers(0, 2**31 - 1),
)
def test_multi_head_equals_keras(shape, heads, query_units, what, causal, seed):
    batch, queries, keys, key_units, value_units = shape
    if what == "self":
        keys, key_units, value_units = queries, query_units, query_units
    elif what == "key is value":
        value_units = key_units
    width = 3
    rng = np.random.default_rng(seed)
    layer = MultiHeadAttention(heads * width, heads, query_units, key_units, value_units)
    oracle = keras.layers.MultiHeadAttention(heads, width)
    shapes = [(batch, queries, query_units), (batch, keys, key_units), (batch, keys, value_units)]
    oracle.build(shapes[0], shapes[2], shapes[1])
    weights = [rng.normal(size=w.shape, scale=0.5) for w in oracle.get_weights()]
    oracle.set_weights(weights)
    for variable, values in zip(layer.trainable_variables, weights, strict=True):
        variable.assign(values.reshape(variable.shape))
    mask = tf.constant(random_mask(rng, batch, queries, keys))
    query, key, value = (tf.constant(rng.normal(size=size), tf.float32) for size in shapes)
    distinct = {"self": [query], "key is value": [query, key], "all differ": [query, key, value]}

    def found(*tensors):
        return layer(*tensors, attention_mask=mask, causal=causal)[0]

    def expected(query, key=None, value=None):
        key = query if key is None else key
        value = key if value is None else value
        return oracle(query, value, key, attention_mask=mask, use_causal_mask=causal)

    inputs = distinct[what]
    assert_same(outputs_and_gradients(found, inputs), outputs_and_gradients(expected, inputs))


def test_scaled_dot_product_by_hand():
    query = tf.constant([[[1.0, 0.0, 2.0, 1.0]]])
    key = tf.constant([[[2.0, 5.0, 0.0, 0.0], [0.0, 1.0, 1.0, 2.0]]])
    value = tf.constant([[[10.0], [20.0]]])
    # scores 2/sqrt(4) = 1 and 4/sqrt(4) = 2; softmax(1, 2) = 0.2689414, 0.7310586
    outputs, weights = scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(weights, [[[0.2689414, 0.7310586]]], rtol=1e-6)
    np.testing.assert_allclose(outputs, [[[17.310586]]], rtol=1e-6)


def attention_inputs(seed: int = 0, dtype: tf.DType = tf.float32) -> list[tf.Tensor]:
    rng = np.random.default_rng(seed)
    return [tf.constant(rng.normal(size=(2, n, 8)), dtype) for n in (4, 5, 5)]


def test_a_single_query_equals_one_of_several():
    query, key, value = attention_inputs()
    mask = tf.sequence_mask([5, 3], 5)
    layer = MultiHeadAttention(8, 2, seed=0)
    for attention in (scaled_dot_product_attention, layer):
        outputs, weights = attention(query, key, value, mask)
        for t in range(4):
            output, weight = attention(query[:, t], key, value, mask)
            np.testing.assert_allclose(output, outputs[:, t], atol=1e-6)
            np.testing.assert_allclose(weight, weights[..., t, :], atol=1e-6)


def test_a_single_query_has_its_bias_but_no_position():
    query, key, value = attention_inputs()
    bias = tf.constant(np.random.default_rng(1).normal(size=(2, 4, 5)), tf.float32)
    outputs, weights = scaled_dot_product_attention(query, key, value, bias=bias)
    output, weight = scaled_dot_product_attention(query[:, 2], key, value, bias=bias[:, 2])
    np.testing.assert_allclose(output, outputs[:, 2], atol=1e-6)
    np.testing.assert_allclose(weight, weights[:, 2], atol=1e-6)
    with pytest.raises(ValueError, match="causal=True needs queries of shape BTD"):
        scaled_dot_product_attention(query[:, 2], key, value, causal=True)


@pytest.mark.parametrize("jit", [False, True])
def test_keys_that_are_all_masked_give_zeros_and_finite_gradients(jit):
    mask = tf.constant([[True] * 5, [False] * 5])

    @tf.function(jit_compile=jit)
    def run(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs, weights = scaled_dot_product_attention(*inputs, mask)
            loss = tf.reduce_sum(outputs**2)
        return outputs, weights, tape.gradient(loss, inputs)

    outputs, weights, gradients = run(*attention_inputs())
    assert (outputs[1].numpy() == 0).all()
    assert (weights[1].numpy() == 0).all()
    np.testing.assert_allclose(tf.reduce_sum(weights[0], -1), 1, atol=1e-6)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 5e-3), ("bfloat16", 5e-2)])
def test_half_precision_normalises_in_float32(dtype, tolerance):
    mask = tf.sequence_mask([5, 3], 5)
    exact, _ = scaled_dot_product_attention(*attention_inputs(), mask)
    outputs, weights = scaled_dot_product_attention(*attention_inputs(dtype=dtype), mask)
    assert (outputs.dtype, weights.dtype) == (tf.as_dtype(dtype), tf.float32)
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), 1, atol=1e-6)
    np.testing.assert_allclose(tf.cast(outputs, tf.float32), exact, atol=tolerance)

    layer = MultiHeadAttention(8, 2, seed=0, dtype=f"mixed_{dtype}")
    reference = MultiHeadAttention(8, 2, seed=0)
    outputs, weights = layer(*attention_inputs(dtype=dtype), attention_mask=mask)
    assert (outputs.dtype, weights.dtype) == (tf.as_dtype(dtype), tf.float32)
    exact, _ = reference(*attention_inputs(), attention_mask=mask)
    np.testing.assert_allclose(tf.cast(outputs, tf.float32), exact, atol=tolerance)


def test_a_cache_filled_step_by_step_equals_causal_attention():
    inputs = attention_inputs()[0]
    layer = MultiHeadAttention(8, 2, seed=0)
    outputs, weights = layer(inputs, causal=True)
    capacity = 6
    cache = KeysValues(*(tf.zeros([2, 2, capacity, 4]) for _ in range(2)))
    for t in range(4):
        query, new = layer.project_self(inputs[:, t : t + 1])
        cache = cache.write(new, tf.constant(t))
        mask = tf.range(capacity)[tf.newaxis] <= t
        output, weight = layer.combine(query, cache, mask)
        np.testing.assert_allclose(output[:, 0], outputs[:, t], atol=1e-6)
        np.testing.assert_allclose(weight[:, :, 0, :4], weights[:, :, t], atol=1e-6)


def test_weights_are_returned_as_they_were_before_dropout():
    query, key, value = attention_inputs()
    layer = MultiHeadAttention(8, 2, dropout=keras.layers.Dropout(0.5, seed=0), seed=0)
    outputs, weights = layer(query, key, value)
    dropped_outputs, dropped_weights = layer(query, key, value, training=True)
    np.testing.assert_allclose(dropped_weights, weights, atol=1e-6)
    assert not np.allclose(dropped_outputs, outputs, atol=1e-3)


def test_heads_that_do_not_divide_the_units_are_an_error():
    with pytest.raises(ValueError, match="heads must divide units. Received: heads=3, units=8"):
        MultiHeadAttention(8, 3)
