"""Products of matrices, in float32 or in a shorter dtype."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import tensorflow as tf

_DTYPE: ContextVar[tf.DType] = ContextVar("dtype of products", default=tf.float32)


@contextmanager
def products_in(dtype: str) -> Iterator[None]:
    """Compute the products of float32 tensors in `dtype`, where the block traces a graph.

    Only factors and the product are rounded to it: sums inside a product, and all that is no
    product (softmax, normalisation, loss, weights and their updates), stay float32.

    Args:
        dtype: float32 or bfloat16.
    """
    token = _DTYPE.set(tf.as_dtype(dtype))
    try:
        yield
    finally:
        _DTYPE.reset(token)


def matmul(a: tf.Tensor, b: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """Return what tf.matmul does, in its dtype; float32 is multiplied as `products_in` says."""
    dtype = _DTYPE.get()
    if dtype == tf.float32 or a.dtype != tf.float32:
        return tf.matmul(a, b, transpose_b=transpose_b)
    product = tf.matmul(tf.cast(a, dtype), tf.cast(b, dtype), transpose_b=transpose_b)
    return tf.cast(product, tf.float32)


def linear(inputs: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Return W x + b over the last axis of inputs of any rank, as one product of two matrices.

    A product of rank 3 with 2 would have a gradient of the kernel's size for each sentence.
    """
    inputs_units, units = kernel.shape
    outputs = matmul(tf.reshape(inputs, [-1, inputs_units]), kernel) + bias
    return tf.reshape(outputs, tf.concat([tf.shape(inputs)[:-1], [units]], axis=0))
