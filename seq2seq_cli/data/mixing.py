"""The splits of several corpora, some of which are used for training only."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.held_out import HeldOut
from seq2seq_cli.data.splits import (
    DEV,
    LEAKED,
    REPEATED,
    TEST,
    TRAIN,
    Assignment,
    assign,
    find_repeated,
    shares_a_sentence,
)

LEAKS = "in dev or test"
"""The reason why a pair of a train-only corpus was left out."""


def assign_mixture(
    keys: Sequence[np.ndarray], only_train: Sequence[bool], given: HeldOut, config: DataConfig
) -> Assignment:
    """Assign the pairs of several corpora to splits.

    The splits are those of `splits.assign` for the corpora that are not train-only. So they stay
    the same when synthetic data is added. A train-only pair is left out if it shares a normalised
    sentence with dev or test, or occurs in another corpus.

    Args:
        keys: arrays as `splits.pair_keys` gives them, in order. Each is read several times.
        only_train: for each array, whether its pairs are used for training only.
        given: the dev and test pairs that are given separately.
        config: has the numbers of pairs to split off, and the seed.
    """
    sizes = given.to_split_off(config)
    if not any(only_train):
        return assign(keys, *sizes, config.split_seed)
    split = _Chosen(keys, [i for i, only in enumerate(only_train) if not only])
    rest = _Chosen(keys, [i for i, only in enumerate(only_train) if only])
    assigned = assign(split or [_NONE], *sizes, config.split_seed)
    parts = {i: part for i, part in zip(split.indices, _cut(assigned.sides, split), strict=True)}
    held_out = [
        part[np.isin(parts[i], (DEV, TEST))] for i, part in zip(split.indices, split, strict=True)
    ]
    held_out_keys = np.concatenate([given.keys, *held_out])
    everything = _Chosen(keys, [*split.indices, *rest.indices])
    repeated = _cut(find_repeated(everything), everything)[len(split) :]
    for i, part, again in zip(rest.indices, rest, repeated, strict=True):
        parts[i] = np.where(shares_a_sentence(part, held_out_keys), LEAKED, TRAIN).astype(np.int8)
        parts[i][again] = REPEATED
    return Assignment(np.concatenate([parts[i] for i in range(len(keys))]), assigned.groups)


_NONE = np.zeros((0, 3), np.uint64)


class _Chosen(Sequence[np.ndarray]):
    """Some of the arrays of a sequence, each read when it is used."""

    def __init__(self, parts: Sequence[np.ndarray], indices: list[int]):
        self._parts = parts
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        return self._parts[self.indices[index]]


def _cut(values: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cut an array of one value for each pair into one for each part."""
    lengths = [len(part) for part in parts]
    return np.split(values, np.cumsum(lengths)[:-1]) if lengths else []
