"""The training side of a corpus: pairs that are read in order or by index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from seq2seq_cli.data.splits import Pair
from seq2seq_cli.special_tokens import TO

Item = TypeVar("Item")


class Tags(NamedTuple):
    """The tags before the source sentence of each pair.

    Attributes:
        sequences: the distinct sequences of tags, without their brackets.
        numbers: uint16 of shape [pairs], the index of each pair's sequence.
    """

    sequences: list[tuple[str, ...]]
    numbers: np.ndarray


class Pairs(Protocol):
    """Sentence pairs, read in order or by index."""

    @property
    def tags(self) -> Tags | None:
        """The tags of the pairs, or None if no pair has one."""

    @property
    def weights(self) -> np.ndarray | None:
        """How often an epoch contains each pair (float32), or None if each occurs once."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pair]: ...

    def take(self, indices: Sequence[int] | np.ndarray) -> tuple[list[str], list[str]]:
        """Return the source and the target sentences at `indices`."""

    def known_lengths(self, side: int, fingerprint: str) -> np.ndarray | None:
        """Return the numbers of tokens (uint16) of a side's sentences, if they were stored.

        Args:
            side: 0 for the source language, 1 for the target language.
            fingerprint: of the tokenizer.
        """

    def keep_lengths(self, side: int, fingerprint: str, lengths: np.ndarray) -> None:
        """Store the numbers of tokens of a side's sentences, if possible."""


@dataclass(frozen=True)
class PairsInMemory:
    """Pairs in two lists of sentences."""

    sources: list[str]
    targets: list[str]
    weights: np.ndarray | None = None
    tags: Tags | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[Pair]:
        return zip(self.sources, self.targets, strict=True)

    def take(self, indices: Sequence[int] | np.ndarray) -> tuple[list[str], list[str]]:
        """Return the source and the target sentences at `indices`."""
        return [self.sources[i] for i in indices], [self.targets[i] for i in indices]

    def known_lengths(self, side: int, fingerprint: str) -> np.ndarray | None:
        """Return None: nothing is stored."""
        return None

    def keep_lengths(self, side: int, fingerprint: str, lengths: np.ndarray) -> None:
        """Do nothing: counting again is faster than a file."""


def in_memory(pairs: Sequence[Pair]) -> PairsInMemory:
    """Return pairs in a list as a training side."""
    return PairsInMemory([source for source, _ in pairs], [target for _, target in pairs])


def in_target_language(pairs: Pairs) -> Pairs:
    """Return the pairs whose targets are in `data.target_language`."""
    if pairs.tags is None:
        return pairs
    sequences, numbers = pairs.tags
    others = [any(tag.startswith(TO) for tag in tags) for tags in sequences]
    if not any(others):
        return pairs
    return PairsInMemory(*pairs.take(np.flatnonzero(~np.array(others)[numbers])))


def spread(items: Sequence[Item], at_most: int) -> list[Item]:
    """Return at most `at_most` of the items, evenly spaced."""
    taken = min(len(items), at_most)
    return [items[i * len(items) // taken] for i in range(taken)]
