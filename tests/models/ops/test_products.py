from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.ops.products import batched_matmul, dense, einsum


def test_only_products_of_large_matrices_are_rounded():
    x, one = tf.constant([[[1 + 2**-12]]]), tf.ones([1, 1, 1])
    with computing(precision="bfloat16"):
        assert batched_matmul(x, one) == x
        assert dense(x, one[0]) == 1
        assert einsum("abc,acd->abd", x, one) == 1


@pytest.mark.parametrize("transpose", [False, True])
def test_a_product_of_many_rows_with_one_matrix_is_that_of_tensorflow(transpose):
    a = tf.random.stateless_normal([2, 3, 4], [1, 2])
    b = tf.random.stateless_normal([5, 4] if transpose else [4, 5], [3, 4])
    found = []
    for multiply in (
        partial(dense, transpose=transpose),
        partial(tf.matmul, transpose_b=transpose),
    ):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            c = multiply(a, b)
            loss = tf.reduce_sum(c * c)
        found.append([c, *tape.gradient(loss, [a, b])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def by_transposed_table(inputs, kernel, bias):
    return dense(inputs, tf.transpose(kernel), bias, transpose=True)


@pytest.mark.parametrize(
    ("apply", "activation"),
    [(dense, None), (partial(dense, relu=True), "relu"), (by_transposed_table, None)],
)
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-6), ("bfloat16", 0.01)])
def test_a_linear_map_and_its_gradients_equal_keras_dense(apply, activation, dtype, bound):
    inputs = tf.random.stateless_normal([30, 50, 8], [1, 2], mean=0.5)
    layer = keras.layers.Dense(6, activation=activation, bias_initializer="ones")
    layer.build(inputs.shape)
    kernel, bias = (tf.convert_to_tensor(weight) for weight in layer.trainable_variables)

    @tf.function
    def ours():
        with computing(precision=dtype):
            return apply(inputs, kernel, bias)

    found = []
    for compute in (ours, lambda: layer(inputs)):
        with tf.GradientTape() as tape:
            tape.watch([inputs, kernel, bias])
            outputs = compute()
            loss = tf.reduce_sum(tf.square(outputs))
        assert outputs.dtype == tf.float32
        variables = [kernel, bias] if compute is ours else layer.trainable_variables
        found.append([outputs, *tape.gradient(loss, [inputs, *variables])])
    for a, b in zip(*found, strict=True):
        assert tf.norm(a - b) <= bound * tf.norm(b)
