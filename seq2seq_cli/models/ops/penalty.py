"""A penalty on activations that changes only the gradient."""

from typing import Any

import tensorflow as tf


def penalise(activations: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return the activations; add the sum of weights / 2 * h^2 to the loss, in its gradient only.

    Args:
        activations: h, of a float dtype.
        weights: of the same dtype and a shape that broadcasts to that of the activations.
    """

    @tf.custom_gradient
    def unchanged(h: tf.Tensor) -> tuple[tf.Tensor, Any]:
        return tf.identity(h), lambda upstream: upstream + weights * h

    return unchanged(activations)
