"""Memory may run out anywhere in a training: the error says what to lower."""

from pathlib import Path

import pytest
import tensorflow as tf
from conftest import tiny_config
from quick_training import compute_nothing

from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs import checkpoints, files
from seq2seq_cli.runs.resuming import resumed_config
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import checkpointing, loop, setup
from seq2seq_cli.training.checkpointing import Checkpointer
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.requirements import _smaller_batches
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Validator

OF_PYTHON = MemoryError()
OF_TENSORFLOW = tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
OF_XLA = tf.errors.InternalError(None, None, "RESOURCE_EXHAUSTED: Out of memory")
SITES = [
    # what fails, from which call on, with what, and the updates that are saved then
    pytest.param(setup, "read_corpus", 1, OF_PYTHON, None, id="reading the corpus"),
    pytest.param(setup, "build_model", 1, OF_TENSORFLOW, None, id="building the model"),
    pytest.param(loop, "compile_ahead", 1, OF_XLA, 0, id="compiling"),
    pytest.param(checkpointing.saving, "probe", 1, OF_PYTHON, 0, id="before the first update"),
    pytest.param(Updater, "update", 1, OF_TENSORFLOW, 0, id="the first update"),
    pytest.param(Updater, "update", 7, OF_XLA, 6, id="a later update"),
    pytest.param(Validator, "translate", 2, OF_TENSORFLOW, 3, id="translating the dev split"),
    pytest.param(Validator, "loss", 2, OF_TENSORFLOW, 3, id="the dev loss"),
    pytest.param(checkpointing.saving, "save", 2, OF_PYTHON, 3, id="saving"),
    pytest.param(files, "write", 12, OF_PYTHON, 3, id="writing arrays"),
    pytest.param(Checkpointer, "save", 3, OF_PYTHON, 6, id="gathering weights"),
]


@pytest.mark.parametrize(("place", "name", "call", "error", "saved"), SITES)
def test_the_error_names_what_to_lower_and_checkpoints_are_kept(
    place, name, call, error, saved, corpus, workdir, monkeypatch
):
    compute_nothing(monkeypatch)
    working, calls = getattr(place, name), []

    def failing(*arguments, **named):
        calls.append(name)
        if len(calls) >= call:
            raise error
        return working(*arguments, **named)

    monkeypatch.setattr(place, name, failing)
    config = tiny_config(corpus, training__steps=9, training__validate_every_steps=3)
    with pytest.raises(UsageError, match=r"Lower one of training.batch_tokens \(512\)") as caught:
        train(config, ignore, name="x")
    assert caught.value.exit_code == 2
    run = Run(Path("runs/x"))
    if saved is None:
        assert not run.path.exists()
        return
    command = "s2s train --resume --run runs/x --accept-changes --set training.batch_tokens=256"
    assert command in str(caught.value)
    assert not run.is_locked()
    if saved:
        assert checkpoints.newest_valid(run.checkpoints, pytest.fail).state.step == saved
    else:
        assert checkpoints.checkpoint_folders(run.checkpoints) == []


def test_the_command_that_it_names_continues_with_smaller_batches(corpus, workdir, monkeypatch):
    compute_nothing(monkeypatch)
    limits = {"training__steps": 40, "training__validate_every_steps": 16}
    train(tiny_config(corpus, training__batch_pairs=30, **limits), ignore, name="x")
    run = Run(Path("runs/x"))
    smaller = Overrides()
    # 40 updates of 30 pairs are in the middle of the third epoch; one of 400 pairs has two batches.
    for key, value in {"batch_pairs": 400, "steps": 46}.items():
        smaller.set(f"training.{key}", value, "test")
    config = resumed_config(run, smaller, raising=True, accepting=True)
    assert train(config, ignore, resume=run, accept_changes=True).step == 46
    assert run.config().training.batch_pairs == 400


def test_the_smaller_batch_that_is_named_holds_the_longest_pair_in_each_part():
    training = {"batch_tokens": 512, "parts": 4, "max_source_tokens": 100, "max_target_tokens": 64}
    assert _smaller_batches(TrainingConfig(**training)) == "training.batch_tokens=400"
    assert _smaller_batches(TrainingConfig(**{**training, "batch_tokens": 400})) == ""
