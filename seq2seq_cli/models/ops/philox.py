"""Random integers that are the same for the same key and counter."""

import tensorflow as tf


def random_integers(key: tf.Tensor, counter: list, shape: tf.Tensor | list[int]) -> tf.Tensor:
    """Return int32 random numbers of a shape, each of all 2^32 values equally likely.

    The generator is Philox (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
    Integers are the same in the kernels of XLA and of TensorFlow; floats are not.

    Args:
        key: int64, of one number.
        counter: two int32 numbers, the start of Philox's counter.
        shape: int32.
    """
    return tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=shape,
        key=tf.bitcast(key, tf.uint64),
        counter=tf.bitcast(tf.stack([[0, 0], counter]), tf.uint64),
        alg=tf.random.Algorithm.PHILOX.value,
        dtype=tf.int32,
    )
