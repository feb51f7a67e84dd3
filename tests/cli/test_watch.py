"""The command `watch`: a training in another process, seen from outside."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.config import Config
from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.runs.run import Run

START = {"kind": "start", "step": 0, "corpus": "toy", "parameters": 12345}
PROGRESS = {
    **{"kind": "training", "step": 10, "epoch": 1, "loss": 3.25, "pairs_per_second": 99.0},
    **{"learning_rate": 0.001, "share_done": 0.25, "seconds_left": 61.0, "seconds": 20.0},
}
VALIDATION = {
    **{"kind": "validation", "step": 20, "dev_bleu": 12.5, "dev_chrf": 33.0, "dev_loss": 2.5},
    **{"is_best": True, "seconds": 30.0},
}
DIAGNOSIS = {"kind": "diagnosis", "step": 20, "name": "padding", "text": "Much. Do this"}
END = {"kind": "end", "step": 30, "seconds": 40.0, "reason": "the training is complete"}
LINES = [
    "toy, 12,345 parameters",
    "update 10: epoch 1, loss 3.250, 99 pairs/s, rate 1.00e-03, 25% done, 1:01 min left",
    "update 20: dev BLEU 12.5, chrF 33.0, loss 2.500 (best)",
    "update 20: diagnosis: Much. Do this.",
    "update 30: ended after 40 s: the training is complete",
]


def watch(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["watch", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


CHANGES = {"kind": "changes", "step": 10, "changes": ["the corpus", "beam is 5"]}


@pytest.fixture
def run(tmp_path, monkeypatch) -> Run:
    monkeypatch.chdir(tmp_path)
    made = Run(Path("runs/001-rnn"))
    made.path.mkdir(parents=True)
    made.write(Config(), {})
    return made


def test_watching_a_finished_training_ends_at_once(run):
    for entry in (START, PROGRESS, VALIDATION, DIAGNOSIS, END):
        run.append_metrics(entry)
    assert watch("001-rnn").splitlines() == LINES


def test_changes_are_shown(run):
    run.append_metrics(CHANGES)
    assert watch("001-rnn") == "update 10: continued with changes: the corpus, beam is 5\n"


def test_a_training_is_followed_to_its_end(run):
    entries = [json.dumps(entry) for entry in (START, PROGRESS, VALIDATION, DIAGNOSIS, END)]
    code = (
        "import json, sys, time; from pathlib import Path; from seq2seq_cli.runs.run import Run\n"
        "run = Run(Path('runs/001-rnn'))\n"
        "with run.lock():\n"
        "    print('held', flush=True)\n"
        f"    for line in {entries}:\n"
        "        time.sleep(0.3); run.append_metrics(json.loads(line))\n"
    )
    training = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    with training:
        assert training.stdout.readline() == b"held\n"
        began = time.monotonic()
        # Without a name it is the run in training.
        assert watch("--every", "0.1").splitlines() == LINES
        assert time.monotonic() - began > 1


def test_curves_are_shown_on_a_terminal(run, monkeypatch):
    console = Console(
        width=90,
        height=40,
        force_terminal=True,
        force_interactive=True,
        record=True,
        color_system=None,
    )
    monkeypatch.setattr("seq2seq_cli.cli.console.stdout", console)
    for step in range(10, 100, 10):
        run.append_metrics({**PROGRESS, "step": step, "loss": 30 / step})
    run.append_metrics(CHANGES)
    run.append_metrics(DIAGNOSIS)
    watch("001-rnn")
    shown = console.export_text()
    assert "runs/001-rnn: not in training" in shown
    assert "update 90: epoch 1" in shown
    assert "update 10: continued with changes: the corpus" in shown
    assert "diagnosis: Much" in shown
    assert "(loss)" in shown
    assert "dev BLEU: no figures yet" in shown
    assert any("\u2800" < character <= "\u28ff" for character in shown)
    frame = shown.rpartition("runs/001-rnn: not in training")[2]  # the display draws it again
    assert 20 < len(frame.splitlines()) <= 40


def test_there_must_be_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="no run with a checkpoint"):
        watch()
