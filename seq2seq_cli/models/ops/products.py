"""Matrix products: `dense` with weights, `batched_matmul` of small matrices, and `einsum`.

`dense` and `einsum` multiply float32 tensors in the precision that `Compute` sets, and return the
dtype of their inputs.
"""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import current, fused


def dense(
    inputs: tf.Tensor,
    kernel: tf.Tensor,
    bias: tf.Tensor | None = None,
    relu: bool = False,
    transpose: bool = False,
) -> tf.Tensor:
    """Return x W + b over the last axis of inputs of any rank, like keras.layers.Dense.

    Args:
        inputs: x, of a float dtype, which is also the dtype of the result.
        kernel: W, of shape (inputs, outputs).
        bias: b, or None for no bias.
        relu: return max(0, x W + b).
        transpose: W has the shape (outputs, inputs), like a table of embeddings. Neither it nor its
            gradient is transposed in memory.
    """
    # As rows: a product of rank 3 with 2 would have a gradient of W's size for each sentence.
    rows = to_product_dtype(tf.reshape(inputs, [-1, inputs.shape[-1]]))
    outputs = tf.matmul(rows, tf.cast(kernel, rows.dtype), transpose_b=transpose)
    if bias is not None:
        outputs = _add_bias(outputs, tf.cast(bias, rows.dtype))
    if relu:
        outputs = _relu(outputs)
    units = kernel.shape[0 if transpose else 1]
    shape = tf.concat([tf.shape(inputs)[:-1], [units]], axis=0)
    return tf.cast(tf.reshape(outputs, shape), inputs.dtype)


def batched_matmul(a: tf.Tensor, b: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """Return the products of many small matrices, of rank 3 or more, in their own dtype.

    This is tf.matmul with another kernel of TensorFlow, which is several times faster on a CPU.
    """
    if a.dtype == tf.float16:  # which that kernel does not know
        return tf.matmul(a, b, transpose_b=transpose_b)
    return (_by_transposed if transpose_b else _by_plain)(a, b)


def grouped_matmul(a: tf.Tensor, b: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """Return the same as `batched_matmul`, but one matrix of b may serve several of a.

    Args:
        a: of shape BTI, or by heads BHTI.
        b: of shape BIJ, or by heads BGIJ, where G divides H: H / G adjacent heads share a matrix.
        transpose_b: b is BJI or BGJI.
    """
    heads, groups = a.shape[1], b.shape[1]
    if a.shape.rank == 3 or heads in (groups, None):
        return batched_matmul(a, b, transpose_b)
    batch, _, length, inner = tf.unstack(tf.shape(a))
    rows = tf.reshape(a, [batch, groups, heads // groups * length, inner])
    product = batched_matmul(rows, b, transpose_b)
    return tf.reshape(product, [batch, heads, length, tf.shape(product)[3]])


def einsum(equation: str, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Return the result of tf.einsum."""
    product = tf.einsum(equation, to_product_dtype(a), to_product_dtype(b))
    return tf.cast(product, a.dtype)


def to_product_dtype(factor: tf.Tensor) -> tf.Tensor:
    """Cast a float32 factor to the dtype in which it is multiplied.

    Products do this themselves. Calling it first does it once for many products.
    """
    return tf.cast(factor, product_dtype(factor.dtype))


def product_dtype(dtype: tf.DType) -> tf.DType:
    """Return the dtype in which factors of a dtype are multiplied."""
    return tf.as_dtype(current().precision) if dtype == tf.float32 else dtype


def column_sums(x: tf.Tensor) -> tf.Tensor:
    """Return the sums over all axes except the last."""
    if x.dtype == tf.float32:
        return tf.raw_ops.BiasAddGrad(out_backprop=x)  # faster than tf.reduce_sum
    # That would sum in the dtype itself, and lose most of some hundred rows; a product does not.
    rows = tf.reshape(x, [-1, x.shape[-1]])
    ones = tf.ones(tf.stack([1, tf.shape(rows)[0]]), x.dtype)
    return tf.squeeze(tf.matmul(ones, rows), 0)


@tf.custom_gradient
def _add_bias(rows: tf.Tensor, bias: tf.Tensor) -> tuple:
    return tf.nn.bias_add(rows, bias), lambda upstream: (upstream, column_sums(upstream))


@tf.custom_gradient
def _relu(x: tf.Tensor) -> tuple:
    outputs = tf.nn.relu(x)
    return outputs, lambda upstream: _relu_gradient(upstream, outputs)


@fused
def _relu_gradient(upstream: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    return tf.where(outputs > 0, upstream, 0)


def _batched(
    a: tf.Tensor, b: tf.Tensor, transpose_a: bool = False, transpose_b: bool = False
) -> tf.Tensor:
    return tf.raw_ops.BatchMatMulV3(x=a, y=b, Tout=a.dtype, adj_x=transpose_a, adj_y=transpose_b)


# TensorFlow's own gradients would use tf.matmul.
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
