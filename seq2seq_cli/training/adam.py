"""Adam that updates a weight and its moments in one pass over memory."""

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.adam import adam_with_bfloat16_moments, apply_adam
from seq2seq_cli.training.stored_state import StoredState


class Adam(StoredState, keras.optimizers.Adam):
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
        states = self._momentums[index], self._velocities[index]
        moments = states[0].value, states[1].value
        rate = tf.cast(learning_rate, variable.dtype)
        settings = (self.beta_1, self.beta_2), self._powers, self.epsilon
        if self.states == "float32":
            apply_adam(variable, moments, gradient, rate, *settings)
            return
        keys_22 = tf.stack([self.key_of(state) for state in states])
        values = [tf.convert_to_tensor(x) for x in (variable, *moments)]
        found = adam_with_bfloat16_moments(
            values[0], (values[1], values[2]), gradient, rate, *settings, keys_22
        )
        for changed, value in zip((variable, *moments), found, strict=True):
            changed.assign(value)
