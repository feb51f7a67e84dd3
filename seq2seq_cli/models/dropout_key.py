"""The number that determines all dropout masks of an update."""

import tensorflow as tf


class DropoutKey:
    """The pair (seed, update) that determines every dropout mask of an update.

    The training loop sets it before each update, so a checkpoint stores nothing about dropout.

    Attributes:
        value: int64, both in one number.
    """

    def __init__(self) -> None:
        self.value = tf.Variable([0], dtype=tf.int64, trainable=False, name="dropout_key")

    def set(self, seed: int, step: int) -> None:
        """Make the next masks those of the update `step` with this seed, both below 2^31."""
        self.value.assign([seed << 32 | step])
