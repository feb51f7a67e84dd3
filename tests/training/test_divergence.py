"""A loss, a gradient or a weight that is not finite ends a training, and nothing of it is saved."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import tiny_config
from quick_training import SMALLEST, validate_nothing

from seq2seq_cli.errors import DivergedError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import optimizers
from seq2seq_cli.training.divergence import DivergenceCheck, Update
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Validator

pytestmark = pytest.mark.usefixtures("workdir")
NAN, INF = float("nan"), float("inf")


class FivePairs:
    def pairs_of(self, epoch, first_part, parts=1):
        return [(f"{epoch}.{first_part}.{parts} {n}", "x\x1b" * 50) for n in range(5)]


def check(precision: str = "float32", **settings: object) -> DivergenceCheck:
    config = tiny_config(None, **settings).training
    return DivergenceCheck(config, FivePairs(), Run(Path("runs/x")), precision)


def update(loss: float = 5.0, norm: float = 1.0, **where: int) -> Update:
    return Update(loss, norm, 8, 0.25, **where)


@pytest.mark.parametrize(
    ("updates", "settings", "cause"),
    [
        ([update(NAN)], {}, "the initial weights: the sizes"),
        (
            [update(NAN)],
            {"training.initial_run": "other"},
            r"the weights of training.initial_run \(other\)",
        ),
        ([update(), update(5.0, INF)], {}, r"training.peak_learning_rate \(0.004\) is too high"),
        (
            [*[update()] * 20, update(norm=30.0), update(INF)],
            {},
            "the learning rate, 0.25 at this step, is too high: the gradient's norm was usually 1, "
            "and finally 30",
        ),
        ([update(), update(NAN)], {"training.epsilon": 1e-40}, r"training.epsilon \(1e-40\) is 0"),
        (
            [update(), update(NAN)],
            {"precision": "bfloat16"},
            ".*, or bfloat16 is not precise enough",
        ),
    ],
)
def test_the_first_update_that_is_not_finite_is_named_with_the_likely_cause(
    updates, settings, cause
):
    with pytest.raises(DivergedError, match=f"Likely cause: {cause}") as caught:
        check(**settings).check_updates(len(updates) + 1, [*updates, update(NAN)])
    assert f" at step {len(updates)}, in epoch 1, batch 1, with these pairs:" in str(caught.value)
    assert "there is no checkpoint yet" in str(caught.value)
    assert caught.value.exit_code == 6


def test_the_batches_are_named_by_their_first_pairs():
    with pytest.raises(DivergedError) as caught:
        settings = {"training__parts": 3}
        check(**settings).check_updates(9, [update(), update(NAN, epoch=2, first_part=6, parts=3)])
    lines = str(caught.value).split("\n")
    assert lines[0] == "the loss is nan at step 9, in epoch 3, batch 3, with these pairs:"
    assert lines[1].startswith("  '2.6.3 0' → 'x\\x1bx")
    assert len(lines[1]) < 160
    assert lines[4] == "  and 2 more"


@pytest.mark.parametrize(("step", "parts"), [(5, 1), (7, 2)])
def test_a_training_that_diverges_saves_nothing_of_it(step, parts, corpus, monkeypatch):
    message = f"the loss is nan at step {step}, in epoch 1, batch {step}, with these pairs"
    make_update = Updater.update

    def breaking(self, batches, number, learning_rate):
        if number == step - 1:
            for variable in self._model.trainable_variables:
                variable.assign(variable * np.nan)
        return make_update(self, batches, number, learning_rate)

    monkeypatch.setattr(Updater, "update", breaking)
    validate_nothing(monkeypatch)
    settings = {"training__validate_every_steps": 4, "training__parts": parts, **SMALLEST}
    settings["training__batch_tokens"] = 128  # for more than seven updates in an epoch
    with pytest.raises(DivergedError, match=message) as caught:
        train(tiny_config(corpus, training__steps=50, **settings), ignore, name="x")
    assert "the newest checkpoint is step-00000004" in str(caught.value)
    run = Run(Path("runs/x"))
    assert [path.name for path in checkpoints.checkpoint_folders(run.checkpoints)] == [
        "step-00000004"
    ]
    assert checkpoints.newest_valid(run.checkpoints, pytest.fail).state.step == 4
    assert "NaN" not in json.dumps(run.metrics())


@pytest.mark.parametrize("where", ["weights", "dev loss"])
def test_a_state_that_diverges_after_an_update_is_not_saved(where, corpus, monkeypatch):
    apply = optimizers.Adam.apply
    if where == "dev loss":
        monkeypatch.setattr(Validator, "loss", lambda self, show, averaged=True: INF)
        message = "the dev loss is inf after step 2, although the weights are finite"
    else:

        def breaking(self, gradients, variables):
            apply(self, gradients, variables)
            variables[0].assign(variables[0] * INF)

        monkeypatch.setattr(optimizers.Adam, "apply", breaking)
        message = "has values that are not finite after step 2, although loss and gradient are"
    config = tiny_config(corpus, training__steps=2, **SMALLEST)
    monkeypatch.setattr(DivergenceCheck, "check_updates", lambda self, last, updates: None)
    with pytest.raises(DivergedError, match=message):
        train(config, ignore, name="x")
    run = Run(Path("runs/x"))
    assert checkpoints.checkpoint_folders(run.checkpoints) == []
    assert [entry["kind"] for entry in run.metrics()] == ["start", "training"]


def test_integers_and_finite_numbers_pass():
    variables = [SimpleNamespace(path="n", numpy=lambda: np.int64(3))]
    check().check_weights(1, variables)
    check().check_dev_loss(1, 0.0)


def test_a_state_of_the_optimizer_that_is_not_finite_is_named():
    whole = SimpleNamespace(path="whole", numpy=lambda: np.ones(3, np.float32))
    broken = SimpleNamespace(path="adam/m", numpy=lambda: np.array([1, NAN], np.float32))
    with pytest.raises(DivergedError, match="^adam/m has values that are not finite after step 4"):
        check().check_weights(4, [whole, broken])
