"""Leak-free splits: two splits never contain nearly the same sentence.

A sentence is represented by its key, a 64-bit hash of its normalised text, so that the corpus
need not be in memory. The probability that two of 10 million different sentences have the same key
is 3 in a million. Then a group is larger than necessary, or a pair counts as a repetition.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

Pair = tuple[str, str]

TRAIN, DEV, TEST, REPEATED, LEAKED = range(5)

PAIR, SOURCE, TARGET = range(3)  # the columns of an array of keys

_PARTITION_PAIRS = 1 << 20  # approximate number of keys that are sorted at once
_SLICE = 1 << 20  # number of pairs that are processed at once


class Assignment(NamedTuple):
    """The split of each pair of a corpus.

    Attributes:
        sides: int8 of shape [pairs]: TRAIN, DEV, TEST, REPEATED (the pair has occurred before), or
            LEAKED (it is for training only, and shares a sentence with dev or test).
        groups: number of groups of related pairs.
    """

    sides: np.ndarray
    groups: int


class _WithoutPunctuation(dict[int, int | None]):
    """A table for str.translate that removes punctuation and symbols."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code))[0] in "PS" else code
        return self[code]


_WITHOUT_PUNCTUATION = _WithoutPunctuation()


def normalise(sentence: str) -> str:
    """Return a sentence in NFKC form, without case and punctuation, for comparisons."""
    folded = unicodedata.normalize("NFKC", sentence).casefold()
    return " ".join(folded.translate(_WITHOUT_PUNCTUATION).split()) or folded


def pair_keys(pairs: Iterable[Pair], target_first: bool = False) -> np.ndarray:
    """Return the keys of pairs, uint64 of shape [pairs, 3]: of the pair, its source, its target.

    The key of a pair is a hash of its exact text, not of its normalised text.

    Args:
        pairs: of sentences.
        target_first: exchange the sides of each pair before anything else.
    """
    sides = (pair[::-1] for pair in pairs) if target_first else pairs
    digests = b"".join(
        digest
        for first, second in sides
        for digest in (
            _digest(f"{first}\t{second}"),
            _digest(normalise(first)),
            _digest(normalise(second)),
        )
    )
    return np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, 3)


def assign(keys: Sequence[np.ndarray], dev_pairs: int, test_pairs: int, seed: int) -> Assignment:
    """Assign pairs to splits. Pairs that share a normalised source or target are in one split.

    Such pairs form groups, the connected components. The group's smallest source key and the seed
    determine its split. So a pair keeps its split when pairs of other groups are added or removed,
    as long as the shares of dev and test stay the same.

    Args:
        keys: the results of `pair_keys` for any number of parts, which are read several times.
        dev_pairs: approximate number of pairs to hold out for dev; at most a tenth is held out.
        test_pairs: the same for test.
        seed: determines the split.
    """
    repeated = find_repeated(keys)
    shares = held_out_shares(len(repeated) - int(repeated.sum()), dev_pairs, test_pairs)
    sources, source_keys = _number(keys, SOURCE)
    drawn = draw_sides(source_keys, shares, seed)
    del source_keys
    targets, target_keys = _number(keys, TARGET)
    labels = _components(sources, targets, len(drawn), len(target_keys))
    sides = np.empty(len(repeated), np.int8)
    for part in _slices(len(sides)):
        sides[part] = drawn[labels[sources[part]]]
    sides[repeated] = REPEATED
    return Assignment(sides, int((labels == np.arange(len(labels))).sum()))


def held_out_shares(pairs: int, dev_pairs: int, test_pairs: int) -> tuple[float, float]:
    """Return the shares of dev and test among so many different pairs, at most a tenth each."""
    return min(0.1, dev_pairs / max(pairs, 1)), min(0.1, test_pairs / max(pairs, 1))


def draw_sides(labels: np.ndarray, shares: tuple[float, float], seed: int) -> np.ndarray:
    """Return the split of each group: TRAIN, DEV or TEST, int8.

    Args:
        labels: uint64, the smallest source key of each group.
        shares: those of dev and test.
        seed: determines the split.
    """
    dev_share, test_share = shares
    sides = np.empty(len(labels), np.int8)
    for part in _slices(len(labels)):
        draws = _uniform(labels[part], seed)
        sides[part] = np.where(draws < test_share + dev_share, DEV, TRAIN)
        sides[part][draws < test_share] = TEST
    return sides


def shares_a_sentence(keys: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Return for each pair whether it shares a normalised sentence with the held-out pairs."""
    return np.isin(keys[:, SOURCE], held_out[:, SOURCE]) | np.isin(
        keys[:, TARGET], held_out[:, TARGET]
    )


def group_references(pairs: Iterable[Pair]) -> tuple[list[str], list[list[str]]]:
    """Return the distinct source sentences, in order, and all target sentences of each."""
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    return list(references), list(references.values())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _partitions(keys: Sequence[np.ndarray], column: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the keys of a column with their indices in the corpus, by ascending ranges of the keys.

    The indices ascend within each range.
    """
    bits = max(0, (sum(map(len, keys)) // _PARTITION_PAIRS).bit_length())
    for partition in range(1 << bits):
        found, indices, start = [], [], 0
        for part in keys:
            values = part[:, column]
            chosen = np.flatnonzero(values >> np.uint64(63 - bits) >> np.uint64(1) == partition)
            found.append(values[chosen])
            indices.append(chosen + start)
            start += len(values)
        yield np.concatenate(found), np.concatenate(indices)


def find_repeated(keys: Sequence[np.ndarray]) -> np.ndarray:
    """Return for each pair whether it has occurred before."""
    repeated = np.ones(sum(map(len, keys)), bool)
    for found, indices in _partitions(keys, PAIR):
        repeated[indices[np.unique(found, return_index=True)[1]]] = False
    return repeated


def _number(keys: Sequence[np.ndarray], column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys, ascending, and which of them each pair has."""
    numbers = np.empty(sum(map(len, keys)), np.int32)
    distinct: list[np.ndarray] = []
    count = 0
    for found, indices in _partitions(keys, column):
        unique, inverse = np.unique(found, return_inverse=True)
        numbers[indices] = inverse + count
        distinct.append(unique)
        count += len(unique)
    return numbers, np.concatenate(distinct)


def _components(
    sources: np.ndarray, targets: np.ndarray, source_count: int, target_count: int
) -> np.ndarray:
    """Return for each source the smallest source in its connected component (int32).

    In each round, every source takes the smallest label among the sources that share a target with
    it, and so does the source that was its label. Then each label is replaced by its own label
    until nothing changes.
    """
    labels = np.arange(source_count, dtype=np.int32)
    lowest = np.empty(target_count, np.int32)
    while True:
        before = int(labels.sum(dtype=np.int64))
        lowest.fill(source_count)
        for part in _slices(len(sources)):
            np.minimum.at(lowest, targets[part], labels[sources[part]])
        for part in _slices(len(sources)):
            found, own = lowest[targets[part]], labels[sources[part]]
            np.minimum.at(labels, sources[part], found)
            np.minimum.at(labels, own, found)
        while _follow(labels):
            pass
        if int(labels.sum(dtype=np.int64)) == before:
            return labels


def _follow(labels: np.ndarray) -> bool:
    """Replace each label by its own label, and return whether any changed."""
    changed = False
    for part in _slices(len(labels)):
        followed = labels[labels[part]]
        changed = changed or not np.array_equal(followed, labels[part])
        labels[part] = followed
    return changed


def _slices(length: int) -> Iterator[slice]:
    for start in range(0, length, _SLICE):
        yield slice(start, min(start + _SLICE, length))


def _uniform(keys: np.ndarray, seed: int) -> np.ndarray:
    """Return a float32 in [0, 1) for each key: SplitMix64 (Steele et al. 2014) of key and seed."""
    mixed = keys + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(40)).astype(np.float32) / 2**24
