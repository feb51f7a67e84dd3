"""How often each pair occurs in an epoch, if pairs have weights."""

import numpy as np


class Repetitions:
    """The pairs of an epoch and their numbers of occurrences, by their weights.

    A pair of weight 2.3 occurs twice in each epoch. Three of ten such pairs, drawn for each epoch,
    occur once more. Every epoch draws the same number of pairs of each shape and weight, at least
    one, so that all have the same number of batches.

    Args:
        weights: float32 of shape [pairs], how often each pair occurs on average.
        shapes: int of shape [pairs], the number of the shape that each pair's batches have.
    """

    def __init__(self, weights: np.ndarray, shapes: np.ndarray):
        self._whole = np.floor(weights).astype(np.int32)
        fractions = weights - self._whole
        self._drawn: list[tuple[np.ndarray, int]] = []  # pairs, and how many of them
        for fraction in np.unique(fractions[fractions > 0]):
            for shape in np.unique(shapes):
                rows = np.flatnonzero((fractions == fraction) & (shapes == shape))
                if len(rows):
                    count = max(1, round(float(fraction) * len(rows)))
                    self._drawn.append((rows.astype(np.int32), count))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return an epoch's pairs (int32 indices), each as often as it occurs, not shuffled."""
        always = np.repeat(np.arange(len(self._whole), dtype=np.int32), self._whole)
        sometimes = (rng.choice(rows, count, replace=False) for rows, count in self._drawn)
        return np.concatenate([always, *sometimes])
