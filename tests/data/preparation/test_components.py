import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data.preparation.components import (
    distinct,
    hash_to_min,
    labels,
    partitions,
    stars,
)

GRAPHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60)


def union_find(pairs):
    """Return the smallest source of the component of each pair's source, of (target, source)."""
    parents = {}

    def root(node):
        parents.setdefault(node, node)
        while parents[node] != node:
            node = parents[node]
        return node

    for target, source in pairs:
        parents[root(("target", target))] = root(("source", source))
    smallest = {}
    for _, source in pairs:
        found = root(("source", source))
        smallest[found] = min(smallest.get(found, source), source)
    return [smallest[root(("source", source))] for _, source in pairs]


def components(pairs, bits):
    """Return labels as `union_find` does, and the number of rounds, over partitions."""
    rows = np.array(pairs, np.uint64)
    clusters = by_partition([stars(rows[which]) for _, which in partitions(rows[:, 0], bits)], bits)
    rounds = 0
    while True:
        rounds += 1
        after = by_partition([hash_to_min(part) for part in clusters.values()], bits)
        if all(np.array_equal(clusters[number], after[number]) for number in clusters):
            break
        clusters = after
    found = np.empty(len(rows), np.uint64)
    for number, which in partitions(rows[:, 1], bits):
        found[which] = labels(clusters.get(number, rows[:0]), rows[which, 1])
    return found.tolist(), rounds


def by_partition(sent, bits):
    received = {}
    for rows in sent:
        for number, which in partitions(rows[:, 0], bits):
            received.setdefault(number, []).append(rows[which])
    return {number: distinct(np.concatenate(parts)) for number, parts in received.items()}


@pytest.mark.parametrize("bits", [0, 3])
@given(pairs=GRAPHS)
def test_components_are_those_of_union_find(bits, pairs):
    spread = [(t << 59 | t, s << 59 | s) for t, s in pairs]
    assert components(spread, bits)[0] == union_find(spread)


@given(order=st.permutations(range(40)))
def test_a_chain_takes_few_rounds(order):
    ends = [source << 58 for source in order]
    pairs = enumerate(itertools.pairwise(ends))
    chain = [(target, source) for target, sources in pairs for source in sources]
    found, rounds = components(chain, 3)
    assert found == [0] * len(chain)
    assert rounds <= 3 * np.log2(40)


def test_a_star_is_not_changed():
    star = [(7, source << 54) for source in range(1000)]
    found, rounds = components(star, 3)
    assert found == [0] * 1000
    assert rounds == 1


def test_sources_that_share_no_target_need_no_clusters():
    rows = np.array([[1, 5], [2, 3], [2, 3]], np.uint64)
    assert stars(rows).shape == (0, 2)
    assert labels(rows[:0], rows[:, 1]).tolist() == [5, 3, 3]


@given(keys=st.lists(st.integers(0, 2**64 - 1), max_size=50), bits=st.integers(0, 16))
def test_a_partition_has_the_keys_that_begin_with_its_number(keys, bits):
    found = {}
    for number, which in partitions(np.array(keys, np.uint64), bits):
        assert which.tolist() == sorted(which)
        found.update(dict.fromkeys(which.tolist(), number))
    assert found == {i: key >> (64 - bits) for i, key in enumerate(keys)}
