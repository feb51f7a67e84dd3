import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import tiny_config

from seq2seq_cli.runs.state import Position
from seq2seq_cli.training.schedule import Schedule


def schedule(updates_per_epoch: int = 100, **settings) -> Schedule:
    return Schedule(tiny_config("x", **settings).training, updates_per_epoch)


def at(updates: int, seconds: float = 0.0, **changes) -> Position:
    """Return the position after some updates, in epochs of 100."""
    epoch, batch = divmod(updates, 100)
    start = Position.at_start()
    return replace(start, step=updates, epoch=epoch, batch=batch, seconds=seconds, **changes)


def test_rate_rises_to_the_peak_and_falls_to_zero():
    s = schedule(training__steps=1000, training__warmup_steps=50, training__peak_learning_rate=0.01)
    rates = [s.learning_rate(at(updates)) for updates in range(1001)]
    assert np.argmax(rates) == 49
    assert max(rates) == pytest.approx(0.01, rel=0.01)
    assert np.all(np.diff(rates[:50]) > 0)
    assert np.all(np.diff(rates[50:]) < 0)
    assert rates[500] == pytest.approx(0.005)
    assert rates[1000] == pytest.approx(0, abs=1e-9)


def test_a_short_training_is_not_only_warmup():
    s = schedule(training__steps=100, training__warmup_steps=4000)
    rates = [s.learning_rate(at(updates)) for updates in range(100)]
    assert np.argmax(rates) == 10


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_the_warmup_is_at_most_its_share_of_the_training(share):
    settings = {"training__steps": 100, "training__warmup_steps": 4000}
    s = schedule(**settings, training__warmup_share=share, training__schedule="constant")
    rates = [s.learning_rate(at(updates)) for updates in range(101)]
    assert np.argmax(rates) == 100 * share
    assert rates[round(50 * share)] == pytest.approx(max(rates) / 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [  # at 0, 50 (half of the warm-up), 100, 400, 900 and 1000 of 1,000 updates
        ("constant", [0.0001, 0.0051, 0.01, 0.01, 0.01, 0.01]),
        ("linear", [0.0001, 0.0051 * 0.95, 0.009, 0.006, 0.001, 0]),
        ("inverse_sqrt", [0.0001, 0.0051, 0.01, 0.005, 0.01 / 3, 0.01 / 10**0.5]),
        ("warmup_stable_decay", [0.0001, 0.0051, 0.01, 0.01, 0.004, 0]),
    ],
)
def test_each_schedule_has_its_course(name, expected):
    settings = {"training__decay_share": 0.25} if name == "warmup_stable_decay" else {}
    s = schedule(
        training__steps=1000,
        training__warmup_steps=100,
        training__peak_learning_rate=0.01,
        training__schedule=name,
        **settings,
    )
    found = [s.learning_rate(at(updates)) for updates in (0, 50, 100, 400, 900, 1000)]
    assert found == pytest.approx(expected, rel=0.006)


def test_the_inverse_root_is_that_of_vaswani_et_al():
    s = schedule(
        training__steps=10**5,
        training__warmup_steps=4000,
        training__peak_learning_rate=512**-0.5 * 4000**-0.5,
        training__schedule="inverse_sqrt",
    )
    for step in (1, 100, 4000, 4001, 50_000):
        rate = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)  # equation 3
        assert s.learning_rate(at(step - 1)) == pytest.approx(rate)


def test_every_schedule_follows_a_time_budget():
    settings = {"training__budget_seconds": 100.0, "training__warmup_steps": 4000}
    for name, expected in (("linear", 0.5), ("inverse_sqrt", 0.2**0.5), ("constant", 1)):
        s = schedule(**settings, training__peak_learning_rate=1.0, training__schedule=name)
        assert s.learning_rate(at(5, 50.0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("limits", "updates", "seconds", "share"),
    [
        ({"training__epochs": 4}, 100, 1e9, 0.25),
        ({"training__steps": 50}, 25, 1e9, 0.5),
        ({"training__budget_seconds": 60.0}, 10**9, 15, 0.25),
        ({"training__epochs": 4, "training__budget_seconds": 60.0}, 100, 30, 0.5),
        ({"training__epochs": 4, "training__budget_seconds": 60.0}, 300, 30, 0.75),
        ({"training__steps": 50, "training__epochs": 4}, 60, 0, 1.0),
        ({}, 200, 0, 0.5),
    ],
)
def test_the_limit_reached_first_counts(limits, updates, seconds, share):
    assert schedule(**limits).share_done(at(updates, seconds)) == pytest.approx(share)


def test_training_ends_at_a_limit_or_when_patience_runs_out():
    s = schedule(training__steps=50, training__patience=3)
    assert s.reason_to_end(at(0)) == ""
    assert s.reason_to_end(at(49, validations_since_best=2)) == ""
    assert s.reason_to_end(at(50)) == "the training is complete"
    impatient = at(9, validations_since_best=3)
    assert s.reason_to_end(impatient) == "dev BLEU has not risen in 3 validations"


def test_a_training_makes_at_least_one_update():
    s = schedule(training__budget_seconds=1.0)
    assert s.reason_to_end(at(0, 5.0)) == ""
    assert s.reason_to_end(at(1, 5.0)) != ""


def test_the_time_before_the_first_update_does_not_shorten_the_warmup():
    s = schedule(
        training__budget_seconds=100.0,
        training__warmup_steps=4000,
        training__schedule="constant",
        training__peak_learning_rate=1.0,
    )

    def rate(updates: int, seconds: float) -> float:
        return s.learning_rate(at(updates, seconds, seconds_before_updates=20.0))

    assert rate(0, 0.0) == pytest.approx(1 / 4000)
    assert rate(1, 20.0) == pytest.approx(2 / 4000)
    assert rate(40, 24.0) == pytest.approx(0.5)  # half of a tenth of the 80 seconds left
    assert rate(80, 28.0) == pytest.approx(1)
    assert s.share_done(at(9, 50.0, seconds_before_updates=20.0)) == 0.5


def test_training_warms_up_until_the_rate_has_its_peak():
    s = schedule(training__steps=1000, training__warmup_steps=50)
    assert s.is_warming_up(at(48))
    assert not s.is_warming_up(at(49))


def test_epochs_limit_the_training_also_after_a_change_of_the_batches():
    before, now = schedule(training__epochs=4), schedule(50, training__epochs=4)
    position = at(200)  # two epochs of 100 updates
    assert before.updates_left(position) == 200
    assert now.updates_left(position) == 100  # two epochs of 50
    assert before.share_done(position) == now.share_done(position) == 0.5
    assert now.reason_to_end(replace(position, step=300, epoch=4)) == "the training is complete"


def test_an_epoch_has_no_more_updates_than_epochs_have_now():
    now = schedule(40, training__epochs=2)
    position = at(80)  # of 100 in the epoch
    assert now.share_done(position) == 0.5
    assert now.share_done(replace(position, epoch=1, batch=0)) == 0.5
    assert now.reason_to_end(position) == ""


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"training__steps": 150, "training__epochs": 3}, 50),
        ({"training__steps": 900, "training__epochs": 3}, 200),
        ({"training__budget_seconds": 60.0}, math.inf),
        ({"training__steps": 10}, 0),
    ],
)
def test_the_updates_that_are_left_are_those_to_the_first_limit(limits, left):
    assert schedule(**limits).updates_left(at(100)) == left
