"""The commands about runs: list, show, diff, remove, rename."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from seq2seq_cli.cli import app
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, LockedError, UsageError
from seq2seq_cli.runs.run import Run


def runs(*arguments: str, answer: str = "") -> str:
    done = CliRunner().invoke(app, ["runs", *arguments], input=answer, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def make_run(name: str, bleu: float, ends: bool = True, **settings: object) -> Run:
    overrides = Overrides()
    for key, value in settings.items():
        overrides.set(key.replace("__", "."), value, "test")
    run = Run(Path("runs") / name)
    run.path.mkdir(parents=True)
    run.write(load_config(overrides), {})
    for step in (10, 20):
        figures = {"loss": 5 / step, "share_done": step / 20}
        run.append_metrics({"kind": "training", "step": step, "seconds": 60.0, **figures})
        run.append_metrics({"kind": "validation", "step": step, "dev_bleu": bleu * step / 20})
    if ends:
        run.append_metrics({"kind": "end", "step": 20, "reason": "the training is complete"})
    return run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with three runs, as the current one."""
    monkeypatch.chdir(tmp_path)
    make_run("001-rnn", 12.0)
    make_run("002-rnn", 30.0, training__seed=2)
    make_run("003-big", 20.0, ends=False, model__kind="transformer").append_metrics(
        {"kind": "training", "step": 25, "share_done": 0.5}
    )
    return tmp_path


def names(*options: str) -> list[str]:
    return [json.loads(line)["name"] for line in runs("list", "--json", *options).splitlines()]


def test_runs_are_sorted_and_filtered():
    assert names() == ["001-rnn", "002-rnn", "003-big"]
    assert names("--sort", "bleu", "--reverse") == ["002-rnn", "003-big", "001-rnn"]
    assert names("--sort", "steps") == ["001-rnn", "002-rnn", "003-big"]
    assert names("RNN") == ["001-rnn", "002-rnn"]
    assert names("multi-head") == ["003-big"]
    assert names("--state", "done") == ["001-rnn", "002-rnn"]
    assert names("--folder", "runs", "--state", "interrupted") == ["003-big"]


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_has_a_row_for_each_run(monkeypatch, width):
    monkeypatch.setattr("seq2seq_cli.cli.console.stdout", Console(width=width))
    lines = runs("list").splitlines()
    assert lines[0].split()[:2] == ["run", "state"]
    (row,) = (line for line in lines if "002-rnn" in line)
    assert "30.0" in row
    assert "done" in row
    assert "rnn-additive" in row
    assert ("bahdanau" in row) == ("MB" in row) == (width == 160)
    assert runs("list", "nothing like it") == "no run\n"
    with pytest.raises(UsageError, match="no such folder"):
        runs("list", "--folder", "elsewhere")


def test_a_run_is_shown_with_what_its_config_changes():
    record = json.loads(runs("show", "002-rnn", "--json"))
    assert record["config"] == {"training.seed": 2}
    assert (record["best_dev_bleu"], record["checkpoints"]) == (30.0, [])
    text = runs("show", "002-rnn")
    assert "training.seed" in text
    assert "(loss)" in text


def test_a_run_that_is_damaged_is_shown():
    Path("runs/001-rnn/config.toml").write_text("x = 1")
    shown = runs("show", "001-rnn")
    assert "damaged" in shown
    assert "not known" in shown
    assert "20 in 1.0 minutes" in shown


def test_the_keys_and_curves_of_two_runs():
    record = json.loads(runs("diff", "001-rnn", "002-rnn", "--json"))
    assert record["config"] == {"training.seed": [0, 2]}
    text = runs("diff", "001-rnn", "002-rnn")
    assert "training.seed" in text
    assert "(dev BLEU)" in text
    assert any("\u2800" < character <= "\u28ff" for character in text)  # a braille dot
    (axis, _) = (line for line in text.splitlines() if line.startswith("           | 0"))
    assert "." not in axis  # there are no parts of updates
    with pytest.raises(UsageError, match="name two or more"):
        runs("diff", "001-rnn")


def test_a_run_is_removed_after_confirmation(monkeypatch):
    with pytest.raises(UsageError, match="add --yes"):
        runs("remove", "001-rnn")
    assert Path("runs/001-rnn").is_dir()
    runs("remove", "--yes", "001-rnn", "runs/001-rnn/../002-rnn")
    assert sorted(path.name for path in Path("runs").iterdir()) == ["003-big"]


def test_without_confirmation_nothing_is_removed(monkeypatch):
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda self: True)
    done = CliRunner().invoke(app, ["runs", "remove", "001-rnn"], input="n\n")
    assert done.exit_code == 1
    assert Path("runs/001-rnn").is_dir()
    runs("remove", "001-rnn", answer="y\n")
    assert not Path("runs/001-rnn").exists()


def test_a_run_in_training_is_refused():
    code = (
        "import sys; from pathlib import Path; from seq2seq_cli.runs.run import Run\n"
        "with Run(Path('runs/001-rnn')).lock(): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        for command in (["remove", "--yes", "002-rnn", "001-rnn"], ["rename", "001-rnn", "x"]):
            with pytest.raises(LockedError, match=f"process {holder.pid} is training here"):
                runs(*command)
        assert names("--state", "training") == ["001-rnn"]
        holder.stdin.close()
    assert len(names()) == 3


def test_only_runs_are_removed_or_renamed():
    Path("runs/mine").mkdir()
    Path("runs/mine/precious").touch()
    Path("runs/link").symlink_to("001-rnn")
    for name, reason in (("mine", "is not a run's folder"), ("link", "is a link")):
        with pytest.raises(UsageError, match=reason):
            runs("remove", "--yes", name)
        with pytest.raises(UsageError, match=reason):
            runs("rename", name, "other")
    with pytest.raises(CheckpointError, match="no such run"):
        runs("remove", "--yes", "none")
    assert Path("runs/mine/precious").exists()


def test_a_run_is_renamed_and_nothing_is_overwritten():
    runs("rename", "001-rnn", "best")
    assert names() == ["002-rnn", "003-big", "best"]
    runs("rename", "best", "kept/here")
    assert Path("kept/here/config.toml").is_file()
    Path("runs/empty").mkdir()
    for taken in ("003-big", "empty"):
        with pytest.raises(UsageError, match="exists already"):
            runs("rename", "002-rnn", taken)
