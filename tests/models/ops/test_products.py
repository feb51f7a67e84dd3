from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.ops.products import (
    Count,
    batched_matmul,
    counted,
    einsum,
    linear,
    linear_by_table,
    matmul,
    products_in,
)
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.transformer import Transformer


def operations(compute) -> int:
    count = Count()
    with counted(count):
        compute()
    return count.operations


def test_products_are_counted_by_multiplications_and_additions():
    a, b = tf.ones([7, 3, 4]), tf.ones([7, 4, 5])
    assert operations(lambda: matmul(a, b)) == 2 * 7 * 3 * 4 * 5
    assert operations(lambda: matmul(a, tf.ones([7, 6, 4]), transpose_b=True)) == 2 * 7 * 3 * 4 * 6
    assert operations(lambda: batched_matmul(a, b)) == 2 * 7 * 3 * 4 * 5
    assert operations(lambda: einsum("bij,bjk->bik", a, b)) == 2 * 7 * 3 * 4 * 5
    count = Count()
    with counted(count), counted(None):
        matmul(a, b)
    assert count.operations == 0


def test_products_of_small_matrices_are_not_rounded_and_others_are():
    x, one = tf.constant([[[1 + 2**-12]]]), tf.ones([1, 1, 1])
    with products_in("bfloat16"):
        assert batched_matmul(x, one) == x
        assert matmul(x, one) == 1
        assert einsum("abc,acd->abd", x, one) == 1


@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_product_of_many_rows_with_one_matrix_is_that_of_tensorflow(transpose_b):
    a = tf.random.stateless_normal([2, 3, 4], [1, 2])
    b = tf.random.stateless_normal([5, 4] if transpose_b else [4, 5], [3, 4])
    found = []
    for multiply in (matmul, tf.matmul):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            c = multiply(a, b, transpose_b=transpose_b)
            loss = tf.reduce_sum(c * c)
        found.append([c, *tape.gradient(loss, [a, b])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def by_transposed_table(inputs, kernel, bias):
    return linear_by_table(inputs, tf.transpose(kernel), bias)


@pytest.mark.parametrize(
    ("apply", "activation"),
    [(linear, None), (partial(linear, relu=True), "relu"), (by_transposed_table, None)],
)
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-6), ("bfloat16", 0.01)])
def test_a_linear_map_and_its_gradients_equal_keras_dense(apply, activation, dtype, bound):
    inputs = tf.random.stateless_normal([30, 50, 8], [1, 2], mean=0.5)
    dense = keras.layers.Dense(6, activation=activation, bias_initializer="ones")
    dense.build(inputs.shape)
    kernel, bias = (tf.convert_to_tensor(weight) for weight in dense.trainable_variables)

    @tf.function
    def ours():
        with products_in(dtype):
            return apply(inputs, kernel, bias)

    found = []
    for compute in (ours, lambda: dense(inputs)):
        with tf.GradientTape() as tape:
            tape.watch([inputs, kernel, bias])
            outputs = compute()
            loss = tf.reduce_sum(tf.square(outputs))
        assert outputs.dtype == tf.float32
        variables = [kernel, bias] if compute is ours else dense.trainable_variables
        found.append([outputs, *tape.gradient(loss, [inputs, *variables])])
    for a, b in zip(*found, strict=True):
        assert tf.norm(a - b) <= bound * tf.norm(b)


def test_the_operations_of_a_transformer():
    b, s, t, d, inner, v = 3, 5, 7, 8, 12, 20
    model = Transformer(
        v, v, units=d, heads=2, inner_units=inner, encoder_layers=1, decoder_layers=1
    )
    source, target = tf.ones([b, s], tf.int32), tf.ones([b, t], tf.int32)
    encoder = s * (4 * d * d + 2 * d * inner) + 2 * s * s * d
    decoder = t * (6 * d * d + 2 * d * inner) + 2 * s * d * d + 2 * t * (t + s) * d
    expected = 2 * b * (encoder + decoder + t * d * v)
    assert operations(lambda: model((source, target))) == expected


def test_the_operations_of_an_rnn():
    b, s, t, e, d, v = 3, 5, 7, 4, 6, 20
    model = RNN(v, v, e, d, 2 * d, 1, attention="dot", wiring="luong", input_feeding=False)
    source, target = tf.ones([b, s], tf.int32), tf.ones([b, t], tf.int32)
    encoder = 2 * s * (e + d) * 3 * d
    bridge = d * 2 * d
    decoder = t * (e + 2 * d) * 3 * 2 * d
    attention = 2 * s * t * 2 * d + (s + t) * 2 * d * 2 * d
    expected = 2 * b * (encoder + bridge + decoder + attention + t * 2 * d * v)
    assert operations(lambda: model((source, target))) == expected
