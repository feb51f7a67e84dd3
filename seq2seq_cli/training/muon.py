"""Muon: momentum whose matrices are made orthogonal."""

import math
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.orthogonal import orthogonalise
from seq2seq_cli.training.adam import Adam

_RMS = 0.2  # root mean square of a typical Adam update, in units of the learning rate


class Muon(Adam):
    """Muon for matrices (Jordan et al. 2024), Adam for all other weights.

        M = mu M + G
        W = W - rate * 0.2 sqrt(max(rows, columns)) orthogonal(G + mu M)

    With the factor of Liu et al. (2025), "Muon is scalable for LLM training", section 2.2, an
    update is about as large as one of Adam, so one learning rate suits all weights. If a weight
    holds several matrices side by side, such as those of a recurrent cell's gates, each is made
    orthogonal separately.

    Args:
        matrices: the number of matrices side by side in each weight that Muon updates, by the
            weight's path.
        momentum: mu.
        precision: dtype of the matrix products, float32 or bfloat16.
        kwargs: those of Adam.
    """

    def __init__(self, matrices: Mapping[str, int], momentum: float, precision: str, **kwargs: Any):
        super().__init__(**kwargs)
        self._matrices = dict(matrices)
        self._momentum = momentum
        self._precision = precision

    def build(self, variables: list[keras.Variable]) -> None:
        """See keras.optimizers.Optimizer.build. A matrix has no second moment."""
        if self.built:
            return
        keras.optimizers.Optimizer.build(self, variables)
        self._parts = [self._matrices.get(variable.path) for variable in variables]
        self._momentums = self.add_optimizer_variables(variables, "momentum")
        self._velocities = [
            None if parts else self.add_variable_from_reference(variable, name="velocity")
            for variable, parts in zip(variables, self._parts, strict=True)
        ]

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """See keras.optimizers.Optimizer.update_step."""
        index = self._get_variable_index(variable)
        parts = self._parts[index]
        if parts is None:
            super().update_step(gradient, variable, learning_rate)
            return
        state = self._momentums[index]
        momentum = self._momentum * self.read(state) + gradient
        self.store(state, momentum)
        rows, columns = variable.shape
        # (rows, parts, columns of a part) -> (parts, rows, columns of a part)
        shape = [rows, parts, columns // parts]
        ahead = tf.transpose(tf.reshape(gradient + self._momentum * momentum, shape), [1, 0, 2])
        direction = tf.transpose(orthogonalise(ahead, self._precision), [1, 0, 2])
        scale = _RMS * math.sqrt(max(rows, columns // parts))
        variable.assign_sub(learning_rate * scale * tf.reshape(direction, [rows, columns]))
