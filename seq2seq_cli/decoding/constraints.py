"""Constraints on the next token of a hypothesis: functions that change the logits.

Rows R are the K hypotheses of each of B sentences; the rows of a sentence are adjacent.
Logits are float32; t is the number of tokens of a hypothesis.
"""

import tensorflow as tf

from seq2seq_cli.special_tokens import BOS, EOS, PAD

IMPOSSIBLE = float("-inf")


def constrain(
    logits_RV: tf.Tensor,
    ids_BKT: tf.Tensor,
    t: tf.Tensor,
    minimum_B: tf.Tensor,
    prefix_BP: tf.Tensor,
    no_repeat_ngram: int,
) -> tf.Tensor:
    """Exclude the tokens that the minimum length, repeated n-grams and the prefix exclude.

    The first two never exclude a token of the prefix. For the arguments see the functions below.
    """
    free_RV = logits_RV
    if no_repeat_ngram:
        logits_RV = exclude_repeated_ngrams(logits_RV, ids_BKT, t, no_repeat_ngram)
    logits_RV = require_minimum_length(logits_RV, t, minimum_B)
    return follow_prefix(logits_RV, free_RV, t, prefix_BP)


def exclude_special_tokens(logits_RV: tf.Tensor, tags: int) -> tf.Tensor:
    """Exclude the tokens that no translation contains: PAD, BOS and the tags, the last ids."""
    size = logits_RV.shape[1]
    no_text = {PAD, BOS, *range(size - tags, size)}
    excluded = [IMPOSSIBLE if token in no_text else 0.0 for token in range(size)]
    return logits_RV + tf.constant(excluded)


def penalise_repetition(logits_RV: tf.Tensor, ids_BKT: tf.Tensor, penalty: float) -> tf.Tensor:
    """Make tokens that the hypothesis already contains less probable.

    Keskar et al. (2019), "CTRL: a conditional transformer language model", section 4.1.
    """
    seen_RV = _marked(ids_BKT, ids_BKT != PAD, logits_RV.shape[1])
    less_RV = tf.where(logits_RV > 0, logits_RV / penalty, logits_RV * penalty)
    return tf.where(seen_RV, less_RV, logits_RV)


def require_minimum_length(logits_RV: tf.Tensor, t: tf.Tensor, minimum_B: tf.Tensor) -> tf.Tensor:
    """Exclude EOS if the translation would have fewer tokens than its minimum.

    EOS stays if no other token is possible.
    """
    too_early_B = t + 1 < minimum_B

    def go_on() -> tf.Tensor:
        too_early_R1 = _by_hypothesis(too_early_B, logits_RV)
        is_eos_V = tf.range(logits_RV.shape[1]) == EOS
        others_RV = tf.where(is_eos_V, IMPOSSIBLE, logits_RV)
        has_others_R1 = tf.reduce_max(others_RV, axis=1, keepdims=True) > IMPOSSIBLE
        return tf.where(too_early_R1 & has_others_R1, others_RV, logits_RV)

    return tf.cond(tf.reduce_any(too_early_B), go_on, lambda: logits_RV)


def exclude_repeated_ngrams(
    logits_RV: tf.Tensor, ids_BKT: tf.Tensor, t: tf.Tensor, size: int
) -> tf.Tensor:
    """Exclude the tokens that would complete an n-gram of `size` a second time.

    EOS is never excluded, so a translation can always end.
    """
    length = tf.shape(ids_BKT)[2]
    padded = tf.pad(ids_BKT, [[0, 0], [0, 0], [0, size]])
    positions_T = tf.range(length)
    same_BKT = tf.fill(tf.shape(ids_BKT), True)
    for i in range(size - 1):
        last_BK1 = tf.gather(ids_BKT, [tf.maximum(t - size + 1 + i, 0)], axis=2)
        same_BKT &= padded[:, :, i : length + i] == last_BK1
    same_BKT &= positions_T + size - 1 < t
    repeated_BKT = padded[:, :, size - 1 : length + size - 1]
    return tf.where(_marked(repeated_BKT, same_BKT, logits_RV.shape[1]), IMPOSSIBLE, logits_RV)


def follow_prefix(
    logits_RV: tf.Tensor, free_RV: tf.Tensor, t: tf.Tensor, prefix_BP: tf.Tensor
) -> tf.Tensor:
    """Exclude all tokens except the prefix's next one, while the prefix continues.

    Args:
        logits_RV: used after the end of the prefix.
        free_RV: the logits before any constraint, so that the prefix is never excluded.
        t: tokens of each hypothesis.
        prefix_BP: int32 ids, padded with PAD.
    """

    def next_token_only() -> tf.Tensor:
        wanted_R1 = _by_hypothesis(prefix_BP[:, t], logits_RV)
        wanted_RV = tf.range(logits_RV.shape[1]) == wanted_R1
        only_RV = tf.where(wanted_RV, free_RV, IMPOSSIBLE)
        return tf.where(wanted_R1 == PAD, logits_RV, only_RV)

    return tf.cond(t < tf.shape(prefix_BP)[1], next_token_only, lambda: logits_RV)


def _by_hypothesis(values_B: tf.Tensor, logits_RV: tf.Tensor) -> tf.Tensor:
    """Repeat each sentence's value for its hypotheses, as a column."""
    beams = tf.shape(logits_RV)[0] // tf.maximum(tf.shape(values_B)[0], 1)
    return tf.repeat(values_B, beams)[:, tf.newaxis]


def _marked(ids_BKT: tf.Tensor, where_BKT: tf.Tensor, vocabulary: int) -> tf.Tensor:
    """Return marked_RV, bool: the ids in each row at which `where_BKT` is True."""
    ids_RT = tf.reshape(ids_BKT, [-1, tf.shape(ids_BKT)[2]])
    indices_X2 = tf.where(tf.reshape(where_BKT, tf.shape(ids_RT)))
    tokens_X = tf.cast(tf.gather_nd(ids_RT, indices_X2), tf.int64)
    marked_X2 = tf.stack([indices_X2[:, 0], tokens_X], axis=1)
    shape = tf.stack([tf.shape(ids_RT)[0], vocabulary])
    marked = tf.tensor_scatter_nd_update(
        tf.fill(shape, False), marked_X2, tf.fill([tf.shape(marked_X2)[0]], True)
    )
    return tf.ensure_shape(marked, [None, vocabulary])
