"""Layer and RMS normalisation, with gradients that keep and read little."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused
from seq2seq_cli.models.ops.products import column_sums

EPSILON = 1e-6  # Keras has 1e-3, which is too much for small vectors


def layer_norm(
    inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, dtype: tf.DType | None = None
) -> tf.Tensor:
    """Return gamma (x - mean) / sqrt(variance + EPSILON) + beta, over the last axis.

    The gradient is written by hand: an automatic gradient would store and read far more
    intermediate results.

    Args:
        inputs: x, of a float dtype.
        gamma: of the width of x.
        beta: of the width of x.
        dtype: of the result; None for that of the inputs.
    """

    @tf.custom_gradient
    def normalise(inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            dinputs, dgamma = _normalise_gradient(inputs, gamma, upstream)
            return dinputs, column_sums(dgamma), tf.cast(column_sums(upstream), beta.dtype)

        return _normalise(inputs, gamma, beta, dtype or inputs.dtype), gradient

    return normalise(inputs, gamma, beta)


def rms_norm(inputs: tf.Tensor, gamma: tf.Tensor, dtype: tf.DType | None = None) -> tf.Tensor:
    """Return gamma x / sqrt(mean(x^2) + EPSILON), over the last axis.

    For the arguments see `layer_norm`.
    """

    @tf.custom_gradient
    def normalise(inputs: tf.Tensor, gamma: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            dinputs, dgamma = _rms_gradient(inputs, gamma, upstream)
            return dinputs, column_sums(dgamma)

        return _rms_normalise(inputs, gamma, dtype or inputs.dtype), gradient

    return normalise(inputs, gamma)


@fused
def _rms_normalise(inputs: tf.Tensor, gamma: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(inputs * _rms_scale(inputs) * gamma, dtype)


@fused
def _rms_gradient(
    inputs: tf.Tensor, gamma: tf.Tensor, upstream: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return what `_normalise_gradient` does."""
    scale = _rms_scale(inputs)
    normal, upstream = inputs * scale, tf.cast(upstream, inputs.dtype)
    dnormal = upstream * gamma
    return scale * (dnormal - normal * _mean(dnormal * normal)), upstream * normal


def _rms_scale(inputs: tf.Tensor) -> tf.Tensor:
    return tf.math.rsqrt(_mean(tf.square(inputs)) + EPSILON)


@fused
def _normalise(inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(_normal(inputs)[0] * gamma + beta, dtype)


@fused
def _normalise_gradient(
    inputs: tf.Tensor, gamma: tf.Tensor, upstream: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the gradients of the inputs, and of gamma before it is summed over all positions."""
    normal, scale = _normal(inputs)
    upstream = tf.cast(upstream, inputs.dtype)
    dnormal = upstream * gamma
    share = _mean(dnormal * normal)
    dinputs = scale * (dnormal - _mean(dnormal) - normal * share)
    return dinputs, upstream * normal


def _normal(inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    centred = inputs - _mean(inputs)
    scale = tf.math.rsqrt(_mean(tf.square(centred)) + EPSILON)
    return centred * scale, scale


def _mean(x: tf.Tensor) -> tf.Tensor:
    """Return the mean over the last axis, which is kept."""
    if tf.config.get_visible_devices("GPU"):  # whose products may round to TF32
        return tf.reduce_mean(x, -1, keepdims=True)
    # XLA's product with a vector takes less time on a CPU than its sum.
    units = x.shape[-1]
    shares = tf.fill([units, 1], tf.constant(1 / units, x.dtype))
    means = tf.matmul(tf.reshape(x, [-1, units]), shares)
    return tf.reshape(means, tf.concat([tf.shape(x)[:-1], [1]], axis=0))
