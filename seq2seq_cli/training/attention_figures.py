"""How a model's attention is spread over the source, and whether it moves."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.special_tokens import BOS, PAD


class AttentionFigures(NamedTuple):
    """Metrics of attention under teacher forcing.

    Attributes:
        entropy: mean over the target tokens of the weights' entropy, as a share of the largest
            possible one, which evenly spread weights have.
        still_share: share of the sentences in which the position with the largest weight never
            changes.
    """

    entropy: float
    still_share: float


def attention_figures(
    model: Seq2Seq, source_BS: np.ndarray, target_BT: np.ndarray
) -> AttentionFigures:
    """Return the metrics of a batch.

    Args:
        model: any Seq2Seq that has attention.
        source_BS: int32 ids, right-padded with PAD.
        target_BT: int32 ids, EOS included, BOS not, right-padded with PAD.
    """
    weights_BTS = reference_attention(model, source_BS, target_BT)
    return figures_of(weights_BTS, source_BS != PAD, target_BT != PAD)


def reference_attention(model: Seq2Seq, source_BS: np.ndarray, target_BT: np.ndarray) -> np.ndarray:
    """Return weights_BTS, float32, of a model that reads references (teacher forcing).

    They are those that `decode_step` reports, but a Transformer reads all positions at once.
    The arguments are those of `attention_figures`; the model has attention.
    """
    inputs_BT = np.pad(target_BT[:, :-1], [(0, 0), (1, 0)], constant_values=BOS)
    maps = model.attention_maps(tf.constant(source_BS), tf.constant(inputs_BT))
    return maps.to_source(source_BS.shape[1]).numpy()


def figures_of(
    weights_BTS: np.ndarray, source_BS: np.ndarray, target_BT: np.ndarray
) -> AttentionFigures:
    """Return the metrics of attention weights.

    Args:
        weights_BTS: float32; their sum over S is 1.
        source_BS: bool, where there are source tokens; at least two in each row.
        target_BT: bool, where there are target tokens.
    """
    logs_BTS = np.log(np.maximum(weights_BTS, 1e-30))
    entropy_BT = -(weights_BTS * logs_BTS).sum(axis=2) / np.log(source_BS.sum(axis=1))[:, None]
    peak_BT = weights_BTS.argmax(axis=2)
    still_B = ((peak_BT == peak_BT[:, :1]) | ~target_BT).all(axis=1)
    return AttentionFigures(float(entropy_BT[target_BT].mean()), float(still_B.mean()))
