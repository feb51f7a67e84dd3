"""What trackers receive, by one that keeps it in a list; without the packages."""

import json
import os
import signal
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
from conftest import tiny_config
from quick_training import compute_nothing

from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import RunInterruptedError, UsageError
from seq2seq_cli.runs.resuming import resumed_config
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import trackers
from seq2seq_cli.training.events import Event, Notice, Progress
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.setup import set_up
from seq2seq_cli.training.trackers import TRACKERS, Trackers, check_trackers


class ListTracker:
    """Keeps what it receives."""

    def __init__(self, name, config, found):
        self.name, self.config, self.was_found = name, config, found
        self.found = {"run": "abc"}
        self.entries, self.ends = [], []

    def log(self, entry):
        self.entries.append(entry)

    def close(self, ended):
        self.ends.append(ended)


@pytest.fixture
def opened(monkeypatch) -> list[ListTracker]:
    """The trackers that have been opened as "mlflow", instead of MLflow's."""
    made: list[ListTracker] = []

    def open_one(*arguments):
        made.append(ListTracker(*arguments))
        return made[-1]

    monkeypatch.setitem(trackers._OPENS, "mlflow", open_one)
    package = ModuleType("mlflow")
    package.__spec__ = ModuleSpec("mlflow", None, origin="here")
    monkeypatch.setitem(sys.modules, "mlflow", package)
    return made


@pytest.fixture
def run(tmp_path) -> Run:
    run = Run(tmp_path / "001-rnn")
    run.write(tiny_config("x"), {})
    return run


def entry(kind: str, step: int, **values: object) -> dict:
    return {"kind": kind, "step": step, **values}


def sent(tracker: ListTracker) -> list[tuple[str, int]]:
    return [(each["kind"], each["step"]) for each in tracker.entries]


def no_warning(text: str) -> None:
    raise AssertionError(text)


def no_notice_of_trackers(event: Event) -> None:
    assert not isinstance(event, Notice) or "no more figures" not in event.text


def test_a_tracker_receives_the_config_and_each_entry_once(run, opened):
    log = Trackers(run, ["mlflow", "mlflow"], [entry("start", 0)], no_warning)
    for each in (entry("training", 10), entry("training", 12), entry("validation", 12)):
        log.write(each)
    log.close(ended=True)
    log.close(ended=False)
    (tracker,) = opened
    assert tracker.name == "001-rnn"
    assert tracker.config["model.kind"] == "rnn"
    assert sent(tracker) == [("training", 10), ("training", 12), ("validation", 12)]
    assert tracker.ends == [True]


def test_after_kills_and_resumes_no_step_is_sent_twice_and_none_is_missing(run, opened):
    # Killed in the validation of update 12; its checkpoint is that of update 0.
    killed = Trackers(run, ["mlflow"], [], no_warning)
    killed.write(entry("training", 10))
    killed.write(entry("training", 12))
    # Killed earlier than before.
    Trackers(run, ["mlflow"], [], no_warning).write(entry("training", 10))
    resumed = Trackers(run, ["mlflow"], [entry("training", 10)], no_warning)
    for each in (entry("training", 12), entry("validation", 12), entry("training", 20)):
        resumed.write(each)
    assert [tracker.was_found for tracker in opened] == [{}, {"run": "abc"}, {"run": "abc"}]
    received = [each for tracker in opened for each in sent(tracker)]
    assert received == [("training", n) for n in (10, 12)] + [("validation", 12), ("training", 20)]


def test_a_later_tracker_receives_earlier_entries(run, opened):
    before = [entry("start", 0), entry("training", 10), entry("validation", 10)]
    before += [entry("diagnosis", 10, name="a", text="b")]
    Trackers(run, ["mlflow"], before, no_warning)
    assert sent(opened[0]) == [("training", 10), ("validation", 10), ("diagnosis", 10)]


def test_all_problems_of_an_update_are_sent(run, opened):
    log = Trackers(run, ["mlflow"], [], no_warning)
    log.write(entry("diagnosis", 10, name="a"))
    log.write(entry("diagnosis", 10, name="b"))
    assert [each["name"] for each in opened[0].entries] == ["a", "b"]


def test_a_tracker_that_fails_is_one_warning_and_catches_up_later(run, opened):
    def fail(entry):
        raise OSError(28, "No space left")

    warnings = []
    log = Trackers(run, ["mlflow"], [], warnings.append)
    log.write(entry("training", 10))
    opened[0].log = fail
    for step in (20, 30):
        log.write(entry("training", step))
    log.close(ended=True)
    (warning,) = warnings
    assert warning.startswith("mlflow receives no more figures: [Errno 28] No space left. ")
    assert opened[0].ends == []
    entries = [entry("training", step) for step in (10, 20, 30)]
    Trackers(run, ["mlflow"], entries, no_warning)
    # The one that failed may have arrived.
    assert sent(opened[1]) == [("training", 30)]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), ConnectionError(), KeyError("x")])
def test_a_tracker_that_does_not_start_is_a_warning(run, monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setitem(trackers._OPENS, "wandb", fail)
    warnings = []
    log = Trackers(run, ["wandb"], [entry("training", 10)], warnings.append)
    log.write(entry("training", 20))
    log.close(ended=True)
    assert len(warnings) == 1
    assert "wandb receives no more figures: " in warnings[0]


@pytest.mark.parametrize("text", ["", '{"mlflow": {'])
def test_a_damaged_record_of_sent_entries_is_not_an_error(run, opened, text):
    (run.path / TRACKERS).write_text(text, "utf-8")
    warnings = []
    Trackers(run, ["mlflow"], [entry("training", 10)], warnings.append)
    assert len(warnings) == 0
    assert json.loads((run.path / TRACKERS).read_text("utf-8"))["mlflow"]["sent"] == {
        "training": 10
    }


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_package_is_refused_before_the_corpus_is_read(name, workdir, monkeypatch):
    paths = [path for path in sys.path if "site-packages" not in path]
    monkeypatch.setattr(sys, "path", [str(workdir), *paths])
    monkeypatch.delitem(sys.modules, name, raising=False)
    config = tiny_config(workdir / "no.tsv", training__trackers=[name])
    for make_folder in (False, True):  # which W&B does
        if make_folder:
            (workdir / name).mkdir()
        with pytest.raises(UsageError, match=rf"pip install 's2s\[{name}\]'"):
            set_up(config)
    check_trackers([])


def test_trackers_receive_all_figures_and_the_end_of_a_training(
    corpus, workdir, opened, monkeypatch
):
    compute_nothing(monkeypatch)

    def stop(event):
        if isinstance(event, Progress) and event.step == 10:
            os.kill(os.getpid(), signal.SIGTERM)

    config = tiny_config(
        corpus, training__steps=12, training__validate_every_steps=12, training__trackers=["mlflow"]
    )
    with pytest.raises(RunInterruptedError):
        train(config, stop, name="one")
    run = Run(workdir / "runs/one")
    train(config, no_notice_of_trackers, resume=run)
    received = [each for tracker in opened for each in tracker.entries]
    entries = [each for each in run.metrics() if each["kind"] not in ("start", "end")]
    assert json.loads(json.dumps(received)) == entries
    assert [each["step"] for each in entries if each["kind"] != "diagnosis"] == [10, 11, 12, 12]
    assert [tracker.ends for tracker in opened] == [[False], [True]]


def test_a_resumed_training_may_have_other_trackers(run):
    other = Overrides()
    other.set("training.trackers", ["mlflow"], "test")
    assert resumed_config(run, other).training.trackers == ["mlflow"]
