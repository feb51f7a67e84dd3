"""Adam, a weight and its moments in one pass over memory."""

import keras
import tensorflow as tf


class Adam(keras.optimizers.Adam):
    """Keras' Adam (Kingma and Ba 2015), a weight and its moments updated in one pass over memory.

    It takes gradients that are dense.
    """

    def apply(self, grads: list, trainable_variables: list | None = None) -> None:
        """See keras.optimizers.Optimizer.apply."""
        steps = tf.cast(self.iterations + 1, tf.float32)  # once, and not for each weight
        self._powers = self.beta_1**steps, self.beta_2**steps
        super().apply(grads, trainable_variables)

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """See keras.optimizers.Optimizer.update_step."""
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=self._powers[0],
            beta2_power=self._powers[1],
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )
