"""The exponential moving average of a model's weights."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import keras
import numpy as np
import tensorflow as tf


class AveragedWeight:
    """The average of one weight.

    Args:
        weight: the weight to average. The average starts from its value.

    Attributes:
        path, shape, dtype: the weight's.
    """

    def __init__(self, weight: keras.Variable):
        self.path = weight.path
        self.shape = weight.shape
        self.dtype = weight.dtype
        self._weight = weight
        self._average = tf.Variable(weight.numpy(), trainable=False)

    def numpy(self) -> np.ndarray:
        """Return the value."""
        return self._average.numpy()

    def assign(self, value: np.ndarray) -> None:
        """Replace the value."""
        self._average.assign(value)

    def update(self, rate: tf.Tensor) -> None:
        """Move the average towards the weight by a share of the distance."""
        self._average.assign_add(rate * (self._weight.value - self._average))

    def swap(self) -> None:
        """Exchange the values of the weight and of the average."""
        value = self._weight.numpy()
        self._weight.assign(self._average)
        self._average.assign(value)


class WeightAverage:
    """An exponential moving average of weights (Polyak and Juditsky 1992; here exponential).

        average_t = d average_{t-1} + (1 - d) weight_t       d = min(decay, (1 + t) / (10 + t))

    As in tf.train's ExponentialMovingAverage, d is smaller in early updates, so the average soon
    forgets the initial weights.

    Args:
        weights: the weights to average.
        decay: d of later updates, from 0 to below 1.

    Attributes:
        averages: one of each weight.
    """

    def __init__(self, weights: Sequence[keras.Variable], decay: float):
        self._decay = decay
        self.averages = [AveragedWeight(weight) for weight in weights]

    def update(self, updates: tf.Tensor) -> None:
        """Add the current weights to the average.

        Args:
            updates: the number that were made, the last included.
        """
        t = tf.cast(updates, tf.float32)
        rate = 1 - tf.minimum(self._decay, (1 + t) / (10 + t))
        for average in self.averages:
            average.update(rate)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Have the model use the averages in a block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for average in self.averages:
            average.swap()
