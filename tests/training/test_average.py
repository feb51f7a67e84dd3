"""The exponential moving average of the weights."""

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf
from conftest import tiny_config
from quick_training import SMALLEST, compute_nothing
from small_batches import batch
from small_models import small_transformer

from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Validation, ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.step import Updater


def averaging_updater(**settings) -> tuple[Updater, list]:
    model = small_transformer()
    config = tiny_config("x", training__ema=0.3, **settings).training
    return Updater(model, config), model.trainable_variables


def test_averages_follow_the_weights_by_the_decay():
    updater, weights = averaging_updater()
    expected = [weight.numpy() for weight in weights]
    for number in range(4):
        updater.update([batch()], number, 0.01)
        decay = min(0.3, (2 + number) / (11 + number))
        expected = [
            decay * old + (1 - decay) * weight.numpy()
            for old, weight in zip(expected, weights, strict=True)
        ]
    for average, value, weight in zip(updater.averages, expected, weights, strict=True):
        assert average.path == weight.path
        np.testing.assert_allclose(average.numpy(), value, atol=1e-6)


def test_the_model_uses_the_averages_only_in_a_block():
    updater, weights = averaging_updater()
    updater.update([batch()], 0, 0.01)
    raw = [weight.numpy() for weight in weights]
    averages = [average.numpy() for average in updater.averages]
    assert not np.allclose(raw[0], averages[0])
    with pytest.raises(ZeroDivisionError), updater.averaged():
        for weight, value in zip(weights, averages, strict=True):
            np.testing.assert_array_equal(weight.numpy(), value)
        raise ZeroDivisionError
    for weight, value in zip(weights, raw, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


def test_compiling_ahead_changes_no_average():
    updater, _ = averaging_updater()
    updater.update([batch()], 0, 0.01)
    before = [average.numpy() for average in updater.averages]
    updater.compile_for([(2, 3, 4)])
    for average, value in zip(updater.averages, before, strict=True):
        np.testing.assert_array_equal(average.numpy(), value)


def test_validation_and_translation_use_the_averages(corpus, workdir):
    events = []
    limits = {"training__steps": 8, "training__validate_every_steps": 4}
    config = tiny_config(corpus, **SMALLEST, training__ema=0.9, **limits)
    run = Run(Path(train(config, events.append).run))
    last = [event for event in events if isinstance(event, Validation)][-1]
    assert last.raw_dev_loss != last.dev_loss
    checkpoint = checkpoints.best_valid(run.checkpoints, ignore)
    averages = safetensors.numpy.load_file(checkpoint.path / checkpoints.AVERAGE)
    raw = safetensors.numpy.load_file(checkpoint.path / checkpoints.MODEL)
    assert averages.keys() == raw.keys()
    for weight in load_run(run, ignore).model.trainable_variables:
        np.testing.assert_array_equal(weight.numpy(), averages[weight.path])
        assert not tf.reduce_all(weight == raw[weight.path])


def test_a_damaged_average_is_named(corpus, workdir, monkeypatch):
    compute_nothing(monkeypatch)
    config = tiny_config(corpus, training__ema=0.9, training__steps=1)
    run = Run(Path(train(config, ignore).run))
    (run.checkpoints / "step-00000001" / checkpoints.AVERAGE).write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"damaged: average\.safetensors differs from"):
        load_run(run, ignore)
    with pytest.raises(CheckpointError, match=r"damaged: average\.safetensors differs from"):
        train(config, ignore, resume=find_run(None))
