from types import SimpleNamespace

import pytest
import tensorflow as tf
from conftest import tiny_config

from seq2seq_cli.runs.state import Position
from seq2seq_cli.training import progress as module
from seq2seq_cli.training.divergence import Update
from seq2seq_cli.training.progress import ProgressMeter
from seq2seq_cli.training.schedule import Schedule


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def meter() -> ProgressMeter:
    config = tiny_config(None, training__steps=10).training
    check = SimpleNamespace(check_updates=lambda last, updates: None)
    return ProgressMeter(config, Schedule(config, 5), 5, padding_share=0.25, divergence=check)


def update(meter: ProgressMeter, loss: float = 1.0, norm: float = 1.0) -> None:
    meter.updated(Update(tf.constant(loss), tf.constant(norm), 8, learning_rate=0.5))


def position(step: int) -> Position:
    return Position(step, 1, step, 20.0, 31.0, 31.0, 2, 0)


def test_figures_are_of_the_updates_since_the_last_progress(clock):
    measured = meter()
    update(measured, loss=9.0)
    clock.now = 9.0
    measured.progress(position(1))
    update(measured, loss=1.0, norm=3.0)
    update(measured, loss=2.0, norm=4.0)
    clock.now = 11.0
    found = measured.progress(position(3))
    assert (found.step, found.epoch, found.seconds, found.dev_bleu) == (3, 2, 20.0, 31.0)
    assert (found.loss, found.gradient_norm, found.learning_rate) == (1.5, 4.0, 0.5)
    assert (found.pairs_per_second, found.padding_share) == (8.0, 0.25)
    assert found.share_done == pytest.approx(0.3)
    assert found.seconds_left == pytest.approx(7.0)  # a second for each update


def test_time_before_updates_resume_does_not_count(clock):
    measured = meter()
    clock.now = 100.0
    measured.resume()
    update(measured)
    clock.now = 104.0
    assert measured.progress(position(1)).pairs_per_second == 2.0
