from dataclasses import replace

import numpy as np
import pytest
from conftest import tiny_config

from seq2seq_cli.runs.checkpoints import Position
from seq2seq_cli.training.schedule import Schedule


def schedule(updates_per_epoch: int = 100, **settings) -> Schedule:
    return Schedule(tiny_config("x", **settings).training, updates_per_epoch)


def test_rate_rises_to_the_peak_and_falls_to_zero():
    s = schedule(training__steps=1000, training__warmup_steps=50, training__peak_learning_rate=0.01)
    rates = [s.learning_rate(updates, 0) for updates in range(1001)]
    assert np.argmax(rates) == 49
    assert max(rates) == pytest.approx(0.01, rel=0.01)
    assert np.all(np.diff(rates[:50]) > 0)
    assert np.all(np.diff(rates[50:]) < 0)
    assert rates[500] == pytest.approx(0.005)
    assert rates[1000] == pytest.approx(0, abs=1e-9)


def test_a_short_training_is_not_all_warmup():
    s = schedule(training__steps=100, training__warmup_steps=4000)
    rates = [s.learning_rate(updates, 0) for updates in range(100)]
    assert np.argmax(rates) == 10


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
    assert schedule(**limits).share_done(updates, seconds) == pytest.approx(share)


def test_training_ends_at_a_limit_or_when_patience_is_over():
    s = schedule(training__steps=50, training__patience=3)
    start = Position.at_start()
    assert s.reason_to_end(start) == ""
    assert s.reason_to_end(replace(start, step=49, validations_since_best=2)) == ""
    assert s.reason_to_end(replace(start, step=50)) == "the training is complete"
    impatient = replace(start, step=9, validations_since_best=3)
    assert s.reason_to_end(impatient) == "dev BLEU has not risen in 3 validations"


def test_a_training_makes_at_least_one_update():
    s = schedule(training__budget_seconds=1.0)
    assert s.reason_to_end(replace(Position.at_start(), seconds=5.0)) == ""
    assert s.reason_to_end(replace(Position.at_start(), step=1, seconds=5.0)) != ""
