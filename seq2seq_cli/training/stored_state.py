"""The dtype in which an optimizer stores its state."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.philox import random_integers
from seq2seq_cli.models.ops.stochastic_rounding import round_stochastically

_SITE = 1 << 21  # in Philox's counter; no dropout has this site


class StoredState(keras.optimizers.Optimizer):
    """An optimizer that computes in float32, and stores its state in float32 or bfloat16.

    bfloat16 has 8 significant bits. A mean that decays by beta_2 = 0.999 changes by less than half
    a unit of the last bit in most updates, so rounding to the nearest would stop it. The state is
    therefore rounded stochastically, which is right on average. The random numbers are a pure
    function of the seed, the number of the update, and the number of the state's variable. So a
    resumed run has the same bits, and so does each of several workers.

    Args:
        states: dtype of the stored state, float32 or bfloat16.
        seed: of the random numbers, below 2^31.
        kwargs: those of keras.optimizers.Optimizer.
    """

    def __init__(self, states: str = "float32", seed: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.states = states
        self._seed = seed
        self._numbers: dict[str, int] = {}

    def add_variable(self, *args: Any, **kwargs: Any) -> keras.Variable:
        """See keras.optimizers.Optimizer.add_variable."""
        variable = super().add_variable(*args, **{**kwargs, "dtype": self.states})
        self._numbers[variable.path] = len(self._numbers)
        return variable

    def apply(self, grads: list, trainable_variables: list | None = None) -> None:
        """See keras.optimizers.Optimizer.apply."""
        if self.states != "float32":
            key = tf.reshape(self._seed << 32 | tf.convert_to_tensor(self.iterations), [1])
            self._keys_N2 = random_integers(key, [0, _SITE], [len(self._numbers), 2])
        super().apply(grads, trainable_variables)

    def key_of(self, state: keras.Variable) -> tf.Tensor:
        """Return the key with which a variable of the state is rounded in this update."""
        return self._keys_N2[self._numbers[state.path]]

    def read(self, state: keras.Variable) -> tf.Tensor:
        """Return the values of a variable of the state, as float32."""
        return tf.cast(state.value, tf.float32)

    def store(self, state: keras.Variable, values: tf.Tensor) -> None:
        """Replace the values of a variable of the state, given as float32."""
        if self.states != "float32":
            values = round_stochastically(values, self.key_of(state))
        state.assign(values)
