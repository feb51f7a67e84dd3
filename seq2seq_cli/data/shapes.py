"""The few shapes that batches are padded to."""

import numpy as np

# What a shape of batches has to save at least, as a share of an epoch's tokens, however cheap:
# each takes memory.
_LEAST_SAVING = 0.0005


def padded_shapes(
    lengths_2N: np.ndarray, weights: np.ndarray | None, cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the lengths that batches are padded to, so that there is little padding in few shapes.

    All pairs at first have one shape. It is cut in two at the length of one side where that saves
    the most places, and so is each part, while a cut saves more than it costs.

    Args:
        lengths_2N: how many tokens the sources and the targets have.
        weights: how often each pair is shown, or None for once each; not all are 0.
        cost: of a cut, in places.

    Returns:
        shapes, int64: for each shape the lengths of both sides, of ascending sums; and int16 of N,
        which of them each pair has.
    """
    extent = tuple(lengths_2N.max(axis=1).astype(int) + 1)
    both = np.ravel_multi_index(tuple(lengths_2N), extent)
    counts_ST = np.bincount(both, weights, minlength=extent[0] * extent[1]).reshape(extent)
    tokens = (counts_ST * np.add.outer(*map(np.arange, extent))).sum()
    cost = max(cost, _LEAST_SAVING * tokens)
    parts: list[tuple[tuple[int, int], tuple[slice, slice]]] = []

    def divide(box: tuple[slice, slice]) -> None:
        """Divide the pairs whose lengths are in the box."""
        counts = counts_ST[box]
        ends = tuple(int(np.flatnonzero(counts.any(axis=1 - side))[-1]) + 1 for side in (0, 1))
        counts = counts[: ends[0], : ends[1]]
        starts = tuple(lengths.start for lengths in box)
        (saved, length), side = max((_best_cut(counts), 0), (_best_cut(counts.T), 1))
        if saved <= cost:
            longest = starts[0] + ends[0] - 1, starts[1] + ends[1] - 1
            parts.append((longest, box))
            return
        middle = starts[side] + length + 1
        for half in (slice(starts[side], middle), slice(middle, starts[side] + ends[side])):
            divide((half, box[1]) if side == 0 else (box[0], half))

    divide((slice(0, counts_ST.shape[0]), slice(0, counts_ST.shape[1])))
    parts.sort(key=lambda part: (sum(part[0]), part[0]))
    shape_of_ST = np.zeros(counts_ST.shape, np.int16)
    for number, (_, box) in enumerate(parts):
        shape_of_ST[box] = number
    return np.array([lengths for lengths, _ in parts]), shape_of_ST.ravel()[both]


def _best_cut(counts: np.ndarray) -> tuple[float, int]:
    """Return how many places a cut along the rows saves at most, and the last row before it.

    Neither the last row nor the last column is all 0.
    """
    rows, columns = counts.shape
    if rows == 1:
        return 0.0, 0
    before = np.cumsum(counts.sum(axis=1))
    widths = np.where(counts > 0, np.arange(columns), 0).max(axis=1)
    narrower = columns - 1 - np.maximum.accumulate(widths)[:-1]
    narrower_behind = columns - 1 - np.maximum.accumulate(widths[::-1])[::-1][1:]
    shorter = rows - 1 - np.arange(rows - 1)
    saved = before[:-1] * (shorter + narrower) + (before[-1] - before[:-1]) * narrower_behind
    return float(saved.max()), int(saved.argmax())


def left_over(
    shapes: np.ndarray, batch_rows: np.ndarray, sizes: np.ndarray
) -> dict[int, tuple[int, int]]:
    """Return how many pairs of a shape stand in batches of a larger one, and of which.

    They are those that would not fill a batch of their own, where that takes fewer places.
    """
    sizes = sizes.copy()
    moved = {}
    for shape, lengths in enumerate(shapes):
        left = sizes[shape] % batch_rows[shape]
        larger = shape + 1 + np.flatnonzero((shapes[shape + 1 :] >= lengths).all(axis=1))[:1]
        fewer = left * shapes[larger].sum() < batch_rows[shape] * lengths.sum()
        if left and len(larger) and fewer:
            moved[shape] = (int(left), int(larger[0]))
            sizes[larger] += left
    return moved
