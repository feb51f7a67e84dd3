"""The token counts of an update, which weight its loss."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.special_tokens import PAD


class Tokens(NamedTuple):
    """The number of tokens in all batches of an update.

    Attributes:
        source: float32, with EOS.
        target: float32, with EOS, without BOS.
    """

    source: tf.Tensor
    target: tf.Tensor

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> "Tokens":
        """Return the numbers of tokens in batches."""
        return cls.of_ids(*(ids for batch in batches for ids in batch[:2]))

    @classmethod
    def of_ids(cls, *ids: tf.Tensor) -> "Tokens":
        """Return the numbers of tokens in `source_BS` and `target_BT` of several batches."""
        return cls(
            tf.add_n([count_tokens(source_BS) for source_BS in ids[::2]]),
            tf.add_n([count_tokens(target_BT[:, 1:]) for target_BT in ids[1::2]]),
        )


def count_tokens(ids: tf.Tensor) -> tf.Tensor:
    """Return the number of ids that are not PAD, as float32."""
    return tf.math.count_nonzero(ids != PAD, dtype=tf.float32)
