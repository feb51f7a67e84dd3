"""Dropout with random bytes, alone or fused with the sum that it enters."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused
from seq2seq_cli.models.ops.philox import random_integers

BYTES = 256  # different random bytes


def bytes_of(rate: float) -> int:
    """Return how many of the 256 bytes drop a value: at least one, except for a rate of 0."""
    return min(max(round(BYTES * rate), 1), BYTES - 1) if rate else 0


def dropout(inputs: tf.Tensor, bytes_: tf.Tensor, dropped: int) -> tf.Tensor:
    """Return 0 where a byte is below `dropped`, elsewhere the inputs times 256 / (256 - dropped).

    Args:
        inputs: of a float dtype.
        bytes_: uint8, of a shape that broadcasts to that of the inputs.
        dropped: from 1 to 255.
    """
    scaled = inputs * tf.cast(BYTES / (BYTES - dropped), inputs.dtype)
    return tf.where(bytes_ >= dropped, scaled, 0)


def add_dropout(x: tf.Tensor, inputs: tf.Tensor, bytes_: tf.Tensor, dropped: int) -> tf.Tensor:
    """Return x + dropout(inputs), in the dtype of x, which may differ from that of the inputs."""

    @tf.custom_gradient
    def add(x: tf.Tensor, inputs: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return upstream, _drop(upstream, bytes_, dropped, inputs.dtype)

        return _add_dropped(x, inputs, bytes_, dropped), gradient

    return add(x, inputs)


def random_bytes(key: tf.Tensor, counter: list, shape: tf.Tensor) -> tf.Tensor:
    """Return uint8 random bytes of a shape, which are the same for the same key and counter.

    A value has one byte, because generating them takes a noticeable part of an update.

    Args:
        key: int64, of one number.
        counter: two int32 numbers, the start of Philox's counter.
        shape: int32.
    """
    size = tf.reduce_prod(shape)
    integers = random_integers(key, counter, (size[tf.newaxis] + 3) // 4)
    bytes_ = tf.reshape(tf.bitcast(integers, tf.uint8), [-1])
    return tf.reshape(bytes_[:size], shape)  # tf.slice of bytes has no kernel for GPUs


@fused
def _drop(inputs: tf.Tensor, bytes_: tf.Tensor, dropped: int, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(dropout(inputs, bytes_, dropped), dtype)


@fused
def _add_dropped(x: tf.Tensor, inputs: tf.Tensor, bytes_: tf.Tensor, dropped: int) -> tf.Tensor:
    return x + _drop(tf.cast(inputs, x.dtype), bytes_, dropped, x.dtype)
