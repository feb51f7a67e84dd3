"""Stochastic rounding to bfloat16."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused

_LOW = 16  # bits of a float32 that bfloat16 does not have
_GOLDEN = 0x9E3779B9  # 2^32 divided by the golden ratio


@fused
def round_stochastically(x: tf.Tensor, key_2: tf.Tensor) -> tf.Tensor:
    """Round to one of the two nearest bfloat16 numbers, at random, so that the mean is x.

    The nearer a neighbour is, the more probable it is: x between a < b becomes b with the
    probability (x - a) / (b - a) (Gupta et al. 2015, "Deep learning with limited numerical
    precision", section 3). So a sum of many small numbers is right on average, although each of
    them may be less than half the distance of a and b, which rounding to the nearest would lose.

    bfloat16 is the upper half of float32. A random number is added to the lower half, which is then
    cut off.

    Args:
        x: float32, of any shape.
        key_2: int32, two random numbers. The same key gives the same bits.
    """
    bits = tf.bitcast(x, tf.uint32) + tf.bitwise.right_shift(_random_bits(x, key_2), _u(_LOW))
    return tf.bitcast(tf.cast(tf.bitwise.right_shift(bits, _u(_LOW)), tf.uint16), tf.bfloat16)


def _random_bits(x: tf.Tensor, key_2: tf.Tensor) -> tf.Tensor:
    """Return a random uint32 number for each number of x.

    It is the final mix of MurmurHash3 (Appleby 2011) of the index and the key. Unlike Philox it is
    a few operations per number, which XLA computes where the number is used.
    """
    first, second = tf.unstack(tf.bitcast(key_2, tf.uint32))
    # XLA makes a range of int32, but not of uint32.
    index = tf.bitcast(tf.reshape(tf.range(tf.size(x)), tf.shape(x)), tf.uint32)
    mixed = index * _u(_GOLDEN) + first
    mixed = _xor_shifted(mixed, 16) * _u(0x85EBCA6B) + second
    return _xor_shifted(_xor_shifted(mixed, 13) * _u(0xC2B2AE35), 16)


def _xor_shifted(x: tf.Tensor, shift: int) -> tf.Tensor:
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, _u(shift)))


def _u(number: int) -> tf.Tensor:
    return tf.constant(number, tf.uint32)
