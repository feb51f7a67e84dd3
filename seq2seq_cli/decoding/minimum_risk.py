"""Minimum Bayes risk decoding: the hypothesis with the highest expected similarity."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from seq2seq_cli.bleu_tokenizers import bleu_tokenizer

_CHARACTERS, _WORDS = 6, 4  # the longest n-grams of chrF and of BLEU
_BETA = 2


def expected_utilities(texts: Sequence[str], weights: np.ndarray, utility: str) -> np.ndarray:
    """Return the expected utility of each hypothesis if one of them is the reference.

        E(h) = sum over r of p(r) u(h, r)

    Kumar and Byrne (2004), "Minimum Bayes-risk decoding for statistical machine translation",
    equation 3, with a utility instead of a loss; Eikema and Aziz (2020) for samples.

    Args:
        texts: N hypotheses of a sentence; each is also a reference.
        weights: p, float of shape [N], of any positive sum.
        utility: `chrf` or `bleu`, both of a sentence as sacreBLEU computes them.

    Returns:
        float64 of shape [N], from 0 to 100.
    """
    scores = {"chrf": chrf, "bleu": bleu}[utility](texts)
    return scores @ (weights / weights.sum())


def chrf(texts: Sequence[str]) -> np.ndarray:
    """Return chrF of each text against each other: float64 [hypotheses, references]."""
    characters = ["".join(text.split()) for text in texts]
    precision, recall, orders = (np.zeros([len(texts)] * 2) for _ in range(3))
    for order in range(1, _CHARACTERS + 1):
        matches, totals = _matches(characters, order)
        both = np.minimum.outer(totals, totals) > 0
        precision += matches / np.maximum(totals[:, np.newaxis], 1)
        recall += matches / np.maximum(totals, 1)
        orders += both
    precision /= np.maximum(orders, 1)
    recall /= np.maximum(orders, 1)
    divisor = _BETA**2 * precision + recall
    return 100 * (1 + _BETA**2) * precision * recall / np.where(divisor == 0, 1, divisor)


def bleu(texts: Sequence[str]) -> np.ndarray:
    """Return sentence BLEU of each text against each other: float64 [hypotheses, references]."""
    tokenize: Callable[[str], str] = BLEU(tokenize=bleu_tokenizer(texts)).tokenizer
    words = [tokenize(text).split() for text in texts]
    matches, totals = zip(*(_matches(words, order) for order in range(1, _WORDS + 1)), strict=True)
    scores = np.empty([len(texts)] * 2)
    for i, j in np.ndindex(*scores.shape):
        scores[i, j] = BLEU.compute_bleu(
            [int(each[i, j]) for each in matches],
            [int(each[i]) for each in totals],
            len(words[i]),
            len(words[j]),
            smooth_method="exp",
            effective_order=True,
        ).score
    return scores


def _matches(texts: Sequence[Sequence[str]], order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many n-grams each two texts share, int [N, N], and how many each has, int [N]."""
    counted = [
        Counter(tuple(text[i : i + order]) for i in range(len(text) - order + 1)) for text in texts
    ]
    columns = {ngram: column for column, ngram in enumerate(set().union(*counted))}
    counts = np.zeros([len(texts), len(columns)], np.int32)
    for row, ngrams in enumerate(counted):
        for ngram, number in ngrams.items():
            counts[row, columns[ngram]] = number
    # Row by row: all pairs at once would need much memory.
    matches = np.array([np.minimum(counts, row).sum(axis=1) for row in counts])
    return matches, counts.sum(axis=1)
