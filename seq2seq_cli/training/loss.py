"""The loss: cross-entropy with label smoothing."""

import tensorflow as tf

from seq2seq_cli.models.ops.cross_entropy import softmax_cross_entropy
from seq2seq_cli.special_tokens import PAD


def cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor, label_smoothing: float = 0.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sum the cross-entropy over all labels, of any rank, that are not PAD.

    Returns:
        The sum in nats, and the number of labels; both float32.
    """
    labels_X = tf.reshape(labels, [-1])
    logits_XV = tf.reshape(logits, [-1, logits.shape[-1]])
    losses_X = softmax_cross_entropy(logits_XV, labels_X, label_smoothing)
    real_X = tf.cast(tf.not_equal(labels_X, PAD), tf.float32)
    return tf.reduce_sum(losses_X * real_X), tf.reduce_sum(real_X)
