"""Cross-entropy of logits, with a gradient that keeps and reads little."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused


def softmax_cross_entropy(
    logits_XV: tf.Tensor, labels_X: tf.Tensor, smoothing: float = 0.0
) -> tf.Tensor:
    """Return the cross-entropy of each label, float32, in nats.

    With label smoothing e the label's probability is 1 - e + e/V and every other's e/V (Szegedy et
    al. 2016, section 7).

    Args:
        logits_XV: of any float dtype, which is also that of their gradient.
        labels_X: int ids.
        smoothing: e, from 0 to below 1.
    """

    @tf.custom_gradient
    def losses(logits_XV: tf.Tensor) -> tuple:
        losses_X, logsumexp_X = _losses(logits_XV, labels_X, smoothing)

        def gradient(upstream_X: tf.Tensor) -> tf.Tensor:
            return _losses_gradient(logits_XV, labels_X, logsumexp_X, upstream_X, smoothing)

        return losses_X, gradient

    return losses(logits_XV)


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

    It halves the row again and again. XLA finds the larger of two numbers for many pairs at a time,
    but the maximum of a row one number after the other.
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
