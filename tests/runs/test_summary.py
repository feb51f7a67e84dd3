"""What a run's folder says of its training; without TensorFlow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.runs import saving
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position, State
from seq2seq_cli.runs.summary import all_runs, changed_keys, differing_keys, summarise, trained_on


def config(**settings: object) -> Config:
    overrides = Overrides()
    for key, value in settings.items():
        overrides.set(key.replace("__", "."), value, "test")
    return load_config(overrides)


def entry(kind: str, step: int, **values: object) -> dict:
    return {"kind": kind, "step": step, "seconds": step * 6.0, **values}


def make_run(path: Path, *entries: dict, **settings: object) -> Run:
    path.mkdir(parents=True)
    run = Run(path)
    run.write(config(**settings), {})
    for each in entries:
        run.append_metrics(each)
    state = State(30, Position.at_start(), 7.0, "f", "2026-02-01T00:00:00+00:00", {})
    saving.save(run.checkpoints, [], [], state)
    return run


TRAINING = entry("training", 10, loss=3.0, share_done=0.5)
VALIDATION = entry("validation", 20, dev_bleu=7.5)
END = entry("end", 30, reason="the training is complete")


def test_a_finished_run_has_its_figures(tmp_path):
    worse = entry("validation", 30, dev_bleu=2.0)
    run = make_run(tmp_path / "a", TRAINING, VALIDATION, worse, END, model__attention="dot")
    found = summarise(run)
    assert (found.state, found.problem) == ("done", "the training is complete")
    assert (found.steps, found.minutes) == (30, 3.0)
    assert (found.best_dev_bleu, found.best_step) == (7.5, 20)
    assert (found.model, found.attention) == ("rnn-dot", "dot, luong")
    assert (found.data, found.changed) == ("phrasebook", "2026-02-01T00:00:00+00:00")
    files = [path for path in run.path.rglob("*") if path.is_file()]
    assert found.size == sum(path.stat().st_size for path in files)


def test_a_run_names_its_training_data(tmp_path):
    versions = {"tensorflow": "2.21.0", "keras": "3.15.1"}
    computation = {"device": "CPU (2 cores)", "precision": "bfloat16", "versions": versions}
    cases = {
        "known": (computation, "CPU (2 cores), bfloat16, tensorflow 2.21.0, keras 3.15.1"),
        "in part": ({"device": "CPU", "versions": 3}, "CPU"),
        "damaged": ("CPU", ""),
    }
    for name, (given, wanted) in cases.items():
        run = make_run(tmp_path / name, entry("start", 0, computation=given), TRAINING)
        assert trained_on(run) == wanted
    assert trained_on(make_run(tmp_path / "earlier", TRAINING)) == ""


def test_a_run_without_an_end_is_interrupted(tmp_path):
    assert summarise(make_run(tmp_path / "a", TRAINING)).state == "interrupted"
    extended = make_run(tmp_path / "c", entry("training", 20, share_done=1.0))
    assert summarise(extended).state == "interrupted"


def test_an_average_of_checkpoints_counts_as_finished(tmp_path):
    found = summarise(make_run(tmp_path / "a"))
    assert (found.state, found.problem) == ("done", "an average of checkpoints")
    new = Run(tmp_path / "b")
    new.path.mkdir()
    new.write(config(), {})
    assert summarise(new).state == "interrupted"


def test_a_run_locked_by_another_process_is_in_training(tmp_path):
    run = make_run(tmp_path / "a", TRAINING)
    code = (
        "import sys; from pathlib import Path; from seq2seq_cli.runs.run import Run\n"
        f"with Run(Path({str(run.path)!r})).lock(): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        assert summarise(run).state == "training"
        holder.stdin.close()
    assert summarise(run).state == "interrupted"


def to_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda run: (run.path / "config.toml").write_text("x = 1"), "config.toml"),
        (lambda run: (run.path / "config.toml").unlink(), "no config.toml"),
        (lambda run: to_folder(run.path / "metrics.jsonl"), "metrics.jsonl: cannot be read"),
        (lambda run: next(run.checkpoints.glob("*/state.json")).write_text("{}"), "state.json"),
    ],
)
def test_a_damaged_run_names_the_damage(tmp_path, damage, problem):
    run = make_run(tmp_path / "a", TRAINING, END)
    damage(run)
    found = summarise(run)
    assert found.state == "damaged"
    assert problem in found.problem


def test_folders_that_are_not_runs_are_left_out(tmp_path):
    make_run(tmp_path / "b")
    make_run(tmp_path / "a")
    (tmp_path / "other").mkdir()
    assert [run.name for run in all_runs(tmp_path)] == ["a", "b"]


def test_differing_keys_are_listed(tmp_path):
    one = config(model__attention="dot", training__seed=1)
    other = config(model__kind="transformer", training__seed=1)
    found = differing_keys([one, other, one])
    assert found["model.kind"] == ["rnn", "transformer", "rnn"]
    assert found["model.attention"] == ["dot", None, "dot"]
    assert "training.seed" not in found
    assert differing_keys([one, one]) == {}


def test_keys_that_differ_from_the_defaults_are_listed():
    assert changed_keys(config(model__kind="transformer")) == {"model.kind": "transformer"}
    assert changed_keys(config(training__seed=3)) == {"training.seed": 3}


def test_the_record_of_the_end_is_removed_when_training_continues(tmp_path):
    run = make_run(tmp_path / "a", TRAINING, VALIDATION, END)
    run.go_back_to(30, lambda text: None)
    kinds = [
        json.loads(line)["kind"] for line in (run.path / "metrics.jsonl").read_text().splitlines()
    ]
    assert kinds == ["training", "validation"]
