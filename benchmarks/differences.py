"""The differences of weights, translations and times of two versions."""

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MARGIN = 0.03  # a version is marked if it takes longer by more than this share


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a SHA-256 of arrays that does not depend on their names and order."""
    parts = sorted(
        (str(array.dtype), array.shape, hashlib.sha256(array.tobytes()).hexdigest())
        for array in arrays.values()
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def difference(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> str:
    """Return in words how far apart two sets of weights are.

    The relative difference of an array is its largest one divided by its largest weight.
    """
    kept, now = ({(name, x.shape) for name, x in side.items()} for side in (before, after))
    if kept != now:
        return (
            f"names or shapes differ: {len(kept - now)} arrays only before, {len(now - kept)} only "
            "after"
        )
    apart = {name: float(np.abs(after[name] - array).max()) for name, array in before.items()}
    relative = {name: apart[name] / float(np.abs(before[name]).max() or 1) for name in apart}
    (absolute, widest), (ratio, farthest) = (
        max((value, name) for name, value in values.items()) for values in (apart, relative)
    )
    return (
        f"{sum(value > 0 for value in apart.values())} of {len(apart)} arrays differ: by "
        f"{absolute:.2g} at most ({widest}), relative {ratio:.2g} ({farthest})"
    )


def compare_translations(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[int, float]:
    """Return how many texts are equal, and the largest difference of two scores.

    Raises:
        ValueError: if their numbers differ, or a record has no text or score.
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} translations before, {len(after)} after")
    rows = list(zip(before, after, strict=True))
    try:
        equal = sum(a["translation"] == b["translation"] for a, b in rows)
        return equal, max(abs(a["score"] - b["score"]) for a, b in rows)
    except KeyError as error:
        raise ValueError(f"s2s translate --json gave a record without {error}") from error


def compare_times(before: Sequence[float], after: Sequence[float]) -> tuple[str, str, str, str]:
    """Return the columns for two series of times: before, after, verdict, note."""
    shown = [f"{statistics.median(x):.1f} ({min(x):.1f} to {max(x):.1f})" for x in (before, after)]
    ratio = statistics.median(after) / statistics.median(before)
    return shown[0], shown[1], "SLOWER" if ratio > 1 + MARGIN else "ok", f"new / old {ratio:.3f}"
