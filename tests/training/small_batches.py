"""A batch that small models can be updated by."""

import numpy as np
import tensorflow as tf

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.special_tokens import BOS, EOS, PAD


def batch(rows: int = 4) -> Batch:
    rng = np.random.default_rng(rows)
    source = rng.integers(4, 20, size=(rows, 6)).astype(np.int32)
    target = rng.integers(4, 20, size=(rows, 7)).astype(np.int32)
    source[:, -1], target[:, 0], target[:, -1] = EOS, BOS, EOS
    source[0, 3:] = [EOS, PAD, PAD]
    return Batch(tf.constant(source), tf.constant(target), tf.constant(rows))
