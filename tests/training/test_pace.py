import math

import pytest

from seq2seq_cli.training.pace import Pace


def test_there_is_no_estimate_during_the_first_updates():
    pace = Pace(math.inf, 100)
    assert pace.seconds_left(1000, 0.0) is None
    pace.updated(10, 300.0)
    assert pace.seconds_left(990, 400.0) is None


def test_neither_the_first_updates_nor_compilation_count():
    pace = Pace(math.inf, 100)
    pace.updated(10, 300.0)
    pace.updated(10, 5.0)
    assert pace.seconds_left(980, 9999.0) == pytest.approx(490.0)


def test_only_recent_updates_count():
    pace = Pace(math.inf, 100)
    for seconds in (1.0, 100.0, *[2.0] * Pace.WINDOW):
        pace.updated(10, seconds)
    assert pace.seconds_left(500, 0.0) == pytest.approx(100.0)


def test_the_estimate_includes_later_validations():
    pace = Pace(math.inf, 100)
    pace.updated(1, 1.0)
    pace.updated(1, 1.0)
    pace.validated(20.0)
    assert pace.seconds_left(500, 0.0) == pytest.approx(500.0 + 5 * 20.0)


def test_the_estimate_of_a_time_budget_is_its_rest():
    pace = Pace(600.0, 100)
    assert pace.seconds_left(math.inf, 150.0) == 450.0
    assert pace.seconds_left(math.inf, 601.0) == 0.0


@pytest.mark.parametrize(("seconds", "left"), [(100.0, 200.0), (550.0, 50.0)])
def test_the_limit_that_comes_first_counts(seconds, left):
    pace = Pace(600.0, 100)
    pace.updated(1, 1.0)
    assert pace.seconds_left(200, seconds) is None
    pace.updated(1, 1.0)
    assert pace.seconds_left(200, seconds) == pytest.approx(left)
