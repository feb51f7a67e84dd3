"""Every exit code is documented, and each command leaves with what the table says."""

import re
import signal
import sys
from pathlib import Path

import pytest
from conftest import s2s, tiny_config

from seq2seq_cli import errors
from seq2seq_cli.errors import DivergedError, RunInterruptedError, S2SError, WorkerError
from seq2seq_cli.runs.run import Run

PAGE = Path(__file__).parents[2] / "docs/command-line.md"
SIGNALS = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}


def documented() -> set[int]:
    """Return the codes of the table."""
    table = PAGE.read_text("utf-8").split("## Exit codes")[1]
    cells = re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
    return {int(code) for cell in cells for code in cell.split(",")}


def test_the_codes_of_all_errors_are_documented():
    codes = {error.exit_code for error in vars(errors).values() if hasattr(error, "exit_code")}
    codes.add(WorkerError("").exit_code)
    assert codes == set(range(1, 9))
    pipe = 128 + signal.SIGPIPE
    assert documented() == {0, pipe} | codes | SIGNALS


@pytest.mark.usefixtures("workdir")
@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["config", "show"]),
        (1, ["data", "check", "--data", "odd.tsv", "--quiet"]),
        (2, ["train", "--no-such-option"]),
        (2, ["train", "--set", "training.steps=none"]),
        (3, ["data", "stats", "--data", "bad.tsv", "--quiet"]),
        (4, ["checkpoints", "verify", "begun"]),
        (4, ["translate", "--run", "begun", "I see."]),
        (5, ["runs", "rename", "held", "other"]),
        (7, ["init", "none/my.toml"]),
    ],
)
def test_a_command_exits_with_the_documented_code(code, arguments, corpus):
    Path("odd.tsv").write_text("I see.\tVeo.\nI see.\tVeo.\n")
    Path("bad.tsv").write_text("no columns\n")
    for name in ("begun", "held"):
        Run(Path("runs") / name).write(tiny_config(corpus), {})
    with Run(Path("runs/held")).lock():
        found, _, error = s2s(*arguments)
    assert found == code, error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (6, DivergedError("the loss is nan")),
        *((code, RunInterruptedError("stopped", code - 128)) for code in SIGNALS),
    ],
)
def test_training_exits_with_the_code_of_its_error(
    code, error: S2SError, workdir, corpus, monkeypatch
):
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(sys.modules["seq2seq_cli.cli.workers"], "start_tensorflow", fail)
    found, _, said = s2s("train", "--data", str(corpus), "--quiet")
    assert (found, str(error) in said) == (code, True)
