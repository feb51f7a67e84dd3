"""A corpus ready for use: its pairs, split, in memory or on disk."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from seq2seq_cli.config.data import DataConfig, TokenizerConfig
from seq2seq_cli.data.prepared import Prepared, is_prepared
from seq2seq_cli.data.sources import Reader, Source
from seq2seq_cli.data.splits import (
    DEV,
    PAIR,
    REPEATED,
    TEST,
    TRAIN,
    Pair,
    assign,
    pair_keys,
    shares_a_sentence,
)
from seq2seq_cli.errors import DataError


class Pairs(Protocol):
    """The training side: pairs that are read in order or by their indices."""

    @property
    def weights(self) -> np.ndarray | None:
        """Float32 for each pair, how often an epoch shows it; None where each stands once."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pair]: ...

    def take(self, indices: Sequence[int] | np.ndarray) -> tuple[list[str], list[str]]:
        """Return the sources and the targets at `indices`."""

    def known_lengths(self, side: int, fingerprint: str) -> np.ndarray | None:
        """Return the numbers of tokens (uint16) of a side by a tokenizer, where they are kept."""

    def keep_lengths(self, side: int, fingerprint: str, lengths: np.ndarray) -> None:
        """Keep them, where that is possible."""


@dataclass(frozen=True)
class PairsInMemory:
    """Pairs in two lists."""

    sources: list[str]
    targets: list[str]
    weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[Pair]:
        return zip(self.sources, self.targets, strict=True)

    def take(self, indices: Sequence[int] | np.ndarray) -> tuple[list[str], list[str]]:
        """Return the sources and the targets at `indices`."""
        return [self.sources[i] for i in indices], [self.targets[i] for i in indices]

    def known_lengths(self, side: int, fingerprint: str) -> np.ndarray | None:
        """Return None: nothing is kept."""
        return None

    def keep_lengths(self, side: int, fingerprint: str, lengths: np.ndarray) -> None:
        """Do nothing: counting again takes less than a file."""


def in_memory(pairs: Sequence[Pair]) -> PairsInMemory:
    """Return pairs in a list as a training side."""
    return PairsInMemory([source for source, _ in pairs], [target for _, target in pairs])


@dataclass(frozen=True)
class Corpus:
    """The pairs of a corpus by what they are used for, each in the corpus' order.

    Attributes:
        train: the pairs that are learned from.
        dev, test: those held out, by split or because they were given apart.
        description: the corpus' name and files, for people.
        fingerprint: SHA-256 that another corpus has otherwise.
        dropped: how many pairs were left out, by reason.
        groups: how many groups of related pairs were split.
        shared: how many train pairs share a normalised sentence with dev or test; 0 unless these
            were given.
        vocabulary: returns the folder of a vocabulary that was learned from this corpus as a config
            says, or None.
    """

    train: Pairs
    dev: list[Pair]
    test: list[Pair]
    description: str
    fingerprint: str
    dropped: dict[str, int] = field(default_factory=dict)
    groups: int = 0
    shared: int = 0
    vocabulary: Callable[[TokenizerConfig], Path | None] = lambda config: None

    @property
    def pairs(self) -> int:
        """Number of pairs in all."""
        return len(self.train) + len(self.dev) + len(self.test)


def read_corpus(config: DataConfig) -> Corpus:
    """Read what `config` names, and split it, except for what is given apart.

    Raises:
        DataError: if it cannot be read, naming file, line and remedy; or is too small to be split.
        UsageError: if it has not the languages that are asked for.
    """
    if is_prepared(config.corpus):
        return _open_prepared(Prepared(Path(str(config.corpus)), config))
    reader = Reader(config)
    sources = reader.sources()
    pairs: list[Pair] = []
    weights: list[float] = []
    for source in sources:
        pairs.extend(source.pairs)
        weights.extend([source.weight] * (len(pairs) - len(weights)))
    given = HeldOut.read(reader, sources)
    keys = pair_keys(pairs)
    assigned = assign([keys], *given.to_split_off(config), config.split_seed)
    rows = {side: np.flatnonzero(assigned.sides == side) for side in (TRAIN, DEV, TEST, REPEATED)}
    reader.dropped["duplicate"] += len(rows[REPEATED])
    train_weights = np.array(weights, np.float32)[rows[TRAIN]]
    digest = given.digest()
    digest.update(keys[assigned.sides != REPEATED, PAIR].tobytes())
    corpus = Corpus(
        PairsInMemory(
            [pairs[row][0] for row in rows[TRAIN]],
            [pairs[row][1] for row in rows[TRAIN]],
            train_weights if (train_weights != 1).any() else None,
        ),
        given.dev if given.dev is not None else [pairs[row] for row in rows[DEV]],
        given.test if given.test is not None else [pairs[row] for row in rows[TEST]],
        describe(sources),
        digest.hexdigest(),
        dict(+reader.dropped),
        assigned.groups,
        given.shared(keys[rows[TRAIN]]),
    )
    for name in ("train", "dev", "test"):
        if not len(getattr(corpus, name)):
            raise too_small(corpus.description, corpus.pairs, corpus.groups, name)
    return corpus


def check_files(config: DataConfig) -> None:
    """Raise early what `read_corpus` raises of files that are missing or of another kind."""
    if not is_prepared(config.corpus):
        Reader(config).check_files()


def _open_prepared(prepared: Prepared) -> Corpus:
    metadata = prepared.metadata
    return Corpus(
        prepared.train,
        prepared.dev,
        prepared.test,
        metadata["description"],
        metadata["fingerprint"],
        metadata["dropped"],
        metadata["groups"],
        metadata["shared"],
        prepared.vocabulary,
    )


class HeldOut:
    """The dev and test pairs that are given apart from the corpus, each None where it is not.

    Args:
        dev, test: the pairs, none of them twice.
    """

    def __init__(self, dev: list[Pair] | None, test: list[Pair] | None):
        self.dev, self.test = dev, test
        self._keys = pair_keys([*(dev or []), *(test or [])])

    @classmethod
    def read(cls, reader: Reader, sources: Sequence[Source]) -> "HeldOut":
        """Read what the config or else the sources give, and count what they have twice."""
        sides = []
        for side in reader.held_out(sources):
            distinct = side if side is None else list(dict.fromkeys(side))
            reader.dropped["duplicate"] += len(side or []) - len(distinct or [])
            sides.append(distinct)
        return cls(*sides)

    def to_split_off(self, config: DataConfig) -> tuple[int, int]:
        """Return how many dev and how many test pairs the corpus itself has to give."""
        return (
            config.dev_pairs if self.dev is None else 0,
            config.test_pairs if self.test is None else 0,
        )

    def shared(self, train_keys: np.ndarray) -> int:
        """Count the train pairs that have a normalised sentence of these."""
        return int(shares_a_sentence(train_keys, self._keys).sum())

    def digest(self) -> "hashlib._Hash":
        """Return the beginning of the corpus' fingerprint, to be updated with its pairs' keys."""
        counts = [-1 if side is None else len(side) for side in (self.dev, self.test)]
        digest = hashlib.sha256(np.array(counts, np.int64).tobytes())
        digest.update(self._keys[:, PAIR].tobytes())
        return digest


def describe(sources: Sequence[Source]) -> str:
    """Name the sources, with their weights where they have any."""
    return ", ".join(
        source.description + (f" (weight {source.weight:g})" if source.weight != 1 else "")
        for source in sources
    )


def too_small(description: str, pairs: int, groups: int, split: str) -> DataError:
    """Return the error of a corpus that has nothing for a split."""
    return DataError(
        f"{description}: its {pairs} pairs, in {groups} independent groups, leave nothing for the "
        f"{split} split. A corpus of at least some hundreds of different sentences is needed"
    )
