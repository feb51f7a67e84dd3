"""A signal in any phase of a training: a message, a checkpoint, and exit code 128 + n."""

import os
import signal
import sys
from pathlib import Path

import pytest
from conftest import s2s, tiny_config
from quick_training import compute_nothing

from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import checkpointing, loop, setup
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Validator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NOTED = "Saving a checkpoint before ending; a second signal ends at once"
COMMAND = sys.modules["seq2seq_cli.cli.workers"]
PHASES = {  # what a signal comes in, at its which call, and the last update that is saved then
    "import": (COMMAND, "start_tensorflow", 1, None),
    "data": (setup, "read_corpus", 1, None),
    "compile": (loop, "compile_ahead", 1, None),
    "update": (Updater, "update", 2, 2),
    "validation": (Validator, "translate", 1, 4),  # the signal waits for the next update
    "save": (checkpointing.saving, "save", 1, 4),  # the same
    "end": (loop.Trainer, "_end", 1, 6),
}


# By default each phase has one signal, and each signal two phases or more.
EACH_ONCE = {phase: SIGNALS[place % len(SIGNALS)] for place, phase in enumerate(PHASES)}
TRIED = [
    pytest.param(
        phase,
        number,
        marks=[] if EACH_ONCE[phase] == number else pytest.mark.slow,
        id=f"{phase}-{number.name}",
    )
    for phase in PHASES
    for number in SIGNALS
]


@pytest.mark.parametrize(("phase", "number"), TRIED)
def test_a_signal_in_any_phase(phase, number, corpus, workdir, monkeypatch):
    compute_nothing(monkeypatch)
    place, name, call, saved = PHASES[phase]
    working, calls, seconds = getattr(place, name), [], []

    def signalled(*arguments, **named):
        calls.append(name)
        if len(calls) == call:
            try:
                os.kill(os.getpid(), number)
            finally:  # a second one would end the process, as the system does it
                seconds.extend(signal.getsignal(each) for each in SIGNALS)
        return working(*arguments, **named)

    monkeypatch.setattr(place, name, signalled)
    config = tiny_config(corpus, training__steps=6, training__validate_every_steps=3)
    Path("my.toml").write_text(config.to_toml())
    before = [signal.getsignal(each) for each in SIGNALS]
    code, out, error = s2s("train", "--config", "my.toml", "--run", "x")
    assert (code, out) == (128 + number, "")
    assert seconds == [signal.SIG_DFL] * 3
    assert [signal.getsignal(each) for each in SIGNALS] == before

    text = " ".join(error.split())
    assert f"Stopped by {number.name} " in text
    assert (NOTED in text) == (phase in ("update", "validation", "save"))
    assert "Traceback" not in text
    run = Run(Path("runs/x"))
    assert not run.is_locked()
    if saved is None:
        assert checkpoints.checkpoint_folders(run.checkpoints) == []
    else:
        assert checkpoints.newest_valid(run.checkpoints, pytest.fail).state.step == saved


def test_there_are_as_many_cases_as_documented():
    page = (Path(__file__).parents[2] / "docs/reliability.md").read_text("utf-8")
    command = "pytest -m 'slow or not slow' tests/training/test_signals.py"
    assert f"| {len(TRIED)} | `{command}` |" in page
