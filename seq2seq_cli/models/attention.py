"""Attention: a score for each pair of query and key, and one shared weighting of the values."""

from typing import Any

import keras
import tensorflow as tf


def attention_weights(scores_BTS: tf.Tensor, mask_BS: tf.Tensor) -> tf.Tensor:
    """Normalise scores over the source, in float32.

    Args:
        scores_BTS: scores of any float dtype; T may be absent.
        mask_BS: bool, False on padding.

    Returns:
        float32 weights of the shape of `scores_BTS`: 0 on the padding and in sum 1 elsewhere. A
        row whose source is all padding gets zeros, not NaN.
    """
    mask = mask_BS if scores_BTS.shape.rank == 2 else mask_BS[:, tf.newaxis, :]
    scores = tf.cast(scores_BTS, tf.float32)
    weights = tf.nn.softmax(tf.where(mask, scores, tf.float32.min))
    return tf.where(mask, weights, 0.0)


def attend(weights_BTS: tf.Tensor, values_BSD: tf.Tensor) -> tf.Tensor:
    """Return the weighted sum of the values, of shape BTD (BD for weights BS)."""
    weights = tf.cast(weights_BTS, values_BSD.dtype)
    if weights.shape.rank == 2:
        return tf.einsum("bs,bsd->bd", weights, values_BSD)
    return tf.matmul(weights, values_BSD)


class AdditiveScore(keras.layers.Layer):
    """score(q, k) = v . tanh(Wq q + Wk k + b).

    Bahdanau, Cho, Bengio (2015), "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2, where v, Wq, Wk are v_a, W_a, U_a, q is the previous decoder state
    s_{i-1} and k the annotation h_j.

    Args:
        units: width of the hidden layer.
        query_units: width of a query.
        key_units: width of a key.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self, units: int, query_units: int, key_units: int, seed: Any = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        glorot = keras.initializers.GlorotUniform(seed)
        self.query_kernel = self.add_weight((query_units, units), glorot, name="query_kernel")
        self.key_kernel = self.add_weight((key_units, units), glorot, name="key_kernel")
        self.bias = self.add_weight((units,), "zeros", name="bias")
        # Glorot for the column vector that it is: fan-in units, fan-out 1.
        self.scale = self.add_weight((units, 1), glorot, name="scale")
        self.built = True

    def project_keys(self, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Return Wk k + b, which need not be computed more than once for a source."""
        return tf.matmul(keys_BSD, self.key_kernel) + self.bias

    def call(self, query: tf.Tensor, projected_keys_BSD: tf.Tensor) -> tf.Tensor:
        """Score queries against projected keys.

        Args:
            query: a query a sentence (BD) or several (BTD).
            projected_keys_BSD: what `project_keys` returned.

        Returns:
            scores_BS, or scores_BTS for several queries.
        """
        projected_query = tf.matmul(query, self.query_kernel)
        return self.score_projected(projected_query, projected_keys_BSD)

    def score_projected(self, projected_query: tf.Tensor, keys_BSD: tf.Tensor) -> tf.Tensor:
        """Score queries that have been multiplied by Wq already."""
        if projected_query.shape.rank == 3:
            hidden = tf.tanh(projected_query[:, :, tf.newaxis, :] + keys_BSD[:, tf.newaxis, :, :])
        else:
            hidden = tf.tanh(projected_query[:, tf.newaxis, :] + keys_BSD)
        # Not tf.matmul: of rank 4 against 2, TensorFlow 2.21's oneDNN kernel corrupts memory.
        return tf.reduce_sum(hidden * tf.squeeze(self.scale, -1), axis=-1)
