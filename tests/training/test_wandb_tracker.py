"""What a training leaves in the files of Weights & Biases, offline."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import tiny_config

from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.trackers import Trackers

wandb = pytest.importorskip("wandb", reason="it comes with the extra `wandb`")

SAMPLES = [("I see.", "yo veo.", "él ve."), ("we eat.", "comemos.", "¿\n?")]
PROCESS = """if True:
    import os, pathlib, sys
    from seq2seq_cli.runs.run import Run
    from seq2seq_cli.training.trackers import Trackers
    from test_wandb_tracker import diagnosis, training, validation, wait_for_rows
    run = Run(pathlib.Path("runs/001-rnn"))
    log = Trackers(run, ["wandb"], {before}, sys.exit)
    for entry in {entries}:
        log.write(entry)
    {last}
"""


def training(step: int) -> dict:
    return {"kind": "training", "step": step, "epoch": 1, "loss": 5 - step / 100, "dev_bleu": None}


def validation(step: int) -> dict:
    return {"kind": "validation", "step": step, "dev_bleu": step / 10, "samples": SAMPLES}


def diagnosis(step: int) -> dict:
    return {"kind": "diagnosis", "step": step, "name": "padding", "text": "Too much."}


def log(entries: str, last: str, before: str = "[]") -> None:
    """Log entries in a process of its own, as a training does."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    code = PROCESS.format(before=before, entries=entries, last=last)
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**given, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == done.stderr == ""


def records(file: Path) -> Iterator:
    """Yield the records of a file of W&B: protocol buffers in the format of LevelDB's log."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, position, parts = file.read_bytes(), 7, b""
    block = 1 << 15
    while position + 7 <= len(content):
        if block - position % block < 7:
            position += block - position % block
            continue
        length = int.from_bytes(content[position + 4 : position + 6], "little")
        kind = content[position + 6]
        parts += content[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(parts)
            parts = b""


def rows(file: Path) -> list[dict]:
    """Return what `log` has logged, in order."""
    histories = (each.history for each in records(file) if each.HasField("history"))
    return [
        {".".join(i.nested_key) or i.key: json.loads(i.value_json) for i in history.item}
        for history in histories
    ]


def wait_for_rows(run: Run, number: int) -> None:
    while len(rows(files(run)[-1])) < number:
        time.sleep(0.1)


@pytest.fixture
def run(workdir) -> Run:
    run = Run(workdir / "runs/001-rnn")
    run.write(tiny_config("x"), {})
    return run


def files(run: Run) -> list[Path]:
    return sorted(run.path.absolute().parents[1].glob("wandb/offline-run-*/run-*.wandb"))


def test_config_figures_samples_and_problems_are_in_a_file(run):
    log("(training(10), validation(10), diagnosis(10))", "log.close(ended=True)")
    (file,) = files(run)
    (begun,) = (each.run for each in records(file) if each.HasField("run"))
    assert (begun.project, begun.display_name) == ("s2s", "001-rnn")
    config = {each.key or ".".join(each.nested_key): each for each in begun.config.update}
    assert json.loads(config["model.kind"].value_json) == "rnn"
    first, second = rows(file)
    assert (first["step"], first["training/loss"]) == (10, 4.9)
    assert (second["step"], second["validation/dev_bleu"]) == (10, 1.0)
    (table,) = file.parent.glob("files/media/table/*.json")
    found = json.loads(table.read_text("utf-8"))
    assert found["columns"] == ["source", "reference", "translation"]
    assert found["data"] == [list(sample) for sample in SAMPLES]
    summaries = [each.summary for each in records(file) if each.HasField("summary")]
    texts = [item.value_json for summary in summaries for item in summary.update]
    assert '"Too much."' in texts
    exits = [each.exit.exit_code for each in records(file) if each.HasField("exit")]
    assert exits == [0]


def test_after_a_kill_and_a_resume_the_run_continues_without_repeated_steps(run):
    log(
        "(training(10), training(12), validation(12), training(20))",
        "wait_for_rows(run, 4); os._exit(0)",
    )
    # The checkpoint was that of update 12.
    log(
        "(training(20), training(24), validation(24))",
        "log.close(ended=False)",
        before="[training(10), training(12), validation(12)]",
    )
    both = files(run)
    assert len(both) == 2
    identities = {each.run.run_id for f in both for each in records(f) if each.HasField("run")}
    assert len(identities) == 1
    logged = [row for file in both for row in rows(file)]
    assert [row["step"] for row in logged if "training/loss" in row] == [10, 12, 20, 24]
    assert [row["step"] for row in logged if "validation/dev_bleu" in row] == [12, 24]


def test_an_invalid_mode_is_a_warning(run, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "nonsense")
    warnings: list[str] = []
    Trackers(run, ["wandb"], [training(10)], warnings.append).write(training(20))
    (warning,) = warnings
    assert warning.startswith("wandb receives no more figures")
