import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.config import DataConfig
from seq2seq_cli.data.splits import group_references, normalise, read_splits, split_pairs
from seq2seq_cli.errors import DataError

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


@given(PAIRS, st.integers(0, 5))
def test_groups_are_the_connected_components_and_stay_together(pairs, seed):
    splits = split_pairs(pairs, 3, 3, seed)
    names = dict(zip(pairs, component_names(pairs), strict=True))
    assert splits.groups == len(set(names.values()))
    places = {}
    for place in ("train", "dev", "test"):
        for pair in getattr(splits, place):
            assert places.setdefault(names[pair], place) == place


@given(PAIRS, st.integers(0, 5), st.randoms())
def test_the_order_of_the_corpus_changes_no_split(pairs, seed, rng):
    shuffled = rng.sample(pairs, len(pairs))
    a, b = split_pairs(pairs, 3, 3, seed), split_pairs(shuffled, 3, 3, seed)
    assert (set(a.train), set(a.dev), set(a.test)) == (set(b.train), set(b.dev), set(b.test))


def test_no_normalised_sentence_stands_on_two_sides():
    rng = random.Random(0)
    pairs = list({(f"s{rng.randrange(3000)}", f"t{rng.randrange(3000)}") for _ in range(2000)})
    splits = split_pairs(pairs, 100, 100, seed=0)
    for side in (0, 1):
        sets = [{normalise(p[side]) for p in part} for part in (splits.train, splits.dev)]
        sets.append({normalise(p[side]) for p in splits.test})
        assert not sets[0] & sets[1]
        assert not sets[0] & sets[2]
        assert not sets[1] & sets[2]


def test_sizes_are_about_those_asked_for():
    pairs = [(f"source {i}", f"target {i}") for i in range(20_000)]
    splits = split_pairs(pairs, dev_pairs=1000, test_pairs=500, seed=0)
    assert 900 < len(splits.dev) < 1100
    assert 430 < len(splits.test) < 570
    assert len(splits.train) + len(splits.dev) + len(splits.test) == 20_000


def test_at_most_a_tenth_is_held_out_for_each():
    pairs = [(f"source {i}", f"target {i}") for i in range(1000)]
    splits = split_pairs(pairs, dev_pairs=900, test_pairs=900, seed=0)
    assert len(splits.train) > 700


def test_another_seed_gives_another_split():
    pairs = [(f"source {i}", f"target {i}") for i in range(1000)]
    assert split_pairs(pairs, 50, 50, 0).test != split_pairs(pairs, 50, 50, 1).test


def test_normalise():
    assert normalise("¿Qué  HORA es?") == "qué hora es"
    assert normalise("ﬁn.") == "fin"
    assert normalise("...") == "..."


def test_references_are_gathered_by_source():
    pairs = [("hi", "hola"), ("go", "ve"), ("hi", "buenas")]
    assert group_references(pairs) == (["hi", "go"], [["hola", "buenas"], ["ve"]])


def write(path, pairs) -> str:
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return str(path)


def test_given_dev_and_test_are_used_and_what_train_shares_with_them_is_counted(tmp_path):
    train = [(f"source {i}", f"target {i}") for i in range(500)]
    dev, test = [("Source 7!", "x"), ("y", "z")], [("v", "target 9"), ("w", "w")]
    config = DataConfig(
        corpus=write(tmp_path / "train.tsv", train),
        dev=write(tmp_path / "dev.tsv", dev),
        test=write(tmp_path / "test.tsv", test),
    )
    _, splits = read_splits(config)
    assert (splits.train, splits.dev, splits.test) == (train, dev, test)
    assert splits.shared == 2


def test_what_is_not_given_is_split_off(tmp_path):
    train = [(f"source {i}", f"target {i}") for i in range(500)]
    config = DataConfig(
        corpus=write(tmp_path / "train.tsv", train), dev=write(tmp_path / "dev.tsv", [("a", "b")])
    )
    _, splits = read_splits(config)
    assert splits.dev == [("a", "b")]
    assert 20 < len(splits.test) < 80
    assert len(splits.train) + len(splits.test) == 500


def test_a_corpus_too_small_to_split_is_refused(tmp_path):
    config = DataConfig(corpus=write(tmp_path / "train.tsv", [("a", "b")]))
    with pytest.raises(DataError, match="1 pairs, in 1 independent groups, leave nothing for the"):
        read_splits(config)
