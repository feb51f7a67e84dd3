"""Pairs to padded batches: an order that is a pure function of (seed, epoch), in few shapes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import TrainingConfig
from seq2seq_cli.data.sources import Pair
from seq2seq_cli.data.tokenizers import Tokenizers
from seq2seq_cli.errors import DataError
from seq2seq_cli.special_tokens import BOS

# Lengths that batches are padded to. The training step is compiled once for each, so they are few;
# most sentences are short, so there they are close.
LENGTHS = (6, 8, 10, 12, 16, 24, 32, 64, 128, 256)
_TOKENIZE_AT_ONCE = 1024


class Batch(NamedTuple):
    """Pairs of about the same length, padded to a shape that depends on the length alone.

    source_BS: int32, each row ends with EOS.
    target_BT: int32, each row begins with BOS and ends with EOS; T is S + 1.
    pairs: int32 scalar, how many rows hold a pair; the others, at the end, are all PAD.
    """

    source_BS: tf.Tensor
    target_BT: tf.Tensor
    pairs: tf.Tensor


class Plan(NamedTuple):
    """The batches of an epoch: batch i takes rows indices[starts[i] : starts[i] + counts[i]].

    indices: rows of the training side; starts, counts: one for each batch; buckets: which length.
    """

    indices: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    buckets: np.ndarray


class TrainingData:
    """The training side, tokenized in the graph, read epoch by epoch.

    Args:
        pairs: (source, target).
        tokenizers: give the ids.
        config: batch size, seed and maximum lengths.

    Attributes:
        too_long: number of pairs left out for their length.
        pairs: number of pairs in an epoch.
        source_tokens, target_tokens: number of tokens in an epoch, EOS included, BOS not.
        steps_per_epoch: number of batches.
        padding_share: part of all places in the batches that holds no token.

    Raises:
        DataError: if no pair is short enough.
    """

    def __init__(self, pairs: list[Pair], tokenizers: Tokenizers, config: TrainingConfig):
        self._tokenizers = tokenizers
        self._seed = config.seed
        self._sources = tf.constant([source for source, _ in pairs], tf.string)
        self._targets = tf.constant([target for _, target in pairs], tf.string)
        source_lengths, target_lengths = self._count_tokens()

        fits = (source_lengths <= config.max_source_tokens) & (
            target_lengths <= config.max_target_tokens
        )
        self._rows = np.flatnonzero(fits).astype(np.int32)
        self.pairs = len(self._rows)
        self.too_long = len(pairs) - self.pairs
        if not self.pairs:
            raise DataError(
                f"none of the {len(pairs)} training pairs has at most "
                f"{config.max_source_tokens} source and {config.max_target_tokens} target tokens. "
                "Raise training.max_source_tokens and training.max_target_tokens"
            )
        self.source_tokens = int(source_lengths[fits].sum())
        self.target_tokens = int(target_lengths[fits].sum())

        longest = max(config.max_source_tokens, config.max_target_tokens)
        self._lengths = np.array([n for n in LENGTHS if n < longest] + [longest])
        self._batch_rows = config.batch_tokens // self._lengths
        longer = np.maximum(source_lengths, target_lengths)[self._rows]
        self._buckets = np.searchsorted(self._lengths, longer).astype(np.int8)

        sizes = np.bincount(self._buckets, minlength=len(self._lengths))
        batches = -(-sizes // self._batch_rows)
        self.steps_per_epoch = int(batches.sum())
        places = 2 * int((batches * self._batch_rows * self._lengths).sum())
        self.padding_share = 1 - (self.source_tokens + self.target_tokens) / places

    def plan(self, epoch: int) -> Plan:
        """Decide which pairs stand together and in which order; a function of (seed, epoch)."""
        order = np.random.default_rng([self._seed, epoch]).permutation(self.pairs)
        buckets = self._buckets[order]
        parts = []
        for bucket, rows in enumerate(self._batch_rows):
            places = np.flatnonzero(buckets == bucket)
            starts = np.arange(0, len(places), rows)
            ends = np.minimum(starts + rows, len(places))
            parts.append((bucket, places, ends - starts, places[ends - 1]))
        # A batch stands where the shuffled order completes it, so that lengths are well mixed.
        numbers = np.concatenate([np.full(len(counts), b) for b, _, counts, _ in parts])
        counts = np.concatenate([counts for _, _, counts, _ in parts])
        completed = np.concatenate([last for _, _, _, last in parts])
        starts = np.cumsum(counts) - counts
        by_completion = np.argsort(completed, kind="stable")
        return Plan(
            self._rows[order[np.concatenate([places for _, places, _, _ in parts])]],
            starts[by_completion],
            counts[by_completion],
            numbers[by_completion],
        )

    def batches(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, without the first `skip`, which cost nothing."""
        plan = self.plan(epoch)
        indices = tf.constant(plan.indices, tf.int32)

        def make(start: tf.Tensor, count: tf.Tensor, rows: tf.Tensor, length: tf.Tensor) -> Batch:
            chosen = indices[start : start + count]
            source = self._tokenizers.source.tokenize(tf.gather(self._sources, chosen))
            target = self._tokenizers.target.tokenize(tf.gather(self._targets, chosen))
            target = tf.concat([tf.fill([count, 1], BOS), target], axis=1)
            return Batch(
                source.to_tensor(shape=[rows, length]),
                target.to_tensor(shape=[rows, length + 1]),
                count,
            )

        columns = (
            plan.starts,
            plan.counts,
            self._batch_rows[plan.buckets],
            self._lengths[plan.buckets],
        )
        rows = tuple(column[skip:].astype(np.int32) for column in columns)
        yield from tf.data.Dataset.from_tensor_slices(rows).map(make).prefetch(4)

    def _count_tokens(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokenize everything once, and return the lengths of both sides."""

        def lengths(source: tf.Tensor, target: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return (
                self._tokenizers.source.tokenize(source).row_lengths(),
                self._tokenizers.target.tokenize(target).row_lengths(),
            )

        rows = tf.data.Dataset.from_tensor_slices((self._sources, self._targets))
        counts = list(rows.batch(_TOKENIZE_AT_ONCE).map(lengths).as_numpy_iterator())
        source, target = zip(*counts, strict=True)
        return np.concatenate(source), np.concatenate(target)
