"""Calibration: how well a model's confidence in its tokens matches how often they are right."""

from dataclasses import dataclass

import numpy as np

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Tokens of similar confidence.

    Attributes:
        lowest: the lower end of the bin; its width is 1 / BINS.
        tokens: number of tokens.
        confidence, accuracy: their means, from 0 to 1.
    """

    lowest: float
    tokens: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """Confidence and accuracy, over the tokens of the first references.

    The model reads the reference (teacher forcing) and predicts each next token. Its confidence is
    the probability of the most probable token. The prediction is right if the reference has this
    token.

    Attributes:
        tokens: number of predicted tokens, EOS included.
        confidence, accuracy: their means, from 0 to 1.
        error: the expected calibration error (Guo et al. 2017, equation 3): the mean difference of
            confidence and accuracy in BINS bins of equal width, weighted by their tokens.
        bins: the bins that have tokens.
    """

    tokens: int
    confidence: float
    accuracy: float
    error: float
    bins: list[Bin]


def calibrate(confidence: np.ndarray, correct: np.ndarray) -> Calibration | None:
    """Return the calibration of predictions; None without tokens.

    Args:
        confidence: float of shape [tokens], from 0 to 1.
        correct: bool of shape [tokens], whether the most probable token was right.
    """
    if not len(confidence):
        return None
    numbers = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = []
    for number in np.unique(numbers).tolist():
        chosen = numbers == number
        bins.append(
            Bin(
                number / BINS,
                int(chosen.sum()),
                float(confidence[chosen].mean()),
                float(correct[chosen].mean()),
            )
        )
    tokens = len(confidence)
    error = sum(each.tokens * abs(each.confidence - each.accuracy) for each in bins) / tokens
    return Calibration(tokens, float(confidence.mean()), float(correct.mean()), error, bins)
