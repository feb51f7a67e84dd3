"""Leak-free splits: what is nearly the same sentence never stands on two sides."""

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from seq2seq_cli.config import DataConfig
from seq2seq_cli.data.sources import Corpus, Pair, read_corpus
from seq2seq_cli.errors import DataError


@dataclass(frozen=True)
class Splits:
    """The pairs of a corpus by what they are used for, each in the corpus' order.

    Attributes:
        train, dev, test: the pairs.
        groups: how many groups of related pairs were split.
        shared: how many train pairs share a normalised sentence with dev or test; 0 unless these
            were given.
    """

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    groups: int
    shared: int = 0


def read_splits(config: DataConfig) -> tuple[Corpus, Splits]:
    """Read the corpus that `config` names, and split it, except for what is given apart.

    Raises:
        DataError: if it cannot be read, or is too small to be split.
    """
    corpus = read_corpus(config)
    splits = split_pairs(
        corpus.pairs,
        config.dev_pairs if corpus.dev is None else 0,
        config.test_pairs if corpus.test is None else 0,
        config.split_seed,
    )
    if corpus.dev is not None or corpus.test is not None:
        dev, test = corpus.dev or splits.dev, corpus.test or splits.test
        shared = _count_shared(splits.train, [*dev, *test])
        splits = Splits(splits.train, dev, test, splits.groups, shared)
    for name in ("train", "dev", "test"):
        if not getattr(splits, name):
            raise DataError(
                f"{corpus.description}: its {len(corpus.pairs)} pairs, in {splits.groups} "
                f"independent groups, leave nothing for the {name} split. A corpus of at least "
                "some hundreds of different sentences is needed"
            )
    return corpus, splits


def normalise(sentence: str) -> str:
    """Reduce a sentence to what makes it the same: compatible letters, no case or punctuation."""
    folded = unicodedata.normalize("NFKC", sentence).casefold()
    kept = "".join(c for c in folded if unicodedata.category(c)[0] not in "PS")
    return " ".join(kept.split()) or folded


def split_pairs(pairs: list[Pair], dev_pairs: int, test_pairs: int, seed: int) -> Splits:
    """Split by groups of pairs that share a normalised source or target.

    A pair's group is its connected component; a hash of the group's smallest key and the seed
    picks the split. So a pair stays where it is when others, of other groups, come or go, as long
    as the shares asked for stay the same.

    Args:
        pairs: (source, target).
        dev_pairs: about how many pairs to hold out for dev; at most a tenth.
        test_pairs: the same for test.
        seed: another seed gives another split.
    """
    keys = [(f"s {normalise(s)}", f"t {normalise(t)}") for s, t in pairs]
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while (above := parent.setdefault(key, key)) != key:
            parent[key] = key = parent[above]
        return key

    for source, target in keys:
        # The smaller key becomes the root: the group's name is independent of the order.
        low, high = sorted((root(source), root(target)))
        parent[high] = low

    test_share = min(0.1, test_pairs / len(pairs))
    dev_share = min(0.1, dev_pairs / len(pairs))
    splits = Splits([], [], [], groups=sum(root(key) == key for key in list(parent)))
    for pair, (source, _) in zip(pairs, keys, strict=True):
        draw = _uniform(root(source), seed)
        if draw < test_share:
            splits.test.append(pair)
        elif draw < test_share + dev_share:
            splits.dev.append(pair)
        else:
            splits.train.append(pair)
    return splits


def _count_shared(train: list[Pair], held_out: list[Pair]) -> int:
    sides = [{normalise(pair[side]) for pair in held_out} for side in (0, 1)]
    return sum(normalise(s) in sides[0] or normalise(t) in sides[1] for s, t in train)


def group_references(pairs: Iterable[Pair]) -> tuple[list[str], list[list[str]]]:
    """Return the distinct sources, in order, and for each all of its targets."""
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    return list(references), list(references.values())


def _uniform(key: str, seed: int) -> float:
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
