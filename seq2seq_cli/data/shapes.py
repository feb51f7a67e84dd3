"""The few shapes that batches are padded to."""

import numpy as np

# What a shape of batches has to save at least, as a share of an epoch's tokens, however cheap:
# each takes memory.
_LEAST_SAVING = 0.0005


def padded_shapes(
    lengths_2N: np.ndarray, weights: np.ndarray | None, cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the lengths that batches are padded to, so that there is little padding in few shapes.

    All pairs at first have one shape. They are cut in two by the length of the source, the target
    or the longer of both where that saves the most places, and so is each part, while a cut saves
    more than it costs.

    Args:
        lengths_2N: how many tokens the sources and the targets have.
        weights: how often each pair is shown, or None for once each; not all are 0.
        cost: of a cut, in places.

    Returns:
        shapes, int64: for each shape the lengths of both sides, of ascending sums; and int16 of N,
        which of them each pair has.
    """
    extent = tuple(lengths_2N.max(axis=1).astype(int) + 1)
    both, kind_of = np.unique(np.ravel_multi_index(tuple(lengths_2N), extent), return_inverse=True)
    distinct = np.stack(np.unravel_index(both, extent))  # lengths that some pair has, 2M
    counts = np.bincount(kind_of, weights)
    cost = max(cost, _LEAST_SAVING * float((distinct.sum(axis=0) * counts).sum()))
    parts: list[np.ndarray] = []

    def divide(part: np.ndarray) -> None:
        lengths = distinct[:, part]
        orders = [np.argsort(key, kind="stable") for key in (*lengths, lengths.max(axis=0))]
        cuts = [_best_cut(lengths[:, order], counts[part[order]]) for order in orders]
        best = int(np.argmax([saved for saved, _ in cuts]))
        saved, number = cuts[best]
        if saved <= cost:
            parts.append(part)
        else:
            for half in np.split(part[orders[best]], [number]):
                divide(half)

    divide(np.flatnonzero(counts))
    shapes = np.array([distinct[:, part].max(axis=1) for part in parts])
    shape_of = np.zeros(len(counts), np.int16)
    ascending = np.argsort(shapes.sum(axis=1), kind="stable")
    for number, place in enumerate(ascending):
        shape_of[parts[place]] = number
    return shapes[ascending], shape_of[kind_of]


def _best_cut(lengths_2M: np.ndarray, counts: np.ndarray) -> tuple[float, int]:
    """Return how many places a cut saves at most, and how many of the lengths stand before it."""
    if len(counts) == 1:
        return 0.0, 0
    number = np.cumsum(counts)
    before = np.maximum.accumulate(lengths_2M, axis=1).sum(axis=0)
    behind = np.maximum.accumulate(lengths_2M[:, ::-1], axis=1).sum(axis=0)[::-1]
    whole = before[-1]
    saved = number[:-1] * (whole - before[:-1]) + (number[-1] - number[:-1]) * (whole - behind[1:])
    return float(saved.max()), int(saved.argmax()) + 1


def left_over(
    shapes: np.ndarray, batch_rows: np.ndarray, sizes: np.ndarray
) -> tuple[dict[int, tuple[int, int]], np.ndarray]:
    """Find how many pairs of a shape stand in batches of a larger one, and of which.

    They are those that would not fill a batch of their own, where that takes fewer places.

    Args:
        shapes: lengths of both sides, of ascending sums.
        batch_rows: of a batch of each.
        sizes: how many pairs each has.

    Returns:
        By shape, in order, the number and the larger shape; and the sizes after all have moved.
    """
    sizes = sizes.copy()
    moved = {}
    for shape, lengths in enumerate(shapes):
        left = sizes[shape] % batch_rows[shape]
        larger = shape + 1 + np.flatnonzero((shapes[shape + 1 :] >= lengths).all(axis=1))[:1]
        fewer = left * shapes[larger].sum() < batch_rows[shape] * lengths.sum()
        if left and len(larger) and fewer:
            moved[shape] = (int(left), int(larger[0]))
            sizes[shape] -= left
            sizes[larger] += left
    return moved, sizes
