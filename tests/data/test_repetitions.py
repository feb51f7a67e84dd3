from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data.repetitions import Repetitions


@given(
    st.lists(st.sampled_from([0.25, 0.5, 1.0, 1.75, 3.0]), min_size=1, max_size=40),
    st.integers(0, 9),
)
def test_each_row_occurs_as_often_as_its_weight_rounded_down_or_up(weights, seed):
    repetitions = Repetitions(np.array(weights, np.float32), np.zeros(len(weights), np.int16))
    shown = Counter(repetitions.draw(np.random.default_rng(seed)).tolist())
    for row, weight in enumerate(weights):
        assert int(weight) <= shown[row] <= -(-weight // 1)


def test_every_epoch_draws_some_row_of_each_shape():
    shapes = np.repeat([0, 1, 2], [1, 4, 600])
    repetitions = Repetitions(np.full(605, 0.01, np.float32), shapes)
    rows = repetitions.draw(np.random.default_rng(0))
    assert np.bincount(shapes[rows]).tolist() == [1, 1, 6]


def test_every_epoch_draws_the_same_number_of_rows_of_each_shape():
    weights, shapes = np.full(30, 1.3, np.float32), np.repeat([0, 1, 2], 10)
    repetitions = Repetitions(weights, shapes)
    for seed in range(5):
        rows = repetitions.draw(np.random.default_rng(seed))
        assert np.bincount(shapes[rows]).tolist() == [13, 13, 13]
