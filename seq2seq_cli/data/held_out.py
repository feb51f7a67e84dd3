"""The dev and test pairs that are given separately from the corpus."""

import hashlib
from collections.abc import Sequence

import numpy as np

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.reader import OpenCorpus, Reader
from seq2seq_cli.data.splits import PAIR, Pair, pair_keys, shares_a_sentence


class HeldOut:
    """The dev and test pairs that are given separately from the corpus; None if they are not.

    Args:
        dev, test: the pairs, without duplicates.
        target_first: as for `splits.pair_keys`.

    Attributes:
        keys: of the dev and the test pairs, as `splits.pair_keys` gives them.
    """

    def __init__(self, dev: list[Pair] | None, test: list[Pair] | None, target_first: bool = False):
        self.dev, self.test = dev, test
        self._target_first = target_first
        self.keys = pair_keys([*(dev or []), *(test or [])], target_first)

    @classmethod
    def read(cls, reader: Reader, corpora: Sequence[OpenCorpus], config: DataConfig) -> "HeldOut":
        """Read the pairs of the config or of the corpora; drop and count duplicates."""
        sides = []
        for side in reader.held_out(corpora):
            distinct = side if side is None else list(dict.fromkeys(side))
            reader.leave_out("duplicate", len(side or []) - len(distinct or []))
            sides.append(distinct)
        dev, test = sides
        return cls(dev, test, config.target_first)

    def to_split_off(self, config: DataConfig) -> tuple[int, int]:
        """Return how many dev and how many test pairs to split off the corpus itself."""
        return (
            config.dev_pairs if self.dev is None else 0,
            config.test_pairs if self.test is None else 0,
        )

    def shared(self, train_keys: np.ndarray) -> int:
        """Count the train pairs that share a normalised sentence with these.

        Args:
            train_keys: uint64 of shape [pairs, 3], from `splits.pair_keys`.
        """
        return int(shares_a_sentence(train_keys, self.keys).sum())

    def digest(self, turned: bool = False) -> "hashlib._Hash":
        """Return the beginning of the corpus' fingerprint, to be updated with its pairs' keys.

        Args:
            turned: whether the corpus is read in the other direction.
        """
        counts = [-1 if side is None else len(side) for side in (self.dev, self.test)]
        digest = hashlib.sha256(np.array(counts, np.int64).tobytes())
        digest.update(self.keys[:, PAIR].tobytes())
        if self._target_first != turned:
            digest.update(b"target first")  # keys are the same in both directions
        return digest
