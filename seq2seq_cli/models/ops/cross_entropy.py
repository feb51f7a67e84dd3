"""Cross-entropy and divergence of logits, with gradients that need little memory."""

import tensorflow as tf

from seq2seq_cli.models.ops.compute import fused


def softmax_cross_entropy(
    logits_XV: tf.Tensor, labels_X: tf.Tensor, smoothing: float = 0.0
) -> tf.Tensor:
    """Return the cross-entropy of each label, float32, in nats.

    With label smoothing e, the probability of the label is 1 - e + e/V, and that of the others e/V
    (Szegedy et al. 2016, section 7).

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

    It halves the row repeatedly. XLA finds the larger of two numbers for many pairs at a time, but
    reduces a row number by number.
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
    # Otherwise a plain graph computes these when an update begins, and keeps them until now.
    with tf.control_dependencies([upstream_X]):
        labels_X = tf.identity(labels_X)
    is_right_XV = tf.range(vocabulary, dtype=labels_X.dtype) == labels_X[:, tf.newaxis]
    wanted_XV = tf.where(is_right_XV, 1 - smoothing, 0.0) + smoothing / vocabulary
    return tf.cast((probabilities_XV - wanted_XV) * upstream_X[:, tf.newaxis], logits_XV.dtype)


def symmetric_divergence(first_XV: tf.Tensor, second_XV: tf.Tensor) -> tf.Tensor:
    """Return KL(p || q) + KL(q || p) of the softmax of two rows of logits, float32, in nats.

    Args:
        first_XV: the logits of p, of any float dtype, which is also that of their gradient.
        second_XV: the logits of q, of the same dtype.
    """

    @tf.custom_gradient
    def divergence(first_XV: tf.Tensor, second_XV: tf.Tensor) -> tuple:
        of_first_X, of_second_X = _divergences(first_XV, second_XV)

        def gradient(upstream_X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return _divergence_gradients(first_XV, second_XV, of_first_X, of_second_X, upstream_X)

        return of_first_X + of_second_X, gradient

    return divergence(first_XV, second_XV)


@fused
def _divergences(first_XV: tf.Tensor, second_XV: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return KL(p || q) and KL(q || p)."""
    log_p_XV, log_q_XV = _log_softmax(first_XV), _log_softmax(second_XV)
    difference_XV = log_p_XV - log_q_XV
    of_first_X = tf.reduce_sum(tf.exp(log_p_XV) * difference_XV, axis=1)
    return of_first_X, -tf.reduce_sum(tf.exp(log_q_XV) * difference_XV, axis=1)


@fused
def _divergence_gradients(
    first_XV: tf.Tensor,
    second_XV: tf.Tensor,
    of_first_X: tf.Tensor,
    of_second_X: tf.Tensor,
    upstream_X: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the gradients of the sum of `_divergences`, in the dtype of the logits.

    With respect to the logits of p, the gradient of KL(p || q) is p (log p - log q - KL(p || q)),
    and that of KL(q || p) is p - q.
    """
    log_p_XV, log_q_XV = _log_softmax(first_XV), _log_softmax(second_XV)
    p_XV, q_XV, difference_XV = tf.exp(log_p_XV), tf.exp(log_q_XV), log_p_XV - log_q_XV
    upstream_X1 = upstream_X[:, tf.newaxis]
    by_first_XV = p_XV * (difference_XV - of_first_X[:, tf.newaxis]) + p_XV - q_XV
    by_second_XV = q_XV * (-difference_XV - of_second_X[:, tf.newaxis]) + q_XV - p_XV
    return (
        tf.cast(by_first_XV * upstream_X1, first_XV.dtype),
        tf.cast(by_second_XV * upstream_X1, second_XV.dtype),
    )


def _log_softmax(logits_XV: tf.Tensor) -> tf.Tensor:
    logits_XV = tf.cast(logits_XV, tf.float32)
    logits_XV = logits_XV - _maximum(logits_XV)[:, tf.newaxis]
    return logits_XV - tf.math.log(tf.reduce_sum(tf.exp(logits_XV), axis=1, keepdims=True))
