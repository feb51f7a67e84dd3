"""Attention: a score for each pair of query and key, and one shared weighting of the values.

`AdditiveAttention` and `LuongAttention` are complete layers for any use. A decoder has one query
after another. It uses their parts `Score`, `attention_weights` and `attend`, so that it projects
the keys only once.
"""

from typing import Any, Literal

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.scores import AdditiveScore, Score, make_score
from seq2seq_cli.models.masks import CAUSAL, causal_mask
from seq2seq_cli.models.ops.products import batched_matmul, einsum
from seq2seq_cli.models.ops.softmax import masked_softmax


def attention_weights(scores_BTS: tf.Tensor, mask_BS: tf.Tensor | None = None) -> tf.Tensor:
    """Normalise scores over the source, in float32.

    Args:
        scores_BTS: scores of any float dtype; T may be absent.
        mask_BS: bool, False on padding; or mask_BTS, with a row for each query; or None for no
            mask.

    Returns:
        float32 weights of the shape of `scores_BTS`: 0 where the mask is False. Each row sums
        to 1. A row whose mask is all False gets zeros, not NaN.
    """
    if mask_BS is not None and mask_BS.shape.rank < scores_BTS.shape.rank:
        mask_BS = mask_BS[:, tf.newaxis, :]
    return masked_softmax(scores_BTS, mask_BS)


def attend(weights_BTS: tf.Tensor, values_BSD: tf.Tensor) -> tf.Tensor:
    """Return the weighted sum of the values, of shape BTD (BD for weights BS)."""
    weights = tf.cast(weights_BTS, values_BSD.dtype)
    if weights.shape.rank == 2:
        return einsum("bs,bsd->bd", weights, values_BSD)
    return batched_matmul(weights, values_BSD)


class AttentionLayer(keras.layers.Layer):
    """Attention by a score: weights = softmax(score(q, k)), context = sum of weights * values.

    Abstract: its subclasses choose the score.

    Args:
        score: scores queries against keys.
        dropout: a layer for the weights, such as keras.layers.Dropout(0.1), or None.
    """

    def __init__(self, score: Score, dropout: keras.layers.Layer | None = None, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.score = score
        self.dropout = dropout
        self.built = True

    def call(
        self,
        query: tf.Tensor,
        values_BSD: tf.Tensor,
        keys_BSD: tf.Tensor | None = None,
        mask_BS: tf.Tensor | None = None,
        causal: bool = False,
        query_mask: tf.Tensor | None = None,
        training: bool = False,
        return_weights: bool = True,
    ) -> Any:
        """Attend to the values.

        Args:
            query: one for each sentence (BD) or several (BTD), float32, float16 or bfloat16.
            values_BSD: the vectors whose weighted sum is the context.
            keys_BSD: in the query's dtype. Their width may differ from that of the values. None if
                the values are the keys.
            mask_BS: bool, False on padding; None for no mask.
            causal: hide the keys after position t from query t, as in self-attention.
            query_mask: bool, B or BT like the query; the context is 0 where it is False. None for
                no mask.
            training: whether to apply dropout. The returned weights are without dropout.
            return_weights: whether to return the weights, too.

        Returns:
            The context, BD or BTD, in the values' dtype and width. With `return_weights` also the
            weights, BS or BTS, in float32. Both are zero for a query that sees no key.

        Raises:
            ValueError: if `causal` is set for a single query, which has no position.
        """
        keys_BSD = values_BSD if keys_BSD is None else keys_BSD
        scores = self.score(query, self.score.project_keys(keys_BSD))
        mask = mask_BS
        if causal:
            if query.shape.rank != 3:
                raise ValueError(CAUSAL)
            mask = causal_mask(tf.shape(query)[1], tf.shape(keys_BSD)[1])[tf.newaxis]
            mask = mask if mask_BS is None else mask & mask_BS[:, tf.newaxis, :]
        weights = attention_weights(scores, mask)
        kept = weights if self.dropout is None else self.dropout(weights, training=training)
        context = attend(kept, values_BSD)
        if query_mask is not None:
            context *= tf.cast(query_mask, context.dtype)[..., tf.newaxis]
        return (context, weights) if return_weights else context


class ScoredAttention(AttentionLayer):
    """Attention with any score.

    Args:
        score: scores queries against keys.
        dropout: a layer for the weights, such as keras.layers.Dropout(0.1), or None.
    """


class AdditiveAttention(AttentionLayer):
    """Attention with the score v . tanh(Wq q + Wk k + b) of Bahdanau et al. (2015).

        attention = AdditiveAttention(units=128, query_units=256, key_units=512)
        context_BD, weights_BS = attention(query_BD, values_BSD, mask_BS=mask_BS)

    It equals keras.layers.AdditiveAttention with the inputs Wq q + b and Wk k.

    Args:
        units: width of the score's hidden layer.
        query_units: width of a query.
        key_units: width of a key.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        use_scale: whether v is learned; otherwise v is 1.
        dropout: a layer for the weights, such as keras.layers.Dropout(0.1), or None.
    """

    def __init__(
        self,
        units: int,
        query_units: int,
        key_units: int,
        seed: Any = None,
        use_scale: bool = True,
        dropout: keras.layers.Layer | None = None,
        **kwargs: Any,
    ):
        score = AdditiveScore(
            units, query_units, key_units, seed, use_scale=use_scale, name="score"
        )
        super().__init__(score, dropout, **kwargs)


class LuongAttention(AttentionLayer):
    """Global attention with a score of Luong et al. (2015), section 3.1, equation 7.

        dot      q . k
        general  q . W k
        concat   v . tanh(Wq q + Wk k)

    With a learned scale g, dot is g q . k, as in keras.layers.Attention, and concat is
    v . tanh(g (Wq q + Wk k)), where Keras has neither Wq and Wk nor a vector v.

        attention = LuongAttention("general", query_units=256, key_units=512)
        context_BD, weights_BS = attention(query_BD, values_BSD, mask_BS=mask_BS)

    Args:
        score: dot, general or concat.
        query_units: width of a query.
        key_units: width of a key; for `dot` that of a query.
        units: width of the hidden layer of `concat`; None for that of a query.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        use_scale: whether to learn g, which starts at 1. `general` has no g; its W includes the
            scale.
        dropout: a layer for the weights, such as keras.layers.Dropout(0.1), or None.

    Raises:
        ValueError: if the score is unknown, `dot` gets unequal widths, or `general` gets a scale.
    """

    def __init__(
        self,
        score: Literal["dot", "general", "concat"],
        query_units: int,
        key_units: int,
        units: int | None = None,
        seed: Any = None,
        use_scale: bool = False,
        dropout: keras.layers.Layer | None = None,
        **kwargs: Any,
    ):
        if score not in ("dot", "general", "concat"):
            raise ValueError(
                "Invalid value for score. Expected one of 'dot', 'general', 'concat'. "
                f"Received: {score!r}"
            )
        units = query_units if units is None else units
        made = make_score(score, units, query_units, key_units, seed, use_scale)
        super().__init__(made, dropout, **kwargs)
