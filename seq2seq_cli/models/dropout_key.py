"""The number from which all dropout masks of a training update follow."""

import tensorflow as tf


class DropoutKey:
    """The pair (seed, step) from which every dropout mask of a training update follows.

    The training loop sets it before each update, so a checkpoint needs nothing about dropout.

    Attributes:
        value: int64, of one number.
    """

    def __init__(self) -> None:
        self.value = tf.Variable([0], dtype=tf.int64, trainable=False, name="dropout_key")

    def set(self, seed: int, step: int) -> None:
        """Make the next masks those of `step` under `seed`, both below 2^31."""
        self.value.assign([seed << 32 | step])
