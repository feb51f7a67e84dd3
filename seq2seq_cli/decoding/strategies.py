"""Greedy decoding, beam search and sampling: functions that choose the next tokens."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf


class Options(NamedTuple):
    """The input of a strategy in one decoding step.

    Attributes:
        logits_BKV: float32; minus infinity for a token that is excluded.
        normaliser_BK: the value to subtract from a logit for the token's log-probability.
        total_BK: log-probability of each hypothesis so far; minus infinity if there is none.
        uniform_BK: float64 in [0, 1), for drawing; of shape [B, 0] if nothing is drawn.
    """

    logits_BKV: tf.Tensor
    normaliser_BK: tf.Tensor
    total_BK: tf.Tensor
    uniform_BK: tf.Tensor


class Candidates(NamedTuple):
    """Continued hypotheses.

    Attributes:
        parent_BC: int32, the hypothesis that it continues; None if candidate k continues k.
        token_BC: int32, the token that is added.
        total_BC: its log-probability.
    """

    parent_BC: tf.Tensor | None
    token_BC: tf.Tensor
    total_BC: tf.Tensor


Choose = Callable[[Options], Candidates]


def greedy(options: Options) -> Candidates:
    """Continue each hypothesis by its most probable token."""
    return _continued(options, tf.argmax(options.logits_BKV, axis=-1, output_type=tf.int32))


def beam(options: Options) -> Candidates:
    """Return the 2K most probable continuations of all hypotheses together, the best first.

    K of them may end here, and at least K remain to continue.
    """
    beams, vocabulary = options.logits_BKV.shape[1:]
    if beams is None:  # which only a search of any beam does not know in advance
        beams = tf.shape(options.logits_BKV)[1]
        wanted = tf.minimum(2 * beams, vocabulary)
    else:
        wanted = min(2 * beams, vocabulary)
    logits_RC, tokens_RC = top(tf.reshape(options.logits_BKV, [-1, vocabulary]), wanted)
    logits_BKC = tf.reshape(logits_RC, [-1, beams, wanted])
    totals_BKC = (options.total_BK - options.normaliser_BK)[..., tf.newaxis] + logits_BKC
    total_BC, best_BC = tf.math.top_k(tf.reshape(totals_BKC, [-1, beams * wanted]), 2 * beams)
    tokens_BC = tf.reshape(tokens_RC, [-1, beams * wanted])
    return Candidates(best_BC // wanted, tf.gather(tokens_BC, best_BC, batch_dims=1), total_BC)


def sampling(temperature: float, top_k: int | None, top_p: float) -> Choose:
    """Return a strategy that draws a token for each hypothesis.

    Args:
        temperature: logits are divided by it; below 1, probable tokens become more probable.
        top_k: draw from this number of most probable tokens; None for all.
        top_p: of these, draw from the smallest set of most probable tokens with at least this
            total probability (Holtzman et al. 2020, "The curious case of neural text
            degeneration").
    """

    def choose(options: Options) -> Candidates:
        vocabulary = options.logits_BKV.shape[2]
        logits_BKV, tokens_BKV = options.logits_BKV / temperature, None
        if top_k is not None or top_p < 1:
            logits_BKV, tokens_BKV = tf.math.top_k(logits_BKV, min(top_k or vocabulary, vocabulary))
        # A float32 sum of thousands of probabilities cannot distinguish the smallest.
        summed_BKV = tf.cumsum(tf.cast(tf.nn.softmax(logits_BKV), tf.float64), axis=-1)
        if top_p < 1:
            before_BKV = tf.pad(summed_BKV[..., :-1], [[0, 0], [0, 0], [1, 0]])
            kept_BKV = tf.where(before_BKV < top_p, summed_BKV, 0)
            drawn_BK = options.uniform_BK * tf.reduce_max(kept_BKV, axis=-1)
        else:
            drawn_BK = options.uniform_BK * summed_BKV[..., -1]
        passed_BKV = tf.cast(summed_BKV <= drawn_BK[..., tf.newaxis], tf.int32)
        token_BK = tf.reduce_sum(passed_BKV, axis=-1)
        if tokens_BKV is not None:
            token_BK = tf.gather(tokens_BKV, token_BK, batch_dims=2)
        return _continued(options, token_BK)

    return choose


def top(logits_RV: tf.Tensor, number: int | tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the highest logits of each row and their tokens, as tf.math.top_k does, but faster.

    They are in the blocks with the highest maxima. Which of equal logits are returned may differ.
    """
    if not isinstance(number, int):
        return tf.math.top_k(logits_RV, number)
    vocabulary = logits_RV.shape[1]
    sizes = [size for size in range(16, 257) if vocabulary % size == 0]
    size = min(sizes, key=lambda size: abs(size * size - vocabulary), default=vocabulary)
    blocks = vocabulary // size
    if blocks <= 2 * number:
        return tf.math.top_k(logits_RV, number)
    logits_RXY = tf.reshape(logits_RV, [-1, blocks, size])
    _, blocks_RN = tf.math.top_k(tf.reduce_max(logits_RXY, axis=2), number)
    few_RNY = tf.gather(logits_RXY, blocks_RN, batch_dims=1)
    logits_RN, positions_RN = tf.math.top_k(tf.reshape(few_RNY, [-1, number * size]), number)
    block_RN = tf.gather(blocks_RN, positions_RN // size, batch_dims=1)
    return logits_RN, block_RN * size + positions_RN % size


def _continued(options: Options, token_BK: tf.Tensor) -> Candidates:
    logit_BK = tf.gather(options.logits_BKV, token_BK, batch_dims=2)
    return Candidates(None, token_BK, options.total_BK + logit_BK - options.normaliser_BK)


def uniform(seed: int, number_B: tf.Tensor, samples: int, length: tf.Tensor) -> tf.Tensor:
    """Return uniform_BKT, float64 in [0, 1), for `samples` samples of `length` tokens.

    A number depends only on the seed, the sentence's number, the sample and the position: Philox
    counts positions, so a longer output does not change earlier numbers.
    """

    def of_sentence(number: tf.Tensor) -> tf.Tensor:
        key = tf.stack([seed, number])
        folded = [tf.random.experimental.stateless_fold_in(key, k) for k in range(samples)]
        draws = [
            tf.random.stateless_uniform([length], k, dtype=tf.float64, alg="philox") for k in folded
        ]
        return tf.stack(draws)

    return tf.map_fn(of_sentence, number_B, fn_output_signature=tf.float64)
