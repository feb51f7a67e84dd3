"""The loss: cross-entropy with label smoothing."""

import tensorflow as tf

from seq2seq_cli.models.ops.fusion import fused
from seq2seq_cli.special_tokens import PAD


def cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor, label_smoothing: float = 0.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sum the cross-entropy over all labels, of any rank, that are not PAD.

    With label smoothing e the label's probability is 1 - e + e/V and every other's e/V (Szegedy et
    al. 2016, section 7).

    Returns:
        The sum in nats, and the number of labels; both float32.
    """
    labels_X = tf.reshape(labels, [-1])
    real_X = tf.cast(tf.not_equal(labels_X, PAD), tf.float32)

    @tf.custom_gradient
    def losses(logits_XV: tf.Tensor) -> tuple:
        losses_X, logsumexp_X = _losses(logits_XV, labels_X, label_smoothing)

        def gradient(upstream_X: tf.Tensor) -> tf.Tensor:
            return _losses_gradient(logits_XV, labels_X, logsumexp_X, upstream_X, label_smoothing)

        return losses_X, gradient

    losses_X = losses(tf.reshape(logits, [-1, logits.shape[-1]]))
    return tf.reduce_sum(losses_X * real_X), tf.reduce_sum(real_X)


@fused
def _losses(
    logits_XV: tf.Tensor, labels_X: tf.Tensor, smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the cross-entropy of each label, and the logsumexp of the logits."""
    logits_XV = tf.cast(logits_XV, tf.float32)
    maximum_X = _maximum(logits_XV)
    sums_X = tf.reduce_sum(tf.exp(logits_XV - maximum_X[:, tf.newaxis]), axis=1)
    logsumexp_X = maximum_X + tf.math.log(sums_X)
    mean_X = tf.reduce_mean(logits_XV, axis=1)
    right_X = tf.gather(logits_XV, labels_X, batch_dims=1)
    # Over all V labels the mean cross-entropy is logsumexp(logits) - mean(logits).
    return logsumexp_X - (1 - smoothing) * right_X - smoothing * mean_X, logsumexp_X


def _maximum(logits_XV: tf.Tensor) -> tf.Tensor:
    """Return the maximum of each row.

    By the greater of two numbers, which XLA finds for many at a time; of a row it goes one by one.
    """
    while logits_XV.shape[1] > 64:
        half = (logits_XV.shape[1] + 1) // 2  # of an odd width the number in the middle is in both
        logits_XV = tf.maximum(logits_XV[:, :half], logits_XV[:, -half:])
    return tf.reduce_max(logits_XV, axis=1)


@fused
def _losses_gradient(
    logits_XV: tf.Tensor,
    labels_X: tf.Tensor,
    logsumexp_X: tf.Tensor,
    upstream_X: tf.Tensor,
    smoothing: float,
) -> tf.Tensor:
    """Return the gradient of `_losses` with respect to the logits, in their dtype."""
    probabilities_XV = tf.exp(tf.cast(logits_XV, tf.float32) - logsumexp_X[:, tf.newaxis])
    vocabulary = logits_XV.shape[1]
    is_right_XV = tf.range(vocabulary, dtype=labels_X.dtype) == labels_X[:, tf.newaxis]
    wanted_XV = tf.where(is_right_XV, 1 - smoothing, 0.0) + smoothing / vocabulary
    return tf.cast((probabilities_XV - wanted_XV) * upstream_X[:, tf.newaxis], logits_XV.dtype)


def non_padding_indices(labels_BT: tf.Tensor) -> tf.Tensor:
    """Return where the labels that are not PAD stand, and then some that are.

    Places are counted through all rows, int64. They are a multiple of 128, or all, so that what is
    compiled for each number of them is so seldom.
    """
    is_real = tf.reshape(tf.not_equal(labels_BT, PAD), [-1])
    places = tf.concat([tf.where(is_real), tf.where(~is_real)], axis=0)[:, 0]
    real = tf.reduce_sum(tf.cast(is_real, tf.int32))
    return places[: -(-real // 128) * 128]
