"""Tuning, by trainings that only tell figures and, once, by real ones."""

import json
import signal
from xml.etree import ElementTree

import pytest
from conftest import tiny_config

from seq2seq_cli.config.files import changed_config, load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import DivergedError, RunInterruptedError, UsageError
from seq2seq_cli.recipes import tuning
from seq2seq_cli.recipes.search_space import Choice, Range
from seq2seq_cli.recipes.trials import best_of
from seq2seq_cli.recipes.tuning import tune
from seq2seq_cli.recipes.tuning_plot import plot
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Notice, Result, Validation, ignore

SPACE = {"model.dropout": Range(0.0, 0.4), "model.encoder_units": Choice((8, 24))}
FIGURES = dict.fromkeys(("epoch", "seconds", "dev_loss", "dev_chrf"), 0)


class Trainings:
    """Trainings of three validations whose dev BLEU is highest with a dropout of 0.3."""

    def __init__(self, monkeypatch):
        self.began: list[tuple[str, float]] = []
        self.fails: dict[int, Exception] = {}
        monkeypatch.setattr(tuning, "train", self)
        monkeypatch.setattr(tuning, "plot", lambda trials, space: b"")

    def __call__(self, config, on_event, resume, name, device):
        run = resume or Run(tuning.Path(name))
        dropout = config.model.dropout
        number = len(self.began)
        self.began.append((run.name, dropout))
        if not resume:
            run.write(config, {})
        log = run.path / "metrics.jsonl"
        before = len(log.read_text().splitlines()) if log.exists() else 0
        for i in range(before + 1, 4):
            if i == 3 and number in self.fails:
                raise self.fails[number]
            bleu = 20 - 40 * abs(dropout - 0.3) + i
            with log.open("a") as file:
                entry = {"kind": "validation", "step": i, "dev_bleu": bleu, "seconds": i}
                file.write(json.dumps(entry) + "\n")
            event = {"step": i, "dev_bleu": bleu, "signature": "", "is_best": True, "samples": []}
            on_event(Validation(**FIGURES, **event))
        return Result(str(run.path), "the limit", 3, 3.0, 3, bleu)


@pytest.fixture
def trainings(monkeypatch) -> Trainings:
    return Trainings(monkeypatch)


BASE = tiny_config("x", model__dropout=0.1)


def test_trials_draw_from_the_space_and_the_base_config_comes_first(trainings, tmp_path):
    trials = tune(BASE, SPACE, tmp_path, 12, ignore)
    assert [trial.number for trial in trials] == [*range(12)]
    assert trials[0].values == {"model.dropout": 0.1, "model.encoder_units": 24}
    assert {trial.values["model.encoder_units"] for trial in trials} == {8, 24}
    assert all(0 <= trial.values["model.dropout"] <= 0.4 for trial in trials)
    for trial in trials:
        config = Run(tmp_path / trial.name).config()
        assert {key: config.flat()[key] for key in SPACE} == trial.values
    best = best_of(trials)
    assert best.dev_bleu > trials[0].dev_bleu


def test_training_accepts_the_best_config(trainings, tmp_path):
    trials = tune(BASE, SPACE, tmp_path, 5, ignore)
    written = load_config(Overrides.read(tmp_path / "best.toml"))
    assert written == changed_config(BASE, best_of(trials).values, "[space]")
    root = ElementTree.fromstring(plot(trials, SPACE))
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"model.dropout", "model.encoder_units", "dev BLEU", "8", "24"} <= texts


def test_a_trial_below_the_median_is_stopped_but_not_an_early_one(trainings, tmp_path):
    trials = tune(BASE, SPACE, tmp_path, 14, ignore)
    stopped = [trial for trial in trials if trial.state == "stopped"]
    assert stopped
    assert stopped[0].number >= tuning.NEVER_STOPPED
    for trial in stopped:
        at = len(trial.validations)
        assert at == 2  # the first one is not judged
        others = [
            max(each.validations[:at]) for each in trials[: trial.number] if each.state == "done"
        ]
        assert trial.dev_bleu < sorted(others)[len(others) // 2]
        assert "below the median" in trial.reason


def test_an_interrupted_tuning_continues_with_the_same_result(trainings, tmp_path):
    whole = tune(BASE, SPACE, tmp_path / "whole", 8, ignore)
    began = trainings.began.copy()
    stop = RunInterruptedError("saved", signal.SIGTERM)
    trainings.began.clear()
    trainings.fails = {2: stop, 5: stop}
    for _ in range(2):
        with pytest.raises(RunInterruptedError, match="same command continues") as raised:
            tune(BASE, SPACE, tmp_path / "parts", 6, ignore)
        assert raised.value.exit_code == 128 + signal.SIGTERM
    assert tune(BASE, SPACE, tmp_path / "parts", 8, ignore) == whole  # raised, too
    assert [*dict.fromkeys(trainings.began)] == began  # in order, each once
    assert len(trainings.began) == len(began) + 2
    before = trainings.began.copy()
    assert tune(BASE, SPACE, tmp_path / "parts", 8, ignore) == whole
    assert trainings.began == before


def test_a_trial_that_fails_does_not_end_the_others(trainings, tmp_path):
    trainings.fails = {1: DivergedError("not finite")}
    space = {**SPACE, "training.r_drop": Choice((0.0, 5.0)), "model.dropout": Choice((0.0, 0.3))}
    trials = tune(tiny_config("x", model__dropout=0.0), space, tmp_path, 8, ignore)
    reasons = [trial.reason for trial in trials if trial.state == "failed"]
    assert "not finite" in reasons
    assert any("training.r_drop (5.0) compares two predictions" in reason for reason in reasons)
    assert len(trials) == 8  # of eight combinations
    assert tune(tiny_config("x", model__dropout=0.0), space, tmp_path, 99, ignore) == trials


def test_every_combination_of_a_finite_space_is_tried_once(trainings, tmp_path):
    space = {
        "model.dropout": Range(0.0, 0.4, step=0.1),
        "model.encoder_units": Choice((8, 16, 24)),
    }
    events: list = []
    trials = tune(tiny_config("x", model__dropout=0.3), space, tmp_path, 99, events.append)
    tried = {tuple(round(value, 9) for value in trial.values.values()) for trial in trials}
    assert len(tried) == len(trials) == 15
    assert Notice("The space has no more values that were not tried") in events


def test_a_tuning_whose_trials_all_fail_is_an_error(trainings, tmp_path):
    trainings.fails = dict.fromkeys(range(2), DivergedError("not finite"))
    with pytest.raises(UsageError, match=r"all trials failed:\n  trial-000: not finite"):
        tune(BASE, SPACE, tmp_path, 2, ignore)


def test_a_run_with_other_values_is_refused(trainings, tmp_path):
    tune(BASE, SPACE, tmp_path, 1, ignore)
    (tmp_path / "tuning.json").unlink()
    with pytest.raises(UsageError, match=r"(?s)was trained with other.*dropout: 0.1 there, 0.2"):
        tune(tiny_config("x", model__dropout=0.2), SPACE, tmp_path, 1, ignore)
    (tmp_path / "tuning.json").unlink()
    other, space = tiny_config("x", model__kind="transformer"), {"model.dropout": Range(0.0, 0.4)}
    with pytest.raises(UsageError, match="model.kind: 'rnn' there, 'transformer' now"):
        tune(other, space, tmp_path, 1, ignore)


def test_another_space_base_or_seed_is_refused(trainings, tmp_path):
    tune(BASE, SPACE, tmp_path, 1, ignore)
    for base, space, seed, message in [
        (BASE, {"model.dropout": Range(0.0, 0.5)}, 0, r"space model.dropout: .*0.4.* there"),
        (tiny_config("x", training__steps=9), SPACE, 0, r"config training.steps: None there, 9"),
        (BASE, SPACE, 1, "draws seed: 0 there, 1 now"),
    ]:
        with pytest.raises(UsageError, match=message):
            tune(base, space, tmp_path, 2, ignore, seed)


@pytest.mark.slow
def test_tuning_works_with_real_trainings(corpus, tmp_path):
    base = tiny_config(corpus, training__steps=4, training__validate_every_steps=2)
    events: list = []
    trials = tune(base, SPACE, tmp_path, 2, events.append)
    assert [trial.state for trial in trials] == ["done", "done"]
    assert all(trial.steps == 4 and len(trial.validations) == 2 for trial in trials)
    assert {path.name for path in tmp_path.iterdir()} >= {"trial-000", "trial-001", "best.toml"}
    assert sum(isinstance(event, Validation) for event in events) == 4
