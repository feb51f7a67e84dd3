"""The training pairs most similar to a sentence, by the words that they share."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from seq2seq_cli.data.pairs import Pairs
from seq2seq_cli.data.splits import normalise
from seq2seq_cli.runs.disk import publish

MOST_PAIRS = 1_000_000  # that are indexed; of a larger corpus an even selection
_READ_AT_ONCE = 4096
_MOST_WORDS = 12  # of a sentence that are compared in pairs: the rarest
_ARRAYS = ("words", "word_ends", "starts", "rows", "texts", "ends", "total")
_FORMAT = 3  # of the file; raise it when the format changes


class Part(NamedTuple):
    """A part of a training source, and whether it is a word that the sentence also has."""

    text: str
    is_shared: bool


class Neighbour(NamedTuple):
    """A training pair.

    Attributes:
        similarity: from 0 to 1: the weights of the words that it shares with the sentence, divided
            by those of all words of both. A word's weight is log(1 + N / n): N pairs, n with the
            word.
        shared: the words, normalised.
        parts: the source, split into words and the spaces between them.
    """

    source: str
    target: str
    similarity: float
    shared: list[str]
    parts: list[Part]


class Index:
    """The words of training pairs, and the pairs that have them.

    Args:
        words: UTF-8 of all words, normalised and in alphabetical order, concatenated.
        word_ends: int64 [words], the positions in `words` where each word ends.
        starts: int64 [words + 1], the positions in `rows` where the pairs of each word begin.
        rows: int32, the pairs with each word, ascending.
        texts: UTF-8 of all sources and targets, concatenated.
        ends: int64 [2 pairs], the positions in `texts` where each source and each target ends.
        total: the number of training pairs, of which these may be a selection.
    """

    def __init__(
        self,
        words: np.ndarray,
        word_ends: np.ndarray,
        starts: np.ndarray,
        rows: np.ndarray,
        texts: np.ndarray,
        ends: np.ndarray,
        total: int | np.ndarray,
    ):
        self._arrays: dict[str, Any] = {"words": words, "word_ends": word_ends, "starts": starts}
        self._arrays |= {"rows": rows, "texts": texts, "ends": ends}
        self._arrays["total"] = np.array(total)
        self._numbers = {
            bytes(words[begin:end]).decode(): number
            for number, (begin, end) in enumerate(itertools.pairwise([0, *word_ends.tolist()]))
        }
        self._starts, self._rows, self._texts, self._ends = starts, rows, texts, ends
        self._weights = np.log1p(self.pairs / np.maximum(1, np.diff(starts)))
        self._totals = np.bincount(
            rows, np.repeat(self._weights, np.diff(starts)), minlength=self.pairs
        )

    @property
    def pairs(self) -> int:
        """The number of pairs that are indexed."""
        return len(self._ends) // 2

    @property
    def total(self) -> int:
        """The number of training pairs."""
        return int(self._arrays["total"])

    @classmethod
    def build(
        cls,
        pairs: Pairs,
        progress: Callable[[int], None] = lambda done: None,
        total: int | None = None,
    ) -> "Index":
        """Index the training side of a corpus.

        Args:
            pairs: the training side, or a selection.
            progress: called with the number of pairs that are done, as it grows.
            total: the number of pairs of the training side; None if `pairs` has all.
        """
        count = min(len(pairs), MOST_PAIRS)
        chosen = np.arange(count) * len(pairs) // max(1, count)
        numbers: dict[str, int] = {}
        flat: list[np.ndarray] = []
        sizes: list[int] = []
        texts: list[bytes] = []
        for begin in range(0, count, _READ_AT_ONCE):
            sources, targets = pairs.take(chosen[begin : begin + _READ_AT_ONCE])
            for source, target in zip(sources, targets, strict=True):
                words = dict.fromkeys(normalise(source).split())
                flat.append(np.array([numbers.setdefault(w, len(numbers)) for w in words], int))
                sizes.append(len(words))
                texts += [source.encode(), target.encode()]
            progress(min(count, begin + _READ_AT_ONCE))
        order = sorted(numbers)
        rank = np.empty(len(order), np.int64)
        rank[[numbers[word] for word in order]] = np.arange(len(order))
        word_of = rank[np.concatenate([*flat, np.zeros(0, int)])]
        rows = np.repeat(np.arange(count, dtype=np.int32), sizes)
        starts = np.concatenate([[0], np.cumsum(np.bincount(word_of, minlength=len(order)))])
        return cls(
            *_joined([word.encode() for word in order]),
            starts,
            rows[np.argsort(word_of, kind="stable")],
            *_joined(texts),
            len(pairs) if total is None else total,
        )

    def save(self, path: Path) -> None:
        """Write the index; the file is complete or absent.

        Raises:
            OSError: if it cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, format=np.array(_FORMAT), **self._arrays)
        publish(part, path)

    @classmethod
    def load(cls, path: Path) -> "Index | None":
        """Read an index, or return None if there is no usable one."""
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                if int(file["format"]) != _FORMAT:
                    return None
                return cls(*(file[name] for name in _ARRAYS))
        except (OSError, EOFError, ValueError, KeyError, IndexError, BadZipFile):
            return None

    def nearest(self, sentence: str, number: int) -> list[Neighbour]:
        """Return the training pairs whose sources are most similar to a sentence, best first."""
        words = dict.fromkeys(normalise(sentence).split())
        known = [self._numbers[word] for word in words if word in self._numbers]
        # A word that occurs in no pair counts like one that occurs in a single pair.
        own = float(self._weights[known].sum()) + (len(words) - len(known)) * np.log1p(self.pairs)
        shared = np.zeros(self.pairs)
        for word in known:
            shared[self._with(word)] += self._weights[word]
        similarity = shared / np.maximum(self._totals + own - shared, 1e-12)
        best = np.argsort(-similarity, kind="stable")[:number]
        return [
            self._neighbour(int(row), float(similarity[row]), words)
            for row in best
            if similarity[row] > 0
        ]

    def unseen(self, sentence: str) -> list[str]:
        """Return the words of a sentence that occur in no indexed source."""
        words = dict.fromkeys(normalise(sentence).split())
        return [word for word in words if word not in self._numbers]

    def never_together(self, sentence: str) -> list[tuple[str, str]]:
        """Return pairs of words of a sentence that are indexed, but not from one source.

        In a long sentence, only the rarest words are compared.
        """
        words = dict.fromkeys(normalise(sentence).split())
        known = [word for word in words if word in self._numbers]
        counts = Counter({word: len(self._with(self._numbers[word])) for word in known})
        rarest = set(sorted(known, key=lambda word: counts[word])[:_MOST_WORDS])
        compared = [word for word in known if word in rarest]
        return [
            (first, second)
            for first, second in itertools.combinations(compared, 2)
            if not len(
                np.intersect1d(
                    self._with(self._numbers[first]),
                    self._with(self._numbers[second]),
                    assume_unique=True,
                )
            )
        ]

    def _with(self, word: int) -> np.ndarray:
        return self._rows[self._starts[word] : self._starts[word + 1]]

    def _neighbour(self, row: int, similarity: float, words: Sequence[str] | dict) -> Neighbour:
        source, target = self._text(2 * row), self._text(2 * row + 1)
        own = set(normalise(source).split())
        shared = [word for word in words if word in own]
        parts = [
            Part(text, not set(shared).isdisjoint(normalise(text).split()))
            for text in re.split(r"(\s+)", source)
            if text
        ]
        return Neighbour(source, target, similarity, shared, parts)

    def _text(self, number: int) -> str:
        begin = self._ends[number - 1] if number else 0
        return bytes(self._texts[begin : self._ends[number]]).decode()


def _joined(texts: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return texts concatenated (uint8), and the positions where each ends (int64)."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ends
