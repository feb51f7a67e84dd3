"""Adam that updates a weight and its moments in one pass over memory."""

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.adam import apply_adam


class Adam(keras.optimizers.Adam):
    """Keras' Adam (Kingma and Ba 2015), which updates a weight and its moments in one pass.

    The gradients must be dense.
    """

    def apply(self, grads: list, trainable_variables: list | None = None) -> None:
        """See keras.optimizers.Optimizer.apply."""
        steps = tf.cast(self.iterations + 1, tf.float32)  # once, instead of for each weight
        self._powers = self.beta_1**steps, self.beta_2**steps
        super().apply(grads, trainable_variables)

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """See keras.optimizers.Optimizer.update_step."""
        index = self._get_variable_index(variable)
        apply_adam(
            variable,
            (self._momentums[index].value, self._velocities[index].value),
            gradient,
            tf.cast(learning_rate, variable.dtype),
            (self.beta_1, self.beta_2),
            self._powers,
            self.epsilon,
        )
