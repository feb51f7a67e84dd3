"""Statistics of a corpus and its splits."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pairs import in_memory, in_target_language
from seq2seq_cli.data.splits import Pair, group_references, normalise
from seq2seq_cli.work import ShowWork, show_nothing


@dataclass(frozen=True)
class Side:
    """One language of the corpus. Lengths are numbers of words, at the named percentiles."""

    language: str
    words: int
    distinct_words: int
    mean_length: float
    length_percentiles: dict[str, int]


@dataclass(frozen=True)
class SplitStatistics:
    """One split. Coverage is the share of its words that occur in the training side."""

    name: str
    pairs: int
    sources: int
    references_per_source: float
    source_coverage: float
    target_coverage: float


@dataclass(frozen=True)
class Statistics:
    """A corpus, its two sides and its three splits."""

    corpus: str
    fingerprint: str
    pairs: int
    groups: int
    dropped: dict[str, int]
    sides: list[Side]
    splits: list[SplitStatistics]


def statistics(config: DataConfig, show: ShowWork = show_nothing) -> Statistics:
    """Read the corpus that `config` names, split it, and compute its statistics.

    Args:
        config: the table `[data]`.
        show: shows the number of pairs that have been read.

    Raises:
        DataError: if it cannot be read or split.
    """
    corpus = read_corpus(config, show)
    show("Counting words")
    train = in_memory(list(corpus.train))
    # Train pairs can have further target languages, which count only as sources.
    targets = [target for _, target in in_target_language(replace(train, tags=corpus.train.tags))]
    train_words = [_words(train.sources), _words(targets)]
    held_out = [*corpus.dev, *corpus.test]
    return Statistics(
        corpus=corpus.description,
        fingerprint=corpus.fingerprint,
        pairs=corpus.pairs,
        groups=corpus.groups,
        dropped=corpus.dropped,
        sides=[
            _side(config.source_language, [*train.sources, *(source for source, _ in held_out)]),
            _side(config.target_language, [*targets, *(target for _, target in held_out)]),
        ],
        splits=[
            _split("train", list(train), targets, train_words),
            _split("dev", corpus.dev, [target for _, target in corpus.dev], train_words),
            _split("test", corpus.test, [target for _, target in corpus.test], train_words),
        ],
    )


def _words(sentences: Iterable[str]) -> Counter[str]:
    return Counter(word for sentence in sentences for word in normalise(sentence).split())


def _side(language: str, sentences: Sequence[str]) -> Side:
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    points = (5, 50, 95, 99, 100)
    values = np.percentile(lengths, points, method="lower")
    return Side(
        language,
        int(lengths.sum()),
        len(_words(sentences)),
        float(lengths.mean()),
        {f"{point}%": int(value) for point, value in zip(points, values, strict=True)},
    )


def _split(
    name: str, pairs: list[Pair], targets: list[str], train_words: list[Counter[str]]
) -> SplitStatistics:
    """Return the statistics of a split; `targets` are those in `data.target_language`."""
    coverage = []
    sides = [source for source, _ in pairs], targets
    for sentences, known in zip(sides, train_words, strict=True):
        words = _words(sentences)
        seen = sum(n for word, n in words.items() if word in known)
        coverage.append(seen / max(words.total(), 1))
    sources, references = group_references(pairs)
    return SplitStatistics(
        name, len(pairs), len(sources), sum(map(len, references)) / len(sources), *coverage
    )
