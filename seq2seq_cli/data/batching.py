"""Divides the pairs of each epoch into batches of few shapes."""

from typing import NamedTuple

import numpy as np

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.repetitions import Repetitions
from seq2seq_cli.data.shapes import left_over, padded_shapes


class Plan(NamedTuple):
    """The batches of an epoch.

    Attributes:
        indices: int32 of shape [pairs], the indices of the pairs, batch after batch.
        counts: int of shape [batches], the number of pairs in each batch.
        shapes: int of shape [batches], the number of each batch's shape.
    """

    indices: np.ndarray
    counts: np.ndarray
    shapes: np.ndarray


class Batching:
    """Divides the pairs of each epoch into batches; seed and epoch determine them.

    All epochs have the same number of batches of each shape.

    Args:
        lengths_2N: positions that the N source and target sentences take up at most, EOS included,
            BOS not.
        weights: how often each of the N pairs occurs in an epoch on average, float32; None for once
            each.
        config: the size of a batch's parts, and the seed.
        shape_cost: tokens of padding that one more batch shape must save in an epoch.

    Attributes:
        shapes: int64 of shape [shapes, 2], the source and target lengths of each shape, by
            ascending sum.
        rows: int64 of shape [shapes], the number of rows of each shape's batches.
        pairs: number of pairs in an epoch, repetitions by weight included.
        batches: number of batches in an epoch.
        positions: number of all positions in the batches of an epoch.
    """

    def __init__(
        self,
        lengths_2N: np.ndarray,
        weights: np.ndarray | None,
        config: TrainingConfig,
        shape_cost: float,
    ):
        self._seed = config.seed
        self.shapes, self._shape_of = padded_shapes(lengths_2N, weights, shape_cost)
        # A multiple of eight, so that the parts of a batch have the same size.
        rows = 2 * config.part_tokens // self.shapes.sum(axis=1)
        self.rows = np.where(rows < 8, rows, (rows + 4) // 8 * 8)
        if config.part_pairs:
            self.rows[:] = config.part_pairs
        self._repetitions = None if weights is None else Repetitions(weights, self._shape_of)

        sizes = np.bincount(self._shape_of[self._drawn(epoch=0)], minlength=len(self.shapes))
        self.pairs = int(sizes.sum())
        self._left_over, sizes = left_over(self.shapes, self.rows, sizes)
        batches = -(-sizes // self.rows)
        self.batches = int(batches.sum())
        self.positions = int((batches * self.rows * self.shapes.sum(axis=1)).sum())

    def plan(self, epoch: int) -> Plan:
        """Return the batches of an epoch and their order."""
        drawn = self._drawn(epoch)
        members = self._by_shape(drawn)
        counts_by_shape = []
        for rows, indices in zip(self.rows, members, strict=True):
            starts = np.arange(0, len(indices), rows)
            counts_by_shape.append(np.minimum(rows, len(indices) - starts))
        counts = np.concatenate(counts_by_shape)
        shapes = np.repeat(np.arange(len(self.rows)), [len(each) for each in counts_by_shape])
        starts = np.cumsum(counts) - counts
        # A random order spreads the long pairs, whose batches fill slowly, over the whole epoch.
        shuffled = np.random.default_rng([self._seed, epoch, 1]).permutation(len(counts))
        starts, counts = starts[shuffled], counts[shuffled]
        # First by how much each pair moves with its batch, then where it comes from.
        moved = np.repeat((starts - (np.cumsum(counts) - counts)).astype(np.int32), counts)
        moved += np.arange(len(drawn), dtype=np.int32)
        return Plan(drawn[np.concatenate(members)[moved]], counts, shapes[shuffled])

    def _by_shape(self, drawn: np.ndarray) -> list[np.ndarray]:
        """Return the indices in `drawn` (int32) of the pairs in each shape's batches."""
        shapes = self._shape_of[drawn]
        indices = np.argsort(shapes, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(shapes, minlength=len(self.shapes)))
        members = np.split(indices, ends[:-1])
        for shape, (left, larger) in self._left_over.items():
            members[shape], rest = np.split(members[shape], [-left])
            members[larger] = np.sort(np.concatenate([members[larger], rest]))
        return members

    def _drawn(self, epoch: int) -> np.ndarray:
        """Return the pairs of an epoch (int32), repeated by weight and shuffled."""
        rng = np.random.default_rng([self._seed, epoch])
        if self._repetitions is None:
            return rng.permutation(np.arange(len(self._shape_of), dtype=np.int32))
        return rng.permutation(self._repetitions.draw(rng))
