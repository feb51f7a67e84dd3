"""Trainings that are interrupted and resumed."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import tiny_config
from quick_training import SMALLEST, compute_nothing, finished_training, validate_nothing

from seq2seq_cli.config import Config
from seq2seq_cli.errors import CheckpointError, DiskError, RunInterruptedError
from seq2seq_cli.runs import checkpoints, files
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.parallel import CHEAP_SHAPE
from seq2seq_cli.training import loop
from seq2seq_cli.training.events import Notice, Summary, ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.step import Updater

pytestmark = pytest.mark.usefixtures("workdir")


def weights(run: str, step: int | None = None) -> dict[str, bytes]:
    """Return the bytes of a run's newest checkpoint, or of that of `step`."""
    found = checkpoints.checkpoint_folders(Run(Path(run)).checkpoints)
    path = found[0] if step is None else Run(Path(run)).checkpoints / f"step-{step:08d}"
    return {file.name: file.read_bytes() for file in path.glob("*.safetensors")}


def test_a_resumed_training_computes_as_it_began_and_names_what_differs(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    config = tiny_config(corpus, training__steps=4, training__precision="auto")
    run = Run(Path(train(config, ignore, device="CPU (A)").run))
    kept = json.loads(run.computation())
    assert kept["device"] == "CPU (A)"
    assert kept["shape_cost"] == CHEAP_SHAPE
    run.write_computation(json.dumps({**kept, "precision": "bfloat16", "shards": 2}))

    events = []
    train(config, events.append, resume=run, device="CPU (B)")
    summary = next(e for e in events if isinstance(e, Summary))
    assert (summary.computation.precision, summary.computation.shards) == ("bfloat16", 2)
    notices = [e.text for e in events if isinstance(e, Notice)]
    assert any("device CPU (A) before, CPU (B) now" in text for text in notices)


@pytest.mark.parametrize(
    "settings",
    [
        # In words the sentences are of one length, for which loops are compiled once.
        pytest.param(
            {"model__kind": "rnn", "training__compile": "auto", "tokenizer__kind": "words"},
            id="rnn with compiled loops",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"model__kind": "transformer", "training__shards": 2},
            id="transformer in two shards",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {
                **SMALLEST,
                "training__optimizer": "muon",
                "training__weight_decay": 0.1,
                "training__parts": 2,
                "training__ema": 0.9,
                "training__batch_tokens": 256,
            },
            id="averaged weights",
        ),
    ],
)
def test_interrupted_and_resumed_training_ends_with_the_same_bits(corpus, settings, monkeypatch):
    validate_nothing(monkeypatch)
    config = tiny_config(corpus, training__steps=25, **settings)
    whole = train(config, ignore, name="whole")

    calls = 0
    update = Updater.update

    def interrupting(self, *args):
        nonlocal calls
        calls += 1
        if calls == 14:  # in the middle of the second epoch
            os.kill(os.getpid(), signal.SIGINT)
        return update(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Updater, "update", interrupting)
        with pytest.raises(RunInterruptedError, match="Stopped by SIGINT at step 14") as caught:
            train(config, ignore, name="parts")
    assert caught.value.exit_code == 130
    assert checkpoints.checkpoint_folders(Path("runs/parts/checkpoints"))[0].name == "step-00000014"

    resumed = train(config, ignore, resume=find_run("parts"))
    assert weights(resumed.run) == weights(whole.run)
    losses = [
        [e["loss"] for e in Run(Path(run)).metrics() if e["kind"] == "training"][-1]
        for run in (whole.run, resumed.run)
    ]
    assert losses[0] == losses[1]


def test_a_signal_after_the_decision_to_save_waits_for_the_next_update(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    reason_to_end = Schedule.reason_to_end

    def interrupted(self, position):
        if position.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return reason_to_end(self, position)

    monkeypatch.setattr(Schedule, "reason_to_end", interrupted)
    config = tiny_config(corpus, training__steps=25, training__validate_every_steps=25)
    with pytest.raises(RunInterruptedError, match="at step 4, which is saved"):
        train(config, ignore, name="late")
    saved = checkpoints.checkpoint_folders(Path("runs/late/checkpoints"))
    assert [path.name for path in saved] == ["step-00000004"]


@pytest.fixture(scope="module")
def four_steps(corpus, tmp_path_factory) -> tuple[Config, Path]:
    """A config, and the folder of a run that has ended after its four steps."""
    return finished_training(corpus, tmp_path_factory.mktemp("four"))


@pytest.fixture
def ended(four_steps, workdir, monkeypatch) -> Config:
    """A config whose training has ended as run `ended`; its updates compute nothing."""
    compute_nothing(monkeypatch)
    config, run = four_steps
    shutil.copytree(run, "runs/ended")
    return config


@pytest.mark.slow
def test_the_frequency_of_progress_reports_changes_no_bit(corpus, monkeypatch):
    config = tiny_config(corpus, training__steps=4)
    seldom = train(config, ignore).run
    monkeypatch.setattr(loop, "PROGRESS_EVERY", 1)
    assert weights(train(config, ignore).run) == weights(seldom)
    other = tiny_config(corpus, training__steps=4, training__seed=9)
    assert weights(train(other, ignore).run) != weights(seldom)


def test_a_finished_training_does_not_continue(ended):
    before = weights("runs/ended")
    again = train(ended, ignore, resume=find_run(None))
    assert again.reason == "the training is complete"
    assert again.step == 4
    assert weights("runs/ended") == before


def test_an_unreadable_computation_record_is_named_and_rewritten(ended):
    run = find_run("ended")
    run.write_computation("[]")
    events = []
    train(ended, events.append, resume=run)
    assert any("computation.json" in e.text for e in events if isinstance(e, Notice))
    assert json.loads(run.computation())["precision"] == "float32"


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(ended):
    expected = weights("runs/ended")
    Path("runs/ended/checkpoints/step-00000004/model.safetensors").write_bytes(b"")
    events = []
    train(ended, events.append, resume=find_run("ended"))
    notices = [e.text for e in events if isinstance(e, Notice)]
    assert any("step-00000004: damaged: model.safetensors" in text for text in notices)
    assert any("Continuing from runs/ended/checkpoints/step-00000002" in text for text in notices)
    assert weights("runs/ended") == expected


def test_a_run_with_only_damaged_checkpoints_cannot_be_resumed(ended):
    run = Run(Path("runs/ended"))
    for path in checkpoints.checkpoint_folders(run.checkpoints):
        (path / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="no valid checkpoint is left"):
        train(ended, ignore, resume=run)


def test_a_run_without_a_checkpoint_starts_again_in_its_folder(ended):
    before = weights("runs/ended")
    run = find_run("ended")
    shutil.rmtree(run.checkpoints)
    events = []
    assert train(ended, events.append, resume=run).run == "runs/ended"
    assert Notice("runs/ended: has no checkpoint yet; training starts from the beginning") in events
    assert weights("runs/ended") == before
    assert [e["step"] for e in run.metrics() if e["kind"] == "validation"] == [2, 4]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.few_cases(1)
def test_a_signalled_process_leaves_a_run_that_can_be_resumed(corpus, tmp_path, number):
    settings = [
        *("--set", "training.checkpoint_minutes=0.0001", "--set", "training.compile=graph"),
        *("--set", "model.layers=1", "--set", "model.units=16", "--set", "model.inner_units=16"),
        *("--set", "tokenizer.kind=words", "--set", "training.batch_tokens=512"),
    ]
    command = [sys.executable, "-m", "seq2seq_cli", "train", "--data", str(corpus)]
    command += ["--model", "decoder_only"]
    limits = ["--steps", "100000", "--device", "cpu"]
    process = subprocess.Popen(
        [*command, *limits, *settings], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    root = tmp_path / "runs/001-decoder-only/checkpoints"
    waited_until = time.monotonic() + 120
    while not checkpoints.checkpoint_folders(root) and time.monotonic() < waited_until:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    expected = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
    assert process.returncode == expected[number], errors
    checkpoint = checkpoints.newest_valid(root, ignore).path
    if number != signal.SIGKILL:
        assert f"which is saved. Continue with: s2s train --resume --run {root.parts[-3]}" in errors
    state = json.loads((checkpoint / "state.json").read_text())
    assert state["position"]["step"] == state["step"] > 0


def test_a_read_only_disk_is_found_before_the_first_update(corpus, monkeypatch):
    def refuse(path, size):
        path.write_bytes(b"")
        sizes.append(size)
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    compute_nothing(monkeypatch)
    sizes = []
    config = tiny_config(corpus, training__steps=4, training__ema=0.9)
    with monkeypatch.context() as patch:
        patch.setattr(files, "reserve", refuse)
        patch.setattr(Updater, "update", None)
        with pytest.raises(DiskError, match=r"a checkpoint of .* MB cannot be written: "):
            train(config, ignore, name="full")
    assert list(Path("runs/full/checkpoints").iterdir()) == []
    train(config, ignore, resume=find_run("full"))
    saved = checkpoints.checkpoint_folders(Path("runs/full/checkpoints"))[0]
    stored = sum(path.stat().st_size for path in saved.glob("*.safetensors"))
    assert sizes[0] == pytest.approx(stored, rel=0.3)  # the headers of tiny arrays count


def test_a_disk_that_will_be_full_is_reported_before_the_first_update(ended, monkeypatch):
    monkeypatch.setattr(files, "free", lambda folder: 100_000)
    monkeypatch.setattr(Updater, "update", None)
    events = []
    with pytest.raises(TypeError):
        train(ended, events.append, name="narrow")
    notices = [e.text for e in events if isinstance(e, Notice)]
    (told,) = [text for text in notices if "0.00 GB are free, and up to 4 checkpoints" in text]
    assert "lower training.keep_checkpoints" in told
