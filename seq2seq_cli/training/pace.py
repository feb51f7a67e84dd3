"""How long a training still takes."""

import collections
import math


class Pace:
    """Estimates the time left from how fast this process has been of late.

    Time spent otherwise, as on compiling, and the first updates, which are slow, do not count.

    Args:
        total_steps: updates after which training ends, or infinity.
        budget_seconds: time after which training ends, or infinity.
        validate_every: updates between validations.
    """

    RECENT_REPORTS = 10

    def __init__(self, total_steps: float, budget_seconds: float, validate_every: int):
        self._total_steps = total_steps
        self._budget_seconds = budget_seconds
        self._validate_every = validate_every
        self._has_begun = False
        self._recent: collections.deque[tuple[int, float]] = collections.deque(
            maxlen=self.RECENT_REPORTS
        )
        self._validation_seconds = 0.0

    def updated(self, updates: int, seconds: float) -> None:
        """Take note of how long some updates took, without validation."""
        if self._has_begun:
            self._recent.append((updates, seconds))
        self._has_begun = True

    def validated(self, seconds: float) -> None:
        """Take note of how long a validation took."""
        self._validation_seconds = seconds

    def seconds_left(self, step: int, seconds: float) -> float | None:
        """Return the time to the limit that comes first; None until there is an estimate.

        Args:
            step: updates made, those of former processes included.
            seconds: spent in training so far, likewise.
        """
        budget_left = max(0.0, self._budget_seconds - seconds)
        if math.isinf(self._total_steps):
            return budget_left
        if not self._recent:
            return None
        updates, taken = map(sum, zip(*self._recent, strict=True))
        a_step = taken / updates + self._validation_seconds / self._validate_every
        return min(budget_left, a_step * max(0.0, self._total_steps - step))
