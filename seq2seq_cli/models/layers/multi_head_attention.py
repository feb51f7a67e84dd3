"""Scaled dot-product attention, and multi-head attention."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.linear import add_affine, joined
from seq2seq_cli.models.masks import CAUSAL, causal_mask
from seq2seq_cli.models.ops.cache import KeysValues
from seq2seq_cli.models.ops.products import dense, grouped_matmul, to_product_dtype
from seq2seq_cli.models.ops.softmax import masked_softmax


def scaled_dot_product_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    mask: tf.Tensor | None = None,
    causal: bool = False,
    dropout: Callable[[tf.Tensor], tf.Tensor] | None = None,
    bias: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V.

    Vaswani et al. (2017), "Attention is all you need", equation 1; Q, K, V and d_k are `query`,
    `key`, `value` and the last axis of `query`. Scores are normalised in float32 for inputs of
    any dtype.

    Args:
        query: queries_BTD, or BD for one per sentence; by heads, BHTD or BHD.
        key: keys_BSD (BHSD by heads), as wide as the queries. Keys and values may have fewer heads
            than queries; each of them serves a group of query heads.
        value: values_BSD (BHSD by heads), of any width.
        mask: bool, False for keys that must not be seen: BS, like padding masks, or BTS. B and T
            may be 1. It is the same for all heads.
        causal: hide from query t all keys after the t-th.
        dropout: applied to the weights before they are used, but not to the returned weights.
        bias: float32, added to the scores; it broadcasts to their shape.

    Raises:
        ValueError: if `causal` is set for one query per sentence.

    Returns:
        The outputs, of the query's shape but as wide as the values and of the values' dtype; and
        the float32 weights, BTS (BS, BHTS, BHS as the query is). Weights over keys that are all
        masked are 0, and so is the output.
    """
    if query.shape.rank < key.shape.rank:
        if causal:
            raise ValueError(CAUSAL)
        outputs, weights = scaled_dot_product_attention(
            tf.expand_dims(query, -2),
            key,
            value,
            mask,
            dropout=dropout,
            bias=None if bias is None else tf.expand_dims(bias, -2),
        )
        return tf.squeeze(outputs, -2), tf.squeeze(weights, -2)
    # Scaling the queries costs less than scaling the scores where sentences are long.
    scores = grouped_matmul(query * query.shape[-1] ** -0.5, key, transpose_b=True)
    if bias is not None:
        scores = tf.cast(scores, tf.float32) + bias
    weights = masked_softmax(scores, _scores_mask(scores, mask, causal))
    kept = weights if dropout is None else dropout(weights)
    return grouped_matmul(tf.cast(kept, value.dtype), value), weights


def _scores_mask(scores: tf.Tensor, mask: tf.Tensor | None, causal: bool) -> tf.Tensor | None:
    """Give a mask the rank of `scores`, and combine it with the causal mask."""
    if mask is not None:
        mask = mask if mask.shape.rank == 3 else mask[:, tf.newaxis, :]
        mask = mask if scores.shape.rank == 3 else mask[:, tf.newaxis]
    if not causal:
        return mask
    not_after = causal_mask(*tf.unstack(tf.shape(scores)[-2:]))
    return not_after if mask is None else tf.logical_and(mask, not_after)


class MultiHeadAttention(keras.layers.Layer):
    """Several attentions in parallel, each with its own projections.

        MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
        head_i             = Attention(Q W_i^Q, K W_i^K, V W_i^V)

    Vaswani et al. (2017), section 3.2.2. `query_kernel` holds the W_i^Q side by side, and so on;
    each projection has a bias; d_k = d_v = units / heads. Equal to keras.layers.MultiHeadAttention
    with key_dim = units / heads. One product projects the same inputs for several purposes.

    With fewer heads of keys and values, W_i^K and W_i^V are shared by groups of heads:
    grouped-query attention (Ainslie et al. 2023, "GQA: training generalized multi-query Transformer
    models from multi-head checkpoints", section 2.2), equal to keras.layers.GroupQueryAttention;
    with one, multi-query attention (Shazeer 2019). The cache is smaller by the same factor.

    Args:
        units: width of all heads together.
        heads: number of heads; divides `units`.
        query_units: width of the queries and of the outputs; None for `units`.
        key_units: width of the keys; None for `units`.
        value_units: width of the values; None for that of the keys.
        dropout: a layer for the weights, such as keras.layers.Dropout(0.1), or None.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        key_value_heads: number of heads of keys and values; divides `heads`. None for `heads`.

    Raises:
        ValueError: if `heads` does not divide `units`, or `key_value_heads` does not divide
            `heads`.
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
        key_value_heads: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if units % heads:
            raise ValueError(f"heads must divide units. Received: heads={heads}, units={units}")
        self.key_value_heads = key_value_heads or heads
        if heads % self.key_value_heads:
            raise ValueError(
                "key_value_heads must divide heads. Received: "
                f"key_value_heads={key_value_heads}, heads={heads}"
            )
        self.units = units
        self.heads = heads
        key_value_units = units // heads * self.key_value_heads
        self.dropout = dropout
        query_units = query_units or units
        key_units = key_units or units
        value_units = value_units or key_units
        self.query_map = self.query_kernel, self.query_bias = add_affine(
            self, units, query_units, seed, "query_"
        )
        self.key_map = self.key_kernel, self.key_bias = add_affine(
            self, key_value_units, key_units, seed, "key_"
        )
        self.value_map = self.value_kernel, self.value_bias = add_affine(
            self, key_value_units, value_units, seed, "value_"
        )
        self.output_map = self.output_kernel, self.output_bias = add_affine(
            self, query_units, units, seed, "output_"
        )
        self.built = True

    def joined_matrices(self) -> dict[str, int]:
        """See Seq2Seq.joined_matrices. Each head has its own W_i^Q, W_i^K and W_i^V."""
        return {
            self.query_kernel.path: self.heads,
            self.key_kernel.path: self.key_value_heads,
            self.value_kernel.path: self.key_value_heads,
        }

    def call(
        self,
        query: tf.Tensor,
        key: tf.Tensor | None = None,
        value: tf.Tensor | None = None,
        attention_mask: tf.Tensor | None = None,
        causal: bool = False,
        training: bool = False,
        query_mask: tf.Tensor | None = None,
        return_weights: bool = True,
    ) -> Any:
        """Attend: return the weighted sums of the values.

        Args:
            query: queries_BTD, or BD for one per sentence.
            key: keys_BSD; None for the queries themselves (self-attention, BTD only).
            value: values_BSD; None for the keys.
            attention_mask: the `mask` of `scaled_dot_product_attention`.
            causal: see there.
            training: whether to apply dropout to the weights.
            query_mask: bool, B or BT like the query; the output of a query is 0 where it is False.
                None for no mask.
            return_weights: whether to return the weights, too.

        Raises:
            ValueError: if there is a value without a key, or `causal` is set for a single query.

        Returns:
            The outputs, of the query's shape. With `return_weights` also the float32 weights_BHTS
            (BHS for one query).
        """
        outputs, weights = self._attend(query, key, value, attention_mask, causal, training)
        if query_mask is not None:
            outputs *= tf.cast(query_mask, outputs.dtype)[..., tf.newaxis]
        return (outputs, weights) if return_weights else outputs

    def _attend(
        self,
        query: tf.Tensor,
        key: tf.Tensor | None,
        value: tf.Tensor | None,
        attention_mask: tf.Tensor | None,
        causal: bool,
        training: bool,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return outputs and weights. The arguments are those of `call`."""
        if query.shape.rank == 2:
            if causal:
                raise ValueError(CAUSAL)
            outputs, weights = self._attend(
                query[:, tf.newaxis], key, value, attention_mask, causal, training
            )
            return tf.squeeze(outputs, 1), tf.squeeze(weights, 2)
        if key is None:
            if value is not None:
                raise ValueError("value needs key; for values alone, pass them as key")
            query_BHTD, keys_values = self.project_self(query)
        else:
            query_BHTD = self.project_query(query)
            keys_values = self.project_keys_values(key, value)
        outputs, weights = self.combine(query_BHTD, keys_values, attention_mask, causal, training)
        return tf.cast(outputs, query.dtype), weights

    def project_self(self, inputs_BTD: tf.Tensor) -> tuple[tf.Tensor, KeysValues]:
        """Return query_BHTD, and keys and values of the same inputs."""
        if self.key_value_heads < self.heads:
            return self.project_query(inputs_BTD), self.project_keys_values(inputs_BTD)
        query, keys, values = self._by_heads(
            self.heads, inputs_BTD, self.query_map, self.key_map, self.value_map
        )
        return query, KeysValues(keys, values)

    def project_query(self, query_BTD: tf.Tensor) -> tf.Tensor:
        """Return query_BHTD."""
        return self._by_heads(self.heads, query_BTD, self.query_map)[0]

    def project_keys_values(
        self, key_BSD: tf.Tensor, value_BSD: tf.Tensor | None = None
    ) -> KeysValues:
        """Return keys and values by heads. They can be computed once and used several times."""
        heads = self.key_value_heads
        if value_BSD is None:
            return KeysValues(*self._by_heads(heads, key_BSD, self.key_map, self.value_map))
        (keys,) = self._by_heads(heads, key_BSD, self.key_map)
        (values,) = self._by_heads(heads, value_BSD, self.value_map)
        return KeysValues(keys, values)

    def combine(
        self,
        query_BHTD: tf.Tensor,
        keys_values: KeysValues,
        mask: tf.Tensor | None = None,
        causal: bool = False,
        training: bool = False,
        bias: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attend, given the projections. The other arguments are those of `call`.

        For `bias` see `scaled_dot_product_attention`.

        Returns:
            The results of `call`, with the outputs in the dtype of products.
        """
        dropout = None
        if self.dropout is not None:
            dropout = functools.partial(self.dropout, training=training)
        heads_BHTD, weights_BHTS = scaled_dot_product_attention(
            query_BHTD, *keys_values, mask, causal, dropout=dropout, bias=bias
        )
        heads_BTHD = tf.transpose(to_product_dtype(heads_BHTD), [0, 2, 1, 3])
        batch, length = tf.unstack(tf.shape(heads_BTHD)[:2])
        concatenated_BTD = tf.reshape(heads_BTHD, [batch, length, self.units])
        return dense(concatenated_BTD, *self.output_map), weights_BHTS

    def _by_heads(self, heads: int, inputs_BTD: tf.Tensor, *projections: tuple) -> list[tf.Tensor]:
        """Return several projections of the same inputs, each BHTD, by one product."""
        batch, length = tf.unstack(tf.shape(inputs_BTD)[:2])
        shape = [batch, length, len(projections), heads, self.units // self.heads]
        projected = dense(to_product_dtype(inputs_BTD), *joined(*projections))
        by_heads = tf.transpose(tf.reshape(projected, shape), [2, 0, 3, 1, 4])
        return [tf.cast(each_BHTD, self.compute_dtype) for each_BHTD in tf.unstack(by_heads)]
