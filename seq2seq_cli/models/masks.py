"""The two masks of attention: bool, True for visible keys."""

import tensorflow as tf

from seq2seq_cli.special_tokens import PAD

CAUSAL = "causal=True needs queries of shape BTD, with positions"
"""The error for a causal mask of a single query."""


def padding_mask(ids: tf.Tensor) -> tf.Tensor:
    """Return True for tokens in `ids`, and False for padding."""
    return tf.not_equal(ids, PAD)


def causal_mask(queries: tf.Tensor | int, keys: tf.Tensor | int) -> tf.Tensor:
    """Return mask_TS for numbers of queries and keys: query t sees the keys up to the t-th.

    Vaswani et al. (2017), section 3.2.3.
    """
    return tf.range(queries)[:, tf.newaxis] >= tf.range(keys)
