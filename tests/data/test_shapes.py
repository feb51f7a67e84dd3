import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data.shapes import left_over, padded_shapes


def positions(pairs: np.ndarray) -> int:
    """Return the positions that pairs of lengths (s, t) take where they are padded to one shape."""
    return len(pairs) * pairs.max(axis=0).sum() if len(pairs) else 0


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40),
    st.sampled_from([0, 3, 10, 1000]),
)
def test_shapes_are_optimal(lengths, cost):
    pairs = np.array(lengths)
    shapes, numbers = padded_shapes(pairs.T, None, cost)
    assert sorted(shapes.sum(axis=1)) == list(shapes.sum(axis=1))
    assert set(numbers) == set(range(len(shapes)))
    for number, shape in enumerate(shapes):
        members = pairs[numbers == number]
        assert members.max(axis=0).tolist() == shape.tolist()
        keys = (*members.T, members.max(axis=1))
        for key, length in itertools.product(keys, range(1, 9)):
            shorter = key <= length
            parts = members[shorter], members[~shorter]
            assert positions(members) - sum(map(positions, parts)) <= cost
    if cost == 0:
        assert (shapes[numbers] == pairs).all()
    if cost == 1000:
        assert len(shapes) == 1


def test_a_weight_counts_as_that_many_pairs():
    rng = np.random.default_rng(0)
    lengths, weights = rng.integers(1, 30, (2, 200)), rng.integers(1, 9, 200)
    weighted, _ = padded_shapes(lengths, weights.astype(np.float32), 500)
    repeated, _ = padded_shapes(np.repeat(lengths, weights, axis=1), None, 500)
    np.testing.assert_array_equal(weighted, repeated)
    assert len(weighted) > 4


def test_the_number_of_shapes_is_limited():
    every = np.indices((60, 60)).reshape(2, -1) + 1
    shapes, _ = padded_shapes(every, None, 0)
    assert 100 < len(shapes) < 600


def test_pairs_that_fill_no_batch_join_those_of_a_larger_shape():
    shapes = np.array([[2, 2], [2, 3], [3, 3], [4, 2], [9, 9]])
    rows = np.full(5, 10)
    moved, sizes = left_over(shapes, rows, np.array([17, 20, 34, 10, 5]))
    assert moved == {0: (7, 1), 1: (7, 2), 2: (1, 4)}
    assert sizes.tolist() == [10, 20, 40, 10, 6]
    # 4 * 18 positions of the last are more than the 10 * 6 of a batch of their own.
    assert left_over(shapes, rows, np.array([10, 20, 34, 10, 5]))[0] == {}
