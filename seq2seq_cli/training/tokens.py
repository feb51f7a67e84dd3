"""How many tokens the batches of an update have, by which its loss is weighted."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.special_tokens import PAD


class Tokens(NamedTuple):
    """How many tokens all batches of an update have.

    source: float32, EOS included.
    target: float32, EOS included, BOS not.
    """

    source: tf.Tensor
    target: tf.Tensor

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> "Tokens":
        """Return the number of tokens of batches."""
        return cls.of_ids(*(ids for batch in batches for ids in batch[:2]))

    @classmethod
    def of_ids(cls, *ids: tf.Tensor) -> "Tokens":
        """Return the number of tokens of `source_BS` and `target_BT` of several batches."""
        return cls(
            tf.add_n([count_tokens(source_BS) for source_BS in ids[::2]]),
            tf.add_n([count_tokens(target_BT[:, 1:]) for target_BT in ids[1::2]]),
        )


def count_tokens(ids: tf.Tensor) -> tf.Tensor:
    """Return how many ids are not PAD, as float32."""
    return tf.math.count_nonzero(ids != PAD, dtype=tf.float32)
