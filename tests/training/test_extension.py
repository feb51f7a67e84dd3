"""A training that continues with a higher limit."""

from pathlib import Path

import pytest
from conftest import tiny_config
from quick_training import SMALLEST, validate_nothing

from seq2seq_cli.config import Config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.resuming import raised_limits, resumed_config
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position
from seq2seq_cli.training.events import Notice, ignore
from seq2seq_cli.training.extension import extension
from seq2seq_cli.training.loop import train


def limited(**limits) -> Config:
    return tiny_config("x", **{f"training__{key}": value for key, value in limits.items()})


def put(key: str, value: object) -> Overrides:
    layer = Overrides()
    layer.set(f"training.{key}", value, f"--{key}")
    return layer


@pytest.mark.parametrize(
    ("before", "now", "raised"),
    [
        ({"epochs": 2}, {"epochs": 3}, {"training.epochs": (2, 3)}),
        ({}, {"epochs": 5}, {"training.epochs": (4, 5)}),  # 4 is the limit where none is set
        ({"epochs": 4}, {"epochs": 3}, {}),
        ({"epochs": 4}, {"epochs": 4, "steps": 10**9}, {}),
        (
            {"steps": 9},
            {"steps": 10, "patience": 20},
            {"training.steps": (9, 10), "training.patience": (8, 20)},
        ),
    ],
)
def test_limits_that_are_higher_are_found(before, now, raised):
    assert raised_limits(limited(**before), limited(**now)) == raised


@pytest.mark.usefixtures("workdir")
class TestConfig:
    @pytest.fixture
    def run(self, corpus) -> Run:
        run = Run(Path("runs/x"))
        run.path.mkdir(parents=True)
        run.write(tiny_config(corpus, training__steps=10), {})
        return run

    def test_a_limit_may_be_raised_if_requested(self, run):
        assert resumed_config(run, put("steps", 20), raising=True).training.steps == 20
        with pytest.raises(UsageError, match="training.steps: 10 there, 20 now"):
            resumed_config(run, put("steps", 20))

    @pytest.mark.parametrize(("key", "value"), [("steps", 5), ("epochs", 9), ("patience", 1)])
    def test_a_limit_is_neither_lowered_nor_added(self, run, key, value):
        with pytest.raises(UsageError, match="A limit can be raised, but not lowered or added"):
            resumed_config(run, put(key, value), raising=True)


def test_the_new_course_of_the_learning_rate_is_reported():
    position = Position(200, 2, 0, 9.0, None, None, None, 0)
    schedule = {"peak_learning_rate": 0.01, "warmup_steps": 5}
    text = extension(limited(epochs=2, **schedule), limited(epochs=4, **schedule), 100, position)
    assert text == (
        "training.epochs is 4 and was 2. The learning rate continues at 0.005, on its course to "
        'the new end (training.schedule = "cosine"); before, it was 0. The result differs from '
        "that of a run with this limit from the start"
    )
    schedule |= {"schedule": "constant"}
    text = extension(limited(epochs=2, **schedule), limited(epochs=4, **schedule), 100, position)
    assert text.endswith("the result is that of a run with this limit from the start")
    unusual = {**schedule, "validate_every_steps": 150}
    text = extension(limited(epochs=2, **unusual), limited(epochs=4, **unusual), 100, position)
    assert "would not have validated after 200 updates, so its best checkpoint" in text
    early = Position(160, 1, 60, 9.0, None, None, None, 0)
    text = extension(limited(epochs=2, **unusual), limited(epochs=4, **unusual), 100, early)
    assert text.endswith("the result is that of a run with this limit from the start")
    short = {**schedule, "warmup_steps": 400}  # a share of the training ends the warm-up
    text = extension(limited(epochs=2, **short), limited(epochs=4, **short), 100, position)
    assert "The result differs from that" in text
    assert extension(limited(epochs=2), limited(epochs=2), 100, position) == ""
    text = extension(limited(steps=1_000_000), limited(steps=1_234_567), 100, position)
    assert text.startswith("training.steps is 1,234,567 and was 1,000,000. ")


def test_a_training_that_ended_by_patience_advises_to_raise_it():
    position = Position(200, 2, 0, 9.0, 29.0, 30.0, 100, 3)
    before = limited(epochs=2, patience=3)
    text = extension(before, limited(epochs=4, patience=3), 100, position)
    assert text == (
        "training.epochs is 4 and was 2. Training ends again at once, because dev BLEU has not "
        "risen in 3 validations. Also raise training.patience, such as by --set training.patience=6"
    )
    text = extension(before, limited(epochs=4, patience=4), 100, position)
    assert "training.patience is 4 and was 3. The learning rate continues" in text


def test_more_patience_alone_does_not_change_the_course():
    position = Position(200, 2, 0, 9.0, 29.0, 30.0, 100, 3)
    limits = {"epochs": 4, "budget_seconds": 100.0}
    text = extension(limited(**limits, patience=3), limited(**limits, patience=6), 100, position)
    assert text == ("training.patience is 6 and was 3. The learning rate continues on its course")


@pytest.mark.usefixtures("workdir")
def test_a_finished_training_goes_on_with_a_higher_limit(corpus, monkeypatch):
    validate_nothing(monkeypatch)

    def config(steps: int) -> Config:
        return tiny_config(
            corpus,
            **SMALLEST,
            training__steps=steps,
            training__schedule="constant",
            training__warmup_steps=0,
            training__validate_every_steps=100,
        )

    def weights(run: str) -> bytes:
        (newest, *_) = checkpoints.checkpoint_folders(Path("runs", run, "checkpoints"))
        assert newest.name == "step-00000006"
        return (newest / checkpoints.MODEL).read_bytes()

    train(config(6), ignore, name="whole")
    train(config(3), ignore, name="parts")
    events = []
    result = train(config(6), events.append, resume=find_run("parts"))
    assert result.step == 6
    assert weights("parts") == weights("whole")
    assert any("training.steps is 6 and was 3" in e.text for e in events if isinstance(e, Notice))
    assert find_run("parts").config() == config(6)
