"""The score by which hypotheses are ranked.

    score(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y)
    lp(Y)       = ((5 + |Y|) / 6)^alpha, or |Y|^alpha
    cp(X; Y)    = beta * sum over i of log(min(sum over j of p_ij, 1))

Wu et al. (2016), "Google's neural machine translation system", equation 14. p_ij is the attention
of the j-th target token to the i-th source token. P includes the penalty for repetition. cp is at
most 0.
"""

import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig


def scores(
    total_BC: tf.Tensor,
    length: tf.Tensor,
    coverage_BCS: tf.Tensor | None,
    mask_BS: tf.Tensor,
    config: DecodingConfig,
) -> tf.Tensor:
    """Return score_BC, float32.

    Args:
        total_BC: log P(Y|X), float32.
        length: |Y| in tokens, EOS included.
        coverage_BCS: float32, the summed attention to each source token; only read if
            `coverage_penalty` is above 0.
        mask_BS: True for real source tokens.
        config: has alpha (`length_penalty`), its kind, and beta (`coverage_penalty`).
    """
    score_BC = total_BC / length_penalty(length, config)
    if config.coverage_penalty:
        covered_BCS = tf.clip_by_value(coverage_BCS, 1e-9, 1.0)
        logs_BCS = tf.where(mask_BS[:, tf.newaxis], tf.math.log(covered_BCS), 0.0)
        score_BC += config.coverage_penalty * tf.reduce_sum(logs_BCS, axis=2)
    return score_BC


def length_penalty(length: tf.Tensor, config: DecodingConfig) -> tf.Tensor:
    """Return lp, float32, for lengths in tokens, EOS included."""
    length = tf.cast(length, tf.float32)
    if config.length_penalty_kind == "gnmt":
        length = (5 + length) / 6
    return length**config.length_penalty
