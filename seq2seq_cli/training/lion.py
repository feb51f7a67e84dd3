"""Lion: the sign of a mean of gradients."""

import keras
import tensorflow as tf

from seq2seq_cli.training.stored_state import StoredState


class Lion(StoredState, keras.optimizers.Lion):
    """Keras' Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms").

    It moves each weight by the rate, in the direction of a mean of gradients:

        W = W - rate * sign(beta_1 M + (1 - beta_1) G)
        M = beta_2 M + (1 - beta_2) G
    """

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """See keras.optimizers.Optimizer.update_step."""
        state = self._momentums[self._get_variable_index(variable)]
        mean = self.read(state)
        ahead = mean * self.beta_1 + gradient * (1 - self.beta_1)
        variable.assign_sub(learning_rate * tf.sign(ahead))
        self.store(state, mean * self.beta_2 + gradient * (1 - self.beta_2))
