from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf
from conftest import tiny_config
from quick_training import SCORES, compute_nothing

from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position
from seq2seq_cli.training import loop
from seq2seq_cli.training.events import Phase, Progress, Summary, Validation, ignore
from seq2seq_cli.training.loop import batches_from, train
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Faults, Translated, Validator

pytestmark = pytest.mark.usefixtures("workdir")


@pytest.mark.parametrize("kind", ["transformer", "decoder_only"])
def test_every_kind_of_model_learns_and_can_be_loaded(kind, corpus):
    events = []
    config = tiny_config(corpus, model__kind=kind, tokenizer__kind="words", training__epochs=2)
    result = train(config, events.append)
    losses = [e.loss for e in events if isinstance(e, Progress)]
    assert losses[-1] < losses[0]
    assert result.run == f"runs/001-{kind.replace('_', '-')}"
    summary = next(e for e in events if isinstance(e, Summary))
    assert summary.config.model == config.model
    assert (summary.computation.precision, summary.computation.shards) == ("float32", 1)
    run = Run(Path(result.run))
    *_, validation = (entry for entry in run.metrics() if entry["kind"] == "validation")
    assert 0 < validation["attention_entropy"] <= 1
    assert 0 <= validation["attention_still_share"] <= 1
    loaded = load_run(run, ignore)
    assert len(loaded.translator().translate(["I see one apples.", ""])) == 2


def test_it_learns_sends_events_and_logs(corpus):
    events = []
    settings = {"tokenizer__kind": "words", "training__peak_learning_rate": 0.01}
    config = tiny_config(corpus, training__epochs=4, **settings)
    result = train(config, events.append, device="a device")
    summary = next(e for e in events if isinstance(e, Summary))
    assert summary.run == result.run
    assert summary.computation.device == "a device"
    progress = [e for e in events if isinstance(e, Progress)]
    validations = [e for e in events if isinstance(e, Validation)]
    assert progress[-1].loss < progress[0].loss
    assert progress[-1].share_done == 1
    assert [v.epoch for v in validations] == [1, 2, 3, 4]
    assert all(len(v.samples) == 3 for v in validations)
    assert validations[-1].dev_loss < validations[0].dev_loss
    assert result.reason == "the training is complete"
    assert result.best_dev_bleu == max(v.dev_bleu for v in validations)

    run = find_run(None)
    assert str(run.path) == result.run
    entries = run.metrics()
    assert [e["step"] for e in entries if e["kind"] == "training"] == [p.step for p in progress]
    events_file = next(run.logs.iterdir())
    tags = {
        value.tag
        for event in tf.compat.v1.train.summary_iterator(str(events_file))
        for value in event.summary.value
    }
    assert {"training/loss", "training/learning_rate", "validation/dev_bleu"} <= tags


def test_it_says_what_it_is_doing_and_keeps_the_newest_checkpoints_and_the_best(corpus):
    config = tiny_config(corpus, training__steps=11, training__validate_every_steps=3)
    events = []
    result = train(config, events.append)
    phases = [e for e in events if isinstance(e, Phase)]
    assert list(dict.fromkeys(f"{phase.text} {phase.unit}".strip() for phase in phases)) == [
        "Reading the corpus pairs",
        "Splitting the corpus",
        "Learning the vocabulary sentences read",
        "Learning the vocabulary",
        "Tokenizing the corpus pairs",
        "Building the model",
        "Choosing the precision",
        "Making the first updates",
        "Validating sentences",
        "Validating batches of the dev loss",
    ]
    translated = [phase for phase in phases if phase.unit == "sentences"]
    assert translated[-1].done == translated[-1].total > translated[0].done == 0
    first, *_, last = (e for e in events if isinstance(e, Progress))
    assert (first.seconds_left, last.seconds_left) == (None, 0)
    steps = [
        int(p.name[5:]) for p in checkpoints.checkpoint_folders(Path(result.run) / "checkpoints")
    ]
    assert set(steps) == {11, 9, result.best_step}


def test_training_stops_early_when_dev_bleu_no_longer_rises(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    config = tiny_config(
        corpus, training__steps=1000, training__validate_every_steps=1, training__patience=3
    )
    result = train(config, ignore)
    assert result.reason == "dev BLEU has not risen in 3 validations"
    assert result.step == 4


def test_a_time_budget_ends_the_training(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    now = 0.0
    update = Updater.update

    def taking_a_second(self, *args):
        nonlocal now
        now += 1
        return update(self, *args)

    monkeypatch.setattr(Updater, "update", taking_a_second)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now))
    result = train(tiny_config(corpus, training__budget_seconds=5.0), ignore)
    assert result.reason == "the training is complete"
    assert result.step == result.seconds == 5


@pytest.mark.parametrize(("warmup_steps", "expected"), [(1000, 40), (2, 20)])
def test_compilation_in_the_warmup_does_not_shorten_it(corpus, monkeypatch, warmup_steps, expected):
    compute_nothing(monkeypatch)
    now = 0.0

    def compile_for_long(*args):
        nonlocal now
        now += 20

    monkeypatch.setattr(loop, "compile_ahead", compile_for_long)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now))
    limits = {"training__budget_seconds": 1000.0, "training__warmup_share": 1.0}
    for steps in (2, 4):  # the second training continues the first one
        config = tiny_config(
            corpus, training__steps=steps, training__warmup_steps=warmup_steps, **limits
        )
        run = Run(Path("runs/x"))
        train(config, ignore, resume=run if steps == 4 else None, name="x")
    newest = run.resumable_checkpoint(ignore)
    assert newest.state.position.seconds_before_updates == expected
    assert newest.state.position.seconds == 40


def test_checkpoints_are_saved_as_often_as_configured(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    config = tiny_config(
        corpus,
        training__steps=10,
        training__validate_every_steps=1000,
        training__checkpoint_minutes=1e-9,
        training__keep_checkpoints=100,
    )
    result = train(config, ignore)
    assert len(checkpoints.checkpoint_folders(Path(result.run) / "checkpoints")) == 10


def test_as_many_checkpoints_are_kept_as_configured(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    bleus = iter([30.0, 10.0, 20.0, 5.0, 1.0])

    def translate(self, show):
        return Translated(replace(SCORES, bleu=next(bleus)), [], Faults())

    monkeypatch.setattr(Validator, "translate", translate)
    config = tiny_config(
        corpus,
        training__steps=5,
        training__validate_every_steps=1,
        training__keep_checkpoints=1,
        training__keep_best_checkpoints=2,
    )
    folder = Path(train(config, ignore).run) / "checkpoints"
    assert [path.name[-1] for path in checkpoints.checkpoint_folders(folder)] == ["5", "3", "1"]


def test_batches_continue_endlessly_from_a_position():
    class Data:
        def batches(self, epoch, skip):
            assert epoch < 6
            yield from [(epoch, number) for number in range(3)][skip:]

    position = Position.at_start()
    position.epoch, position.batch = 4, 2
    found = []
    for (batch,) in batches_from(Data(), position):
        found.append((batch, position.epoch, position.batch))
        position.batch += 1
        if len(found) == 4:
            break
    assert found == [((4, 2), 4, 2), ((5, 0), 5, 0), ((5, 1), 5, 1), ((5, 2), 5, 2)]
    # The next epoch has not begun.
    assert (position.epoch, position.batch) == (5, 3)
