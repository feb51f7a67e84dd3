"""Adafactor: Adam with second moments of matrices that are stored as row and column means."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.training.stored_state import StoredState

_EPSILON = 1e-30
_DECAY = 0.8
_MOST_RMS = 1.0


class Adafactor(StoredState):
    """Adafactor of Shazeer and Stern (2018), algorithms 4 and 5, at the rate of the schedule.

        beta = 1 - t^-0.8
        R    = beta R + (1 - beta) mean over columns of (G^2 + 1e-30)
        C    = beta C + (1 - beta) mean over rows of (G^2 + 1e-30)
        U    = G / sqrt(R C / mean(R))
        W    = W - rate * U / max(1, RMS(U))

    A vector has a full second moment instead of R C / mean(R). The paper also multiplies the rate
    by RMS(W) and has its own schedule. Here the schedule gives the rate, as for Adam (Zhai et al.
    2022, "Scaling vision transformers", section 3.4).

    Args:
        kwargs: those of StoredState.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(learning_rate=0.001, **kwargs)

    def build(self, variables: list[keras.Variable]) -> None:
        """See keras.optimizers.Optimizer.build."""
        if self.built:
            return
        super().build(variables)
        self._moments = [self._moments_of(variable) for variable in variables]

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """See keras.optimizers.Optimizer.update_step."""
        step = tf.cast(self.iterations + 1, tf.float32)
        beta = 1 - step**-_DECAY
        square = gradient**2 + _EPSILON
        moments = self._moments[self._get_variable_index(variable)]
        axes: list[int | None] = [None] if len(moments) == 1 else [-1, -2]
        found = []
        for moment, axis in zip(moments, axes, strict=True):
            mean = square if axis is None else tf.reduce_mean(square, axis)
            found.append(beta * self.read(moment) + (1 - beta) * mean)
            self.store(moment, found[-1])
        if len(found) == 1:
            update = gradient * tf.math.rsqrt(found[0])
        else:
            rows, columns = found
            of_rows = tf.math.rsqrt(rows / tf.reduce_mean(rows))[:, tf.newaxis]
            update = gradient * of_rows * tf.math.rsqrt(columns)
        rms = tf.sqrt(tf.reduce_mean(update**2))
        variable.assign_sub(learning_rate / tf.maximum(1.0, rms / _MOST_RMS) * update)

    def _moments_of(self, variable: keras.Variable) -> list[keras.Variable]:
        """Return R and C of a matrix, or the full second moment of another weight."""
        shape, name = tuple(variable.shape), variable.path.replace("/", "_")
        if len(shape) != 2:
            return [self.add_variable_from_reference(variable, name="velocity")]
        return [
            self.add_variable(shape=(size,), dtype=variable.dtype, name=f"{name}_{of}")
            for size, of in zip(shape, ("rows", "columns"), strict=True)
        ]
