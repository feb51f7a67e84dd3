"""A penalty on activations that changes the gradient alone."""

from typing import Any

import tensorflow as tf


def penalise(activations: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return the activations; the loss gains the sum of weights / 2 * h^2, in its gradient alone.

    Args:
        activations: h, of a float dtype.
        weights: of the same dtype and a shape that broadcasts to that of the activations.
    """

    @tf.custom_gradient
    def unchanged(h: tf.Tensor) -> tuple[tf.Tensor, Any]:
        return tf.identity(h), lambda upstream: upstream + weights * h

    return unchanged(activations)
