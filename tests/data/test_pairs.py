import itertools

from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data.pairs import spread


@given(st.integers(0, 300), st.integers(1, 300))
def test_spread_selects_evenly_and_at_most_the_given_number(size, at_most):
    taken = spread(range(size), at_most)
    assert len(taken) == min(size, at_most)
    gaps = {b - a for a, b in itertools.pairwise(taken)}
    assert not gaps or (min(gaps) >= 1 and max(gaps) - min(gaps) <= 1)
