"""Connected components in rounds over partitions of the nodes: hash-to-min.

Rastogi et al. 2013, "Finding connected components in Map-Reduce in logarithmic rounds". A node is
the key of a source sentence (uint64). Each node v has a cluster C_v of other nodes. Clusters are
rows (v, u) for each u in C_v, uint64 of shape [rows, 2], distinct and in ascending order. A
partition has the clusters of the nodes whose first bits are its number.
"""

from collections.abc import Iterator

import numpy as np


def partitions(keys: np.ndarray, bits: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each partition that has keys, with their indices, which ascend.

    Args:
        keys: uint64 of shape [keys].
        bits: there are 2 ** bits partitions; at most 16.
    """
    numbers = (keys >> np.uint64(63 - bits) >> np.uint64(1)).astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=1 << bits))
    for number, indices in enumerate(np.split(order, ends[:-1])):
        if len(indices):
            yield number, indices


def distinct(rows: np.ndarray) -> np.ndarray:
    """Return the distinct rows in ascending order; uint64 of shape [rows, 2]."""
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return rows[_firsts(rows[:, 0]) | _firsts(rows[:, 1])]


def stars(rows: np.ndarray) -> np.ndarray:
    """Return clusters that connect the sources of each target with its smallest source.

    So targets need not be nodes: sources that share a target are in one component.

    Args:
        rows: (target, source) of pairs, uint64 of shape [pairs, 2].
    """
    rows = distinct(rows)
    return _both_ways(_smallest(rows), rows[:, 1])


def hash_to_min(clusters: np.ndarray) -> np.ndarray:
    """Return what the nodes send in a round.

    Node v sends C_v to the smallest node m of v and C_v, and m to each node of C_v.

    Args:
        clusters: of some nodes.

    Returns:
        Rows (receiver, sent node), distinct and in ascending order. Those of all nodes are the
        clusters of the next round. Here v is not in C_v. Because u is in C_v if and only if v is
        in C_u, another node sends v, so no component falls apart.
    """
    smallest = np.minimum(_smallest(clusters), clusters[:, 0])
    return _both_ways(smallest, clusters[:, 1])


def labels(clusters: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return the smallest node of the component of each node, when no round changes anything.

    Args:
        clusters: of all of these nodes that are connected to others.
        nodes: uint64 of shape [nodes].
    """
    heads = clusters[_firsts(clusters[:, 0])]
    if not len(heads):
        return nodes
    found = np.minimum(np.searchsorted(heads[:, 0], nodes), len(heads) - 1)
    connected = heads[found, 0] == nodes
    return np.where(connected, np.minimum(heads[found, 1], nodes), nodes)


def _firsts(values: np.ndarray) -> np.ndarray:
    """Return for each value whether it differs from the one before it."""
    return np.concatenate([np.ones(min(len(values), 1), bool), values[1:] != values[:-1]])


def _smallest(rows: np.ndarray) -> np.ndarray:
    """Return for each of ascending rows the smallest second value with the same first one."""
    firsts = _firsts(rows[:, 0])
    return rows[firsts, 1][np.cumsum(firsts) - 1]


def _both_ways(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distinct rows (a, b) and (b, a) of two arrays, except where both are equal."""
    rows = np.stack([a, b], axis=1)[a != b]
    return distinct(np.concatenate([rows, rows[:, ::-1]]))
