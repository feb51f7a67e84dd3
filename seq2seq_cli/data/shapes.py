"""The few shapes to which batches are padded."""

import numpy as np

# Minimum saving of one more shape, as a share of an epoch's tokens. Each shape takes memory, even
# if it is cheap to compile.
_LEAST_SAVING = 0.0005


def padded_shapes(
    lengths_2N: np.ndarray, weights: np.ndarray | None, cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the lengths to which batches are padded: few shapes with little padding.

    At first all pairs have one shape. They are split in two by the length of the source, of the
    target or of the longer one, at the cut that saves the most padded positions. Each part is split
    again, as long as a cut saves more than it costs.

    Args:
        lengths_2N: numbers of tokens of the N source and target sentences.
        weights: how often each of the N pairs occurs, or None for once each; not all are 0.
        cost: of one cut, in positions.

    Returns:
        The shapes, int64 of shape [shapes, 2], the lengths of both sides, by ascending sum; and
        int16 of shape [N], the number of each pair's shape.
    """
    extent = tuple(lengths_2N.max(axis=1).astype(int) + 1)
    both, kind_of = np.unique(np.ravel_multi_index(tuple(lengths_2N), extent), return_inverse=True)
    distinct = np.stack(np.unravel_index(both, extent))  # pairs of lengths, 2M
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
    for number, index in enumerate(ascending):
        shape_of[parts[index]] = number
    return shapes[ascending], shape_of[kind_of]


def _best_cut(lengths_2M: np.ndarray, counts: np.ndarray) -> tuple[float, int]:
    """Return the positions that the best cut saves, and the number of the M lengths before it."""
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
    """Find the pairs that move into batches of a larger shape.

    They would not fill a batch of their own shape, and take fewer positions in the larger one.

    Args:
        shapes: lengths of both sides, of shape [shapes, 2], by ascending sum.
        batch_rows: number of rows in a batch of each shape.
        sizes: number of pairs of each shape.

    Returns:
        By shape, in order, the number of pairs that move and the number of the larger shape; and
        the sizes after all have moved.
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
