"""The loss: cross-entropy with label smoothing, and the divergence of R-Drop."""

import tensorflow as tf

from seq2seq_cli.models.ops.cross_entropy import softmax_cross_entropy, symmetric_divergence
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


def divergence(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Sum the divergence of two predictions over all labels that are not PAD.

    It is KL(p || q) + KL(q || p): Liang et al. (2021), "R-Drop: regularized dropout for neural
    networks", equation 2, times 2.

    Args:
        logits: of both predictions, concatenated along the first axis.
        labels: of one prediction.

    Returns:
        The sum in nats, float32.
    """
    first_XV, second_XV = tf.split(tf.reshape(logits, [-1, logits.shape[-1]]), 2)
    real_X = tf.cast(tf.not_equal(tf.reshape(labels, [-1]), PAD), tf.float32)
    return tf.reduce_sum(symmetric_divergence(first_XV, second_XV) * real_X)
