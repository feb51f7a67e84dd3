"""The tensors of a search's hypotheses.

They are in dictionaries. Each tensor has the same name for the B K live hypotheses, the B C
candidates and the B N finished hypotheses; "." is K, C or N:

    ids (B . T)          int32, PAD after the last token
    token (B .)          int32, the last token; live hypotheses and candidates only
    total (B .)          float32, log-probability; minus infinity where there is no hypothesis
    model_total (B .)    the same without the penalty for repetition, if there is one
    coverage (B . S)     float32, summed attention, if the score needs it; not of finished ones
    attention (B . T S)  float32, if the caller requests it
    score (B .)          float32, of finished hypotheses only, see `ranking`
"""

from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.constraints import IMPOSSIBLE
from seq2seq_cli.decoding.strategies import Candidates
from seq2seq_cli.special_tokens import BOS, PAD

Tensors = dict[str, tf.Tensor]


class Hypotheses(NamedTuple):
    """The translations found of each sentence, the best first.

    Attributes:
        ids_BNT: int32; ends with EOS unless the maximum length cut it, then PAD. All PAD if fewer
            than N were found.
        score_BN: float32, by which they are ranked. Minus infinity if fewer were found.
        log_probability_BN: float32, the model's, the sum over the tokens, EOS included, in nats.
        attention_BNTS: float32, over the source, of the step that gave each token; T is 0 if it was
            not requested.
    """

    ids_BNT: tf.Tensor
    score_BN: tf.Tensor
    log_probability_BN: tf.Tensor
    attention_BNTS: tf.Tensor


class Sizes(NamedTuple):
    """The sizes of a batch, int32 scalars: B, T and S."""

    batch: tf.Tensor
    longest: tf.Tensor
    source_length: tf.Tensor


def no_hypotheses(
    number: int | tf.Tensor, sizes: Sizes, config: DecodingConfig, with_attention: bool
) -> Tensors:
    """Return placeholders for `number` hypotheses of each sentence."""
    batch, longest, source_length = sizes
    tensors = {
        "ids": tf.fill([batch, number, longest], PAD),
        "total": tf.fill([batch, number], IMPOSSIBLE),
    }
    if config.repetition_penalty != 1:
        tensors["model_total"] = tensors["total"]
    if with_attention:
        tensors["attention"] = tf.zeros([batch, number, longest, source_length])
    return tensors


def empty_hypotheses(
    beams: int | tf.Tensor, sizes: Sizes, config: DecodingConfig, with_attention: bool
) -> Tensors:
    """Return the live hypotheses before the first token."""
    live = no_hypotheses(beams, sizes, config, with_attention)
    # All samples start; hypotheses of a beam would all be equal, so only the first starts.
    begins_K = (tf.range(beams) == 0) | config.sample
    live["total"] = tf.zeros([sizes.batch, 1]) + tf.where(begins_K, 0.0, IMPOSSIBLE)
    if "model_total" in live:
        live["model_total"] = live["total"]
    live["token"] = tf.fill([sizes.batch, beams], BOS)
    if config.coverage_penalty:
        live["coverage"] = tf.zeros([sizes.batch, beams, sizes.source_length])
    return live


def continued(
    live: Tensors,
    chosen: Candidates,
    t: tf.Tensor,
    logits_BKV: tf.Tensor,
    attention_BKS: tf.Tensor,
) -> Tensors:
    """Return the candidates: live hypotheses, each with one more token.

    Args:
        live: the parents.
        chosen: the parent and the token of each candidate.
        t: tokens of each parent.
        logits_BKV: the model's logits, by which `model_total` is continued.
        attention_BKS: the attention of this decoding step.
    """
    parent_BC, token_BC, total_BC = chosen
    parents, attention_BCS = live, attention_BKS
    if parent_BC is not None:
        parents = {name: tf.gather(x, parent_BC, batch_dims=1) for name, x in live.items()}
        attention_BCS = tf.gather(attention_BKS, parent_BC, batch_dims=1)
    is_here_T = tf.range(tf.shape(parents["ids"])[2]) == t
    ids_BCT = tf.where(is_here_T, token_BC[..., tf.newaxis], parents["ids"])
    candidates = {**parents, "ids": ids_BCT, "token": token_BC, "total": total_BC}
    if "model_total" in parents:
        batch, beams, vocabulary = tf.unstack(tf.shape(logits_BKV))
        logs_BX = tf.reshape(tf.nn.log_softmax(logits_BKV), [batch, beams * vocabulary])
        parent = tf.range(beams) if parent_BC is None else parent_BC
        chosen_BC = parent * vocabulary + token_BC
        candidates["model_total"] += tf.gather(logs_BX, chosen_BC, batch_dims=1)
    if "attention" in parents:
        is_here_T1 = is_here_T[:, tf.newaxis]
        attention_BC1S = attention_BCS[:, :, tf.newaxis]
        candidates["attention"] = tf.where(is_here_T1, attention_BC1S, parents["attention"])
    if "coverage" in parents:
        candidates["coverage"] = parents["coverage"] + attention_BCS
    return candidates
