"""Products of matrices, in float32 or in a shorter dtype; and how many operations they take."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.fusion import fused

_DTYPE: ContextVar[tf.DType] = ContextVar("dtype of products", default=tf.float32)
_COUNT: ContextVar["Count | None"] = ContextVar("count of operations", default=None)


@contextmanager
def products_in(dtype: str) -> Iterator[None]:
    """Compute the products of float32 tensors in `dtype`, where the block traces a graph.

    Only factors, the product and a bias added to it are rounded to it: sums inside a product, and
    all that is no product (softmax, normalisation, loss, weights and their updates), stay float32;
    and so do the products of `batched_matmul`.

    Args:
        dtype: float32 or bfloat16.
    """
    token = _DTYPE.set(tf.as_dtype(dtype))
    try:
        yield
    finally:
        _DTYPE.reset(token)


class Count:
    """Floating-point operations: a multiplication and an addition are two."""

    operations = 0


@contextmanager
def counted(count: "Count | None") -> Iterator[None]:
    """Add to `count` the operations of products in the block, which must run eagerly.

    None adds them to nothing.
    """
    token = _COUNT.set(count)
    try:
        yield
    finally:
        _COUNT.reset(token)


def matmul(a: tf.Tensor, b: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """Return what tf.matmul does, in its dtype; float32 is multiplied as `products_in` says."""
    if a.shape.rank > b.shape.rank == 2:
        # As rows, since the gradient of b would be of b's size for each of the matrices in a.
        rows = matmul(tf.reshape(a, [-1, a.shape[-1]]), b, transpose_b)
        return tf.reshape(rows, tf.concat([tf.shape(a)[:-1], tf.shape(rows)[-1:]], axis=0))
    _count_products(a, b.shape[-2 if transpose_b else -1])
    return _rounded(lambda a, b: tf.matmul(a, b, transpose_b=transpose_b), a, b)


def batched_matmul(a: tf.Tensor, b: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """Return the products of as many small matrices, of rank 3 or more, in their dtype.

    On a CPU this takes a fraction of tf.matmul's time.
    """
    _count_products(a, b.shape[-2 if transpose_b else -1])
    if a.dtype == tf.float16:  # of which the faster one knows nothing
        return tf.matmul(a, b, transpose_b=transpose_b)
    return (_by_transposed if transpose_b else _by_plain)(a, b)


def _batched(
    a: tf.Tensor, b: tf.Tensor, transpose_a: bool = False, transpose_b: bool = False
) -> tf.Tensor:
    return tf.raw_ops.BatchMatMulV3(x=a, y=b, Tout=a.dtype, adj_x=transpose_a, adj_y=transpose_b)


# TensorFlow's gradients would be of tf.matmul.
@tf.custom_gradient
def _by_plain(a: tf.Tensor, b: tf.Tensor) -> tuple:
    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return _batched(upstream, b, transpose_b=True), _batched(a, upstream, transpose_a=True)

    return _batched(a, b), gradient


@tf.custom_gradient
def _by_transposed(a: tf.Tensor, b: tf.Tensor) -> tuple:
    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return _batched(upstream, b), _batched(upstream, a, transpose_a=True)

    return _batched(a, b, transpose_b=True), gradient


def einsum(equation: str, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Return what tf.einsum does, in its dtype; float32 is multiplied as `products_in` says."""
    count = _COUNT.get()
    if count is not None:
        letters = equation.split("->")[0].split(",")
        sizes = dict(zip("".join(letters), [*a.shape, *b.shape], strict=True))
        count.operations += 2 * math.prod(sizes.values())
    return _rounded(lambda a, b: tf.einsum(equation, a, b), a, b)


def _count_products(a: tf.Tensor, columns: int) -> None:
    count = _COUNT.get()
    if count is not None:
        count.operations += 2 * math.prod(a.shape) * columns


def _rounded(
    multiply: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], a: tf.Tensor, b: tf.Tensor
) -> tf.Tensor:
    dtype = _DTYPE.get()
    if dtype == tf.float32 or a.dtype != tf.float32:
        return multiply(a, b)
    return tf.cast(multiply(tf.cast(a, dtype), tf.cast(b, dtype)), tf.float32)


def rounded(factor: tf.Tensor) -> tf.Tensor:
    """Return a factor as products take it, so that many with it round it once."""
    return tf.cast(factor, rounded_dtype(factor))


def rounded_dtype(factor: tf.Tensor) -> tf.DType:
    """Return the dtype in which products take a factor."""
    return _DTYPE.get() if factor.dtype == tf.float32 else factor.dtype


def linear(inputs: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor, relu: bool = False) -> tf.Tensor:
    """Return W x + b, or max(0, W x + b), over the last axis of inputs of any rank.

    The result has the dtype of `inputs`. As one operation in a shorter dtype, all is rounded once.
    """
    return _by_rows(_rectified_rows if relu else _linear_rows, inputs, kernel, bias)


def linear_by_table(inputs: tf.Tensor, table: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Return what `linear` does with the transposed table, whose rows embed ids.

    Neither the table nor its gradient is transposed in memory.
    """
    return _by_rows(_table_rows, inputs, table, bias)


def _by_rows(apply: Callable, inputs: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    units = bias.shape[0]
    # A product of rank 3 with 2 would have a gradient of the kernel's size for each sentence.
    rows = rounded(tf.reshape(inputs, [-1, inputs.shape[-1]]))
    _count_products(rows, units)
    outputs = apply(rows, tf.cast(kernel, rows.dtype), tf.cast(bias, rows.dtype))
    shape = tf.concat([tf.shape(inputs)[:-1], [units]], axis=0)
    return tf.cast(tf.reshape(outputs, shape), inputs.dtype)


@tf.custom_gradient
def _linear_rows(inputs: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tuple:
    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return _linear_gradient(inputs, kernel, upstream)

    return tf.nn.bias_add(tf.matmul(inputs, kernel), bias), gradient


@tf.custom_gradient
def _table_rows(inputs: tf.Tensor, table: tf.Tensor, bias: tf.Tensor) -> tuple:
    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return (
            tf.matmul(upstream, table),
            tf.matmul(upstream, inputs, transpose_a=True),
            column_sums(upstream),
        )

    return tf.nn.bias_add(tf.matmul(inputs, table, transpose_b=True), bias), gradient


@tf.custom_gradient
def _rectified_rows(inputs: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tuple:
    outputs = tf.nn.relu(tf.nn.bias_add(tf.matmul(inputs, kernel), bias))

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return _linear_gradient(inputs, kernel, _relu_gradient(upstream, outputs))

    return outputs, gradient


@fused
def _relu_gradient(upstream: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    return tf.where(outputs > 0, upstream, 0)


def _linear_gradient(
    inputs: tf.Tensor, kernel: tf.Tensor, upstream: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the gradients of W x + b: of x, W and b."""
    return (
        tf.matmul(upstream, kernel, transpose_b=True),
        tf.matmul(inputs, upstream, transpose_a=True),
        column_sums(upstream),
    )


def column_sums(x: tf.Tensor) -> tf.Tensor:
    """Return the sums over all axes but the last."""
    if x.dtype == tf.float32:
        return tf.raw_ops.BiasAddGrad(out_backprop=x)  # faster than tf.reduce_sum
    # That would sum in the dtype itself, and lose most of some hundred rows; a product does not.
    rows = tf.reshape(x, [-1, x.shape[-1]])
    ones = tf.ones(tf.stack([1, tf.shape(rows)[0]]), x.dtype)
    return tf.squeeze(tf.matmul(ones, rows), 0)


class Affine(NamedTuple):
    """W x + b of weights that are read, joined and rounded once for many inputs.

    kernel, bias: W and b, as `rounded` gives them.
    """

    kernel: tf.Tensor
    bias: tf.Tensor

    @classmethod
    def of(cls, layer: keras.layers.Layer, *names: str) -> "Affine":
        """Join a layer's weights NAME_kernel and NAME_bias, so that outputs stand side by side."""
        kernels = [getattr(layer, f"{name}_kernel") for name in names]
        biases = [getattr(layer, f"{name}_bias") for name in names]
        return cls(rounded(tf.concat(kernels, axis=1)), rounded(tf.concat(biases, axis=0)))

    def __call__(self, inputs: tf.Tensor, relu: bool = False) -> tf.Tensor:
        """Return the outputs; see `linear`."""
        return linear(inputs, self.kernel, self.bias, relu)


class Linear(keras.layers.Layer):
    """W x + b, over the last axis of inputs of any rank.

    Args:
        units: width of the outputs.
        input_units: width of the inputs.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        glorot = keras.initializers.GlorotUniform(seed)
        self.kernel = self.add_weight((input_units, units), glorot, name="kernel")
        self.bias = self.add_weight((units,), "zeros", name="bias")
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the outputs."""
        return linear(inputs, self.kernel, self.bias)
