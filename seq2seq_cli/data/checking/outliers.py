"""Pairs that differ from the rest of their corpus: in length, in language, in alignment.

Nothing here depends on a language. The usual values are learned from the corpus, most of which is
correct.
"""

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ENOUGH = 300
"""Minimum number of pairs to judge; fewer are not enough to learn from."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def extreme_ratios(lengths: NDArray[np.int32]) -> Bools:
    """Return which pairs have an extreme length ratio.

    A pair is extreme if the logarithm of (target + 1) / (source + 1) differs from its median in the
    corpus by more than 6 robust standard deviations (1.4826 times the median absolute deviation)
    and by more than a factor of 2, and the longer side has over 15 characters more than usual.

    Args:
        lengths: numbers of characters of source and target, shape [N, 2].
    """
    source, target = (lengths[:, side] + 1.0 for side in (0, 1))
    log_ratio = np.log(target / source)
    usual = np.median(log_ratio)
    distance = np.abs(log_ratio - usual)
    limit = max(6 * 1.4826 * np.median(distance), np.log(2))
    excess = np.maximum(target - source * np.exp(usual), source - target * np.exp(-usual))
    return (distance > limit) & (excess > 15)


class Languages:
    """Two languages, learned as character trigrams from the two sides of a corpus.

    A side's score is the sum over its trigrams of log p(trigram | own side) - log p(trigram | other
    side), each clipped to ±4, with the trigram's own occurrence not counted (naive Bayes, as in
    Cavnar and Trenkle 1994's n-gram profiles, with add-1/2 smoothing).
    """

    BUCKETS = 1 << 18

    def __init__(self) -> None:
        self._counts: Floats = np.zeros((2, self.BUCKETS))

    def learn(self, sides: Sequence[Sequence[str]]) -> None:
        """Count the trigrams of the source and of the target sentences."""
        for counts, texts in zip(self._counts, sides, strict=True):
            counts += np.bincount(_trigrams(texts)[0], minlength=self.BUCKETS)

    def forget(self, sides: Sequence[Sequence[str]]) -> None:
        """Undo `learn` for these sentences."""
        for counts, texts in zip(self._counts, sides, strict=True):
            counts -= np.bincount(_trigrams(texts)[0], minlength=self.BUCKETS)

    def wrong(self, sides: Sequence[Sequence[str]]) -> Bools:
        """Return which pairs have their sides swapped, or both sides in one language.

        Swapped: both scores are below 0, and their sum is below -8. In one language: a score is
        below -12, and below -0.6 per trigram. So a short or international sentence passes.

        Args:
            sides: source and target sentences that `learn` has seen.
        """
        totals = self._counts.sum(axis=1)
        scores, means = np.zeros((2, len(sides[0]))), np.zeros((2, len(sides[0])))
        for side in (0, 1):
            trigrams, rows = _trigrams(sides[side])
            own, other = self._counts[side][trigrams] - 1, self._counts[1 - side][trigrams]
            gain = np.log((own + 0.5) / (other + 0.5)) + np.log(totals[1 - side] / totals[side])
            scores[side] = np.bincount(rows, np.clip(gain, -4, 4), minlength=len(sides[0]))
            means[side] = scores[side] / np.bincount(rows, minlength=len(sides[0])).clip(1)
        swapped = (scores < 0).all(axis=0) & (scores.sum(axis=0) < -8)
        return swapped | ((scores < -12) & (means < -0.6)).any(axis=0)


def _trigrams(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the bucket and the text index of each trigram. Texts are between two line breaks."""
    lines = [f"\n{text.lower()}\n" for text in texts]
    lengths = np.array([len(line) for line in lines], np.int64)
    codes = np.frombuffer("".join(lines).encode("utf-32-le"), np.uint32)
    first, second, third = (codes[start : len(codes) - 2 + start] for start in range(3))
    mixed = (
        first * np.uint32(2654435761)
        ^ second * np.uint32(2246822519)
        ^ third * np.uint32(3266489917)
    )
    rows = np.repeat(np.arange(len(texts)), lengths)
    whole = rows[:-2] == rows[2:]
    return (mixed[whole] >> np.uint32(14)).astype(np.int64), rows[:-2][whole]


_WORD = re.compile(r"\w+")


def marks_of(text: str) -> int:
    """Return 1 for a question mark in the text, plus 2 for an exclamation mark."""
    question = any(mark in text for mark in "?？؟")
    exclamation = any(mark in text for mark in "!！")
    return question + 2 * exclamation


def names_of(text: str) -> int:
    """Return a 64-bit Bloom filter of the names and numbers in a text.

    Translations often keep them. A name is a word with a capital. Only its first four letters count
    (Simard, Foster and Isabelle 1992 align sentences by such cognates).
    """
    found = 0
    for word in _WORD.findall(text):
        if word[0].isupper() or word[0].isdigit():
            found |= 1 << (zlib.crc32(word[:4].encode()) & 63)
    return found


REACH = 5
_BACKGROUND = (*range(-20, -9), *range(10, 21))
_LENGTH_EDGES = np.array([-0.8, -0.5, -0.3, -0.15, -0.05, 0.05, 0.15, 0.3, 0.5, 0.8])
_SWITCH_COST = 30.0


def slips(lengths: NDArray[np.int32], marks: NDArray[np.uint8], names: NDArray[np.uint64]) -> Ints:
    """Return by how many lines the target of each pair is shifted; 0 if it is not.

    The fit of source i and target i + k is a sum of log-likelihood ratios of three features: the
    ratio of lengths (Gale and Church 1993), question and exclamation marks, and shared names and
    numbers. Their distributions in true pairs are learned at the lag k at which they differ most
    from chance. That is 0 unless another lag is twice as good as all the rest. Their distributions
    by chance are learned from targets 10 to 20 lines off, so that a sorted file, whose neighbours
    are similar, is judged by what distinguishes neighbours. Viterbi's algorithm finds the best
    sequence of lags, where a change of lag costs 30 nats.

    Args:
        lengths: numbers of characters of source and target, shape [N, 2].
        marks: `marks_of` of both, shape [N, 2].
        names: `names_of` of both, shape [N, 2].

    Returns:
        Lags from -5 to 5, int64 of shape [N]: the offset in lines of each source's translation.
    """
    count = len(lengths)
    logs = np.log1p(lengths)
    usual = np.median(logs[:, 1] - logs[:, 0])

    def features(lag: int) -> list[Ints]:
        target = np.clip(np.arange(count) + lag, 0, count - 1)
        left, right = names[:, 0], names[target, 1]
        either, both, shared = (left | right) != 0, (left != 0) & (right != 0), (left & right) != 0
        return [
            np.digitize(logs[target, 1] - logs[:, 0] - usual, _LENGTH_EDGES),
            marks[:, 0].astype(np.int64) * 4 + marks[target, 1],
            either.astype(np.int64) + both + shared,
        ]

    def log_shares(lags: Sequence[int]) -> list[Floats]:
        # One count per lag for smoothing: a value that never occurs is not evidence.
        totals = [np.full(size, float(len(lags))) for size in (len(_LENGTH_EDGES) + 1, 16, 4)]
        for lag in lags:
            for total, values in zip(totals, features(lag), strict=True):
                total += np.bincount(values, minlength=len(total))
        return [np.log(total / total.sum()) for total in totals]

    def divergence(shares: list[Floats]) -> float:
        return float(sum((np.exp(p) * (p - q)).sum() for p, q in zip(shares, chance, strict=True)))

    lags = range(-REACH, REACH + 1)
    chance = log_shares(_BACKGROUND)
    shares = {lag: log_shares([lag]) for lag in lags}
    second, best = sorted(lags, key=lambda lag: divergence(shares[lag]))[-2:]
    if divergence(shares[best]) < 2 * divergence(shares[second]):
        best = 0  # several lags fit a generated corpus, whose sentences alternate
    tables = [p - q for p, q in zip(shares[best], chance, strict=True)]
    fit = np.empty((count, len(lags)), np.float32)
    for column, lag in enumerate(lags):
        fit[:, column] = sum(
            table[values] for table, values in zip(tables, features(lag), strict=True)
        )
    return _best_path(fit) - REACH


def _best_path(fit: NDArray[np.float32]) -> Ints:
    """Return the column of each row on the best path, which starts in the middle at no cost."""
    count, columns = fit.shape
    switched = np.empty((count, columns), np.bool_)
    leaders = np.empty(count, np.int8)
    score = np.full(columns, -_SWITCH_COST)
    score[columns // 2] = 0.0
    for row in range(count):
        leaders[row] = leader = score.argmax()
        least = score[leader] - _SWITCH_COST
        np.less(score, least, out=switched[row])
        np.maximum(score, least, out=score)
        score += fit[row]
    path = np.empty(count, np.int64)
    column = score.argmax()
    for row in range(count - 1, -1, -1):
        path[row] = column
        if switched[row, column]:
            column = leaders[row]
    return path
