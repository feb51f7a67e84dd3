"""Attention: a score for each pair of query and key, and one shared weighting of the values.

`AdditiveAttention` and `LuongAttention` are whole layers, for any use. A model that asks step by
step takes their parts, a `Score`, `attention_weights` and `attend`, to project the keys but once.
"""

import functools
from collections.abc import Callable
from typing import Any, Literal

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.cache import KeysValues
from seq2seq_cli.models.layers.scores import AdditiveScore, Score, make_score, masked_softmax
from seq2seq_cli.models.ops.products import Affine, batched_matmul, einsum, linear, rounded


def attention_weights(scores_BTS: tf.Tensor, mask_BS: tf.Tensor | None = None) -> tf.Tensor:
    """Normalise scores over the source, in float32.

    Args:
        scores_BTS: scores of any float dtype; T may be absent.
        mask_BS: bool, False on padding; or a mask_BTS that says so for each query; or None.

    Returns:
        float32 weights of the shape of `scores_BTS`: 0 where the mask is False and in sum 1
        elsewhere. A row whose mask is all False gets zeros, not NaN.
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


class ScoredAttention(keras.layers.Layer):
    """Attention by a score: weights = softmax(score(q, k)), context = sum of weights * values.

    Args:
        score: scores queries against keys.
    """

    def __init__(self, score: Score, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.score = score
        self.built = True

    def call(
        self,
        query: tf.Tensor,
        values_BSD: tf.Tensor,
        keys_BSD: tf.Tensor | None = None,
        mask_BS: tf.Tensor | None = None,
        causal: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attend to the values.

        Args:
            query: a query a sentence (BD) or several (BTD), float32, float16 or bfloat16.
            values_BSD: what the context is a mean of.
            keys_BSD: what queries are scored against, in the query's dtype and maybe of another
                width than the values; None for the values themselves.
            mask_BS: bool, False on padding; None where there is none.
            causal: let query t see no key after place t, as in self-attention.

        Returns:
            The context, BD or BTD, in the values' dtype and width; and the weights, BS or BTS, in
            float32. A query that may see no key gets zeros for both.

        Raises:
            ValueError: if a single query without a place is to be causal.
        """
        keys_BSD = values_BSD if keys_BSD is None else keys_BSD
        scores = self.score(query, self.score.project_keys(keys_BSD))
        mask = mask_BS
        if causal:
            if query.shape.rank != 3:
                raise ValueError("causal=True needs queries of shape BTD, whose places are known")
            places_T, places_S = tf.range(tf.shape(query)[1]), tf.range(tf.shape(keys_BSD)[1])
            mask = (places_S <= places_T[:, tf.newaxis])[tf.newaxis]
            mask = mask if mask_BS is None else mask & mask_BS[:, tf.newaxis, :]
        weights = attention_weights(scores, mask)
        return attend(weights, values_BSD), weights


class AdditiveAttention(ScoredAttention):
    """Attention with the score v . tanh(Wq q + Wk k + b) of Bahdanau et al. (2015).

        attention = AdditiveAttention(units=128, query_units=256, key_units=512)
        context_BD, weights_BS = attention(query_BD, values_BSD, mask_BS=mask_BS)

    Args:
        units: width of the score's hidden layer.
        query_units: width of a query.
        key_units: width of a key.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self, units: int, query_units: int, key_units: int, seed: Any = None, **kwargs: Any
    ):
        score = AdditiveScore(units, query_units, key_units, seed, name="score")
        super().__init__(score, **kwargs)


class LuongAttention(ScoredAttention):
    """Global attention with a score of Luong et al. (2015), section 3.1, equation 7.

        dot      q . k
        general  q . W k
        concat   v . tanh(Wq q + Wk k)

        attention = LuongAttention("general", query_units=256, key_units=512)
        context_BD, weights_BS = attention(query_BD, values_BSD, mask_BS=mask_BS)

    Args:
        score: dot, general or concat.
        query_units: width of a query.
        key_units: width of a key; for `dot` that of a query.
        units: width of the hidden layer of `concat`; that of a query where not given.
        seed: an int or a keras.random.SeedGenerator for the initial weights.

    Raises:
        ValueError: if there is no such score, or `dot` is given unequal widths.
    """

    def __init__(
        self,
        score: Literal["dot", "general", "concat"],
        query_units: int,
        key_units: int,
        units: int | None = None,
        seed: Any = None,
        **kwargs: Any,
    ):
        if score not in ("dot", "general", "concat"):
            raise ValueError(
                "Invalid value for score. Expected one of 'dot', 'general', 'concat'. "
                f"Received: {score!r}"
            )
        units = query_units if units is None else units
        super().__init__(make_score(score, units, query_units, key_units, seed), **kwargs)


def scaled_dot_product_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    mask: tf.Tensor | None = None,
    causal: bool = False,
    dropout: Callable[[tf.Tensor], tf.Tensor] | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V.

    Vaswani et al. (2017), "Attention is all you need", equation 1; Q, K, V and d_k are `query`,
    `key`, `value` and the last axis of `query`. Scores are normalised in float32 whatever the dtype
    of the inputs.

    Args:
        query: queries_BTD, or one a sentence, BD; or by heads, BHTD or BHD.
        key: keys_BSD (BHSD by heads), as wide as the queries.
        value: values_BSD (BHSD by heads), of any width.
        mask: bool, False where a key shall not be seen: BS, as padding masks are, or BTS; where
            its B or T is 1 it counts for all. The same for all heads.
        causal: hide from query t all keys after the t-th.
        dropout: applied to the weights before they are used; the weights returned are without it.

    Returns:
        The outputs, of the query's shape but as wide as the values and of the values' dtype; and
        the float32 weights, BTS (BS, BHTS, BHS as the query is). Weights over keys that are all
        masked are 0, and so is the output.
    """
    if query.shape.rank < key.shape.rank:
        outputs, weights = scaled_dot_product_attention(
            tf.expand_dims(query, -2), key, value, mask, causal, dropout
        )
        return tf.squeeze(outputs, -2), tf.squeeze(weights, -2)
    # Scaling the queries costs less than scaling the scores where sentences are long.
    scores = batched_matmul(query * query.shape[-1] ** -0.5, key, transpose_b=True)
    weights = masked_softmax(scores, _scores_mask(scores, mask, causal))
    kept = weights if dropout is None else dropout(weights)
    return batched_matmul(tf.cast(kept, value.dtype), value), weights


def _scores_mask(scores: tf.Tensor, mask: tf.Tensor | None, causal: bool) -> tf.Tensor | None:
    """Bring a mask to the rank of `scores`, and join it with the causal one."""
    if mask is not None:
        mask = mask if mask.shape.rank == 3 else mask[:, tf.newaxis, :]
        mask = mask if scores.shape.rank == 3 else mask[:, tf.newaxis]
    if not causal:
        return mask
    queries, keys = tf.unstack(tf.shape(scores)[-2:])
    not_after = tf.range(queries)[:, tf.newaxis] >= tf.range(keys)
    return not_after if mask is None else tf.logical_and(mask, not_after)


class MultiHeadAttention(keras.layers.Layer):
    """Several attentions side by side, each over its own projection.

        MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
        head_i             = Attention(Q W_i^Q, K W_i^K, V W_i^V)

    Vaswani et al. (2017), section 3.2.2. The W_i^Q stand side by side in `query_kernel`, and so on;
    each projection has a bias; d_k = d_v = units / heads. Equal to keras.layers.MultiHeadAttention
    with key_dim = units / heads. What comes from the same inputs is projected in one product.

    Args:
        units: width of all heads together.
        heads: number of heads; divides `units`.
        query_units: width of the queries and of the outputs; None for `units`.
        key_units: width of the keys; None for `units`.
        value_units: width of the values; None for that of the keys.
        dropout: a layer for the weights, such as keras.layers.Dropout(0.1), or None.
        seed: an int or a keras.random.SeedGenerator for the initial weights.

    Raises:
        ValueError: if `heads` does not divide `units`.
    """

    def __init__(
        self,
        units: int,
        heads: int,
        query_units: int | None = None,
        key_units: int | None = None,
        value_units: int | None = None,
        dropout: keras.layers.Layer | None = None,
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if units % heads:
            raise ValueError(f"heads must divide units. Received: heads={heads}, units={units}")
        self.units = units
        self.heads = heads
        self.dropout = dropout
        query_units = query_units or units
        key_units = key_units or units
        glorot = keras.initializers.GlorotUniform(seed)

        def projection(inputs: int, outputs: int, name: str) -> tuple:
            kernel = self.add_weight((inputs, outputs), glorot, name=f"{name}_kernel")
            return kernel, self.add_weight((outputs,), "zeros", name=f"{name}_bias")

        self.query_kernel, self.query_bias = projection(query_units, units, "query")
        self.key_kernel, self.key_bias = projection(key_units, units, "key")
        self.value_kernel, self.value_bias = projection(value_units or key_units, units, "value")
        self.output_kernel, self.output_bias = projection(units, query_units, "output")
        self.built = True

    def call(
        self,
        query: tf.Tensor,
        key: tf.Tensor | None = None,
        value: tf.Tensor | None = None,
        attention_mask: tf.Tensor | None = None,
        causal: bool = False,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Let queries attend to keys and take in the values.

        Args:
            query: queries_BTD, or one a sentence, BD.
            key: keys_BSD; None for the queries themselves (self-attention, BTD only).
            value: values_BSD; None for the keys.
            attention_mask: the `mask` of `scaled_dot_product_attention`.
            causal: see there.
            training: whether to drop weights.

        Returns:
            The outputs, of the query's shape; and the float32 weights_BHTS (BHS for one query).
        """
        if query.shape.rank == 2:
            outputs, weights = self.call(
                query[:, tf.newaxis], key, value, attention_mask, causal, training
            )
            return tf.squeeze(outputs, 1), tf.squeeze(weights, 2)
        if key is None:
            query_BHTD, keys_values = self.project_self(query)
        else:
            query_BHTD = self.project_query(query)
            keys_values = self.project_keys_values(key, value)
        outputs, weights = self.combine(query_BHTD, keys_values, attention_mask, causal, training)
        return tf.cast(outputs, query.dtype), weights

    def project_self(self, inputs_BTD: tf.Tensor) -> tuple[tf.Tensor, KeysValues]:
        """Return query_BHTD, and keys and values of the same inputs."""
        query, keys, values = self._by_heads(inputs_BTD, "query", "key", "value")
        return query, KeysValues(keys, values)

    def project_query(self, query_BTD: tf.Tensor) -> tf.Tensor:
        """Return query_BHTD."""
        return self._by_heads(query_BTD, "query")[0]

    def project_keys_values(
        self, key_BSD: tf.Tensor, value_BSD: tf.Tensor | None = None
    ) -> KeysValues:
        """Return keys and values by heads, which need not be computed more than once."""
        if value_BSD is None:
            return KeysValues(*self._by_heads(key_BSD, "key", "value"))
        keys, values = self._by_heads(key_BSD, "key"), self._by_heads(value_BSD, "value")
        return KeysValues(keys[0], values[0])

    def combine(
        self,
        query_BHTD: tf.Tensor,
        keys_values: KeysValues,
        mask: tf.Tensor | None = None,
        causal: bool = False,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attend with what has been projected already, with the arguments of `call`.

        Returns:
            What `call` does, but the outputs in the dtype in which products give them.
        """
        dropout = None
        if self.dropout is not None:
            dropout = functools.partial(self.dropout, training=training)
        heads_BHTD, weights_BHTS = scaled_dot_product_attention(
            query_BHTD, *keys_values, mask, causal, dropout
        )
        heads_BTHD = tf.transpose(rounded(heads_BHTD), [0, 2, 1, 3])
        batch, length = tf.unstack(tf.shape(heads_BTHD)[:2])
        joined_BTD = tf.reshape(heads_BTHD, [batch, length, self.units])
        return linear(joined_BTD, self.output_kernel, self.output_bias), weights_BHTS

    def _by_heads(self, inputs_BTD: tf.Tensor, *names: str) -> list[tf.Tensor]:
        """Return the named projections, each BHTD, in one product."""
        batch, length = tf.unstack(tf.shape(inputs_BTD)[:2])
        shape = [batch, length, len(names), self.heads, self.units // self.heads]
        projected = tf.reshape(Affine.of(self, *names)(rounded(inputs_BTD)), shape)
        by_heads = tf.unstack(tf.transpose(projected, [2, 0, 3, 1, 4]))
        return [tf.cast(each_BHTD, self.compute_dtype) for each_BHTD in by_heads]
