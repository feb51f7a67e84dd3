"""Estimates the remaining time of training."""

import collections
import math


class Pace:
    """Estimates the time left from the speed of recent updates.

    The first updates do not count, because they are slow. Nor do other operations, such as
    compilation.

    Args:
        budget_seconds: time after which training ends, or infinity.
        validate_every: updates between validations.
    """

    WINDOW = 10  # of the latest calls of `updated`

    def __init__(self, budget_seconds: float, validate_every: int):
        self._budget_seconds = budget_seconds
        self._validate_every = validate_every
        self._has_begun = False
        self._recent: collections.deque[tuple[int, float]] = collections.deque(maxlen=self.WINDOW)
        self._validation_seconds = 0.0

    def updated(self, updates: int, seconds: float) -> None:
        """Record the seconds that some updates took, without validation."""
        if self._has_begun:
            self._recent.append((updates, seconds))
        self._has_begun = True

    def validated(self, seconds: float) -> None:
        """Record the seconds that a validation took."""
        self._validation_seconds = seconds

    def seconds_left(self, updates_left: float, seconds: float) -> float | None:
        """Return the time to the limit that comes first; None until there is an estimate.

        Args:
            updates_left: updates until training ends, or infinity.
            seconds: spent in training, that of earlier processes included.
        """
        budget_left = max(0.0, self._budget_seconds - seconds)
        if math.isinf(updates_left):
            return budget_left
        if not self._recent:
            return None
        updates, taken = map(sum, zip(*self._recent, strict=True))
        seconds_per_update = taken / updates + self._validation_seconds / self._validate_every
        return min(budget_left, seconds_per_update * updates_left)
