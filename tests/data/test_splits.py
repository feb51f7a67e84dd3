import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data import splits as splits_module
from seq2seq_cli.data.splits import (
    DEV,
    REPEATED,
    TEST,
    TRAIN,
    assign,
    group_references,
    normalise,
    pair_keys,
    shares_a_sentence,
)

WORDS = st.sampled_from(["a", "b", "c", "d", "e", "A.", "b!", "¿C?"])
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=30, unique=True)


def component_names(pairs):
    """Brute force: spread the smallest name through shared sides until nothing changes."""
    names = list(range(len(pairs)))
    changed = True
    while changed:
        changed = False
        for i, (s, t) in enumerate(pairs):
            for j, (u, v) in enumerate(pairs):
                linked = normalise(s) == normalise(u) or normalise(t) == normalise(v)
                if linked and names[j] < names[i]:
                    names[i] = names[j]
                    changed = True
    return names


def split(pairs, dev_pairs, test_pairs, seed):
    """Return the pairs of train, dev and test, and the number of groups."""
    assigned = assign([pair_keys(pairs)], dev_pairs, test_pairs, seed)
    sides = [
        [p for p, s in zip(pairs, assigned.sides, strict=True) if s == side]
        for side in (TRAIN, DEV, TEST)
    ]
    return *sides, assigned.groups


@given(PAIRS, st.integers(0, 5))
def test_connected_components_are_in_one_split(pairs, seed):
    *sides, groups = split(pairs, 3, 3, seed)
    names = dict(zip(pairs, component_names(pairs), strict=True))
    assert groups == len(set(names.values()))
    split_of = {}
    for number, side in enumerate(sides):
        for pair in side:
            assert split_of.setdefault(names[pair], number) == number


def test_a_long_chain_is_one_group():
    chain = [(f"s{i}", f"t{j}") for i in range(3000) for j in (i, i + 1)]
    random.Random(0).shuffle(chain)
    assert split(chain, 100, 100, 0)[3] == 1


@given(PAIRS, st.integers(0, 5), st.randoms())
def test_the_order_of_the_corpus_changes_no_split(pairs, seed, rng):
    shuffled = rng.sample(pairs, len(pairs))
    a, b = split(pairs, 3, 3, seed), split(shuffled, 3, 3, seed)
    assert [set(side) for side in a[:3]] == [set(side) for side in b[:3]]


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=40), st.integers(1, 5))
def test_parts_and_partitions_change_nothing_and_duplicates_are_found(pairs, size):
    keys = pair_keys(pairs)
    whole = assign([keys], 3, 3, 0)
    assert [s == REPEATED for s in whole.sides] == [p in pairs[:i] for i, p in enumerate(pairs)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits_module, "_PARTITION_PAIRS", 3)
        patch.setattr(splits_module, "_SLICE", size)
        parts = assign([keys[i : i + size] for i in range(0, len(keys), size)], 3, 3, 0)
    assert parts.groups == whole.groups
    assert (parts.sides == whole.sides).all()


def test_no_normalised_sentence_is_in_two_splits():
    rng = random.Random(0)
    pairs = list({(f"s{rng.randrange(3000)}", f"t{rng.randrange(3000)}") for _ in range(2000)})
    *sides, _ = split(pairs, 100, 100, seed=0)
    for side in (0, 1):
        train, dev, test = ({normalise(p[side]) for p in part} for part in sides)
        assert not train & dev
        assert not train & test
        assert not dev & test


def test_split_sizes_are_about_the_configured_ones():
    pairs = [(f"source {i}", f"target {i}") for i in range(20_000)]
    train, dev, test, _ = split(pairs, 1000, 500, seed=0)
    assert 900 < len(dev) < 1100
    assert 430 < len(test) < 570
    assert len(train) + len(dev) + len(test) == 20_000


def test_at_most_a_tenth_is_held_out_for_each():
    pairs = [(f"source {i}", f"target {i}") for i in range(1000)]
    assert len(split(pairs, 900, 900, seed=0)[0]) > 700


def test_another_seed_gives_another_split():
    pairs = [(f"source {i}", f"target {i}") for i in range(1000)]
    assert split(pairs, 50, 50, 0)[2] != split(pairs, 50, 50, 1)[2]


def test_pairs_that_share_either_side_are_recognised():
    train = pair_keys([("a", "b"), ("C!", "d"), ("e", "¿F?"), ("x", "a")])
    held_out = pair_keys([("c", "y"), ("z", "f")])
    assert shares_a_sentence(train, held_out).tolist() == [False, True, True, False]


def test_draws_are_uniform():
    draws = splits_module._uniform(np.arange(100_000, dtype=np.uint64), seed=1)
    counts, _ = np.histogram(draws, 10, (0, 1))
    assert (abs(counts - 10_000) < 400).all()


def test_normalise():
    assert normalise("¿Qué  HORA es?") == "qué hora es"
    assert normalise("ﬁn.") == "fin"
    assert normalise("...") == "..."


def test_references_are_grouped_by_source():
    pairs = [("hi", "hola"), ("go", "ve"), ("hi", "buenas")]
    assert group_references(pairs) == (["hi", "go"], [["hola", "buenas"], ["ve"]])
