"""The papers' equations of training, in plain TensorFlow: loss, dropout and Adam.

Names, suffixes and "Fast" are those of `reference`.
"""

import math

import tensorflow as tf
from tensorflow import Tensor


def cross_entropy(
    logits_BTV: Tensor, labels_BT: Tensor, mask_BT: Tensor, epsilon: float = 0.0
) -> Tensor:
    """H(q', p) = -sum_k q'(k) log p(k), summed over all labels: Szegedy et al. (2016), section 7.

    p is the softmax of the logits. q'(k) is epsilon / V, plus 1 - epsilon if k is the label. The
    paper writes K for V. The mask is False on padding.
    Fast: ops.cross_entropy.softmax_cross_entropy.
    """
    vocabulary = logits_BTV.shape[-1]
    q_BTV = (1 - epsilon) * tf.one_hot(labels_BT, vocabulary) + epsilon / vocabulary
    losses_BT = -tf.reduce_sum(q_BTV * tf.nn.log_softmax(logits_BTV), axis=-1)
    return tf.reduce_sum(tf.where(mask_BT, losses_BT, 0))


def dropout(x: Tensor, kept: Tensor, rate: float) -> Tensor:
    """Return x * m / (1 - p): Srivastava et al. (2014), section 4, scaled as in section 10.

    m is `kept`, which is True with probability 1 - p, where p is the rate.
    Fast: regularisation.Dropout.
    """
    return x * tf.cast(kept, x.dtype) / (1 - rate)


def adam(
    theta: Tensor, m: Tensor, v: Tensor, g: Tensor, t: int, alpha: float, betas: tuple[float, float]
) -> tuple[Tensor, Tensor, Tensor]:
    """One update of Adam: Kingma and Ba (2015), algorithm 1, in section 2's order, without epsilon.

        m     = beta_1 m + (1 - beta_1) g
        v     = beta_2 v + (1 - beta_2) g^2
        theta = theta - alpha sqrt(1 - beta_2^t) / (1 - beta_1^t) m / sqrt(v)

    g is the gradient at update t, counted from 1. Returns theta, m and v.
    Fast: training.adam.Adam.
    """
    beta_1, beta_2 = betas
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g**2
    alpha_t = alpha * math.sqrt(1 - beta_2**t) / (1 - beta_1**t)
    return theta - alpha_t * m / tf.sqrt(v), m, v
