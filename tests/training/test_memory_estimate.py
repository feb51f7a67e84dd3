"""The estimate of the memory that training takes."""

import functools

import pytest
from conftest import tiny_config

from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.training import memory
from seq2seq_cli.training.memory import MemoryEstimate, estimate_memory
from seq2seq_cli.vocabularies import Vocabularies

VOCABULARIES = Vocabularies(300, 300)
SHAPE = (32, 16, 15)
SMALLEST = {"model__kind": "decoder_only", "model__layers": 1}


@functools.cache
def estimate(shape: tuple[int, int, int] = SHAPE, shards: int = 1, **settings) -> MemoryEstimate:
    given = settings if "model__kind" in settings else SMALLEST | settings
    config = tiny_config("x", **given)
    return estimate_memory(config, VOCABULARIES, [shape], Computation("float32", shards))


@pytest.mark.parametrize("kind", ["rnn", "transformer", "decoder_only"])
def test_the_parts_of_a_model_of_each_kind(kind):
    settings = {"model__kind": kind, "model__encoder_layers": 2}
    if kind == "decoder_only":
        del settings["model__encoder_layers"]
    config = tiny_config("x", **settings)
    found = estimate_memory(config, VOCABULARIES, [SHAPE], Computation("float32", 1), process=7)
    # Adam has two moments, and two numbers of 8 and 4 bytes.
    assert found.optimizer == 2 * found.weights + 12
    logits = 4 * 32 * 15 * 300
    assert logits + found.weights < found.batch < 30 * (logits + found.weights)
    assert (found.process, found.gradients) == (7, 0)
    assert found.total == sum(found)


@pytest.mark.slow
def test_more_rows_longer_sentences_and_more_layers_take_more():
    two = {"model__kind": "transformer", "model__encoder_layers": 2}
    batch = estimate(**two).batch
    assert 1.8 < estimate((64, 16, 15), **two).batch / batch < 2.2
    assert estimate((32, 32, 15), **two).batch > 1.1 * batch
    assert estimate(**two, model__decoder_layers=3).batch > 1.1 * batch
    assert estimate(**two, training__r_drop=1.0).batch > 1.5 * batch


@pytest.mark.slow
def test_recomputation_takes_less():
    deep = {"model__kind": "transformer"}
    deep |= {"model__encoder_layers": 4, "model__decoder_layers": 4}
    assert estimate(**deep, training__recompute=True).batch < 0.7 * estimate(**deep).batch


def test_states_in_bfloat16_take_half():
    found = estimate(training__optimizer_states="bfloat16").optimizer
    assert found - 12 == (estimate().optimizer - 12) / 2


@pytest.mark.parametrize(("optimizer", "copies"), [("lion", 1.1), ("muon", 1.9), ("adafactor", 1)])
@pytest.mark.few_cases(1)
def test_other_optimizers_store_less_than_adam(optimizer, copies):
    settings = {"training__optimizer": optimizer}
    if optimizer == "lion":
        settings["training__peak_learning_rate"] = 1e-4
    found = estimate(**settings)
    assert found.optimizer < copies * found.weights


def test_parts_are_summed_and_the_weights_averaged():
    whole = estimate()
    found = estimate(training__parts=4, training__ema=0.9)
    assert found.gradients == whole.weights
    assert found.weights == 2 * whole.weights
    assert found.batch == whole.batch


def test_frozen_weights_have_no_gradients():
    frozen = {"training__freeze": ["embeddings"], "training__initial_run": "initial"}
    found = estimate.__wrapped__(training__parts=4, **frozen)
    assert found.weights == estimate().weights
    assert 2 * found.gradients == found.optimizer - 12 < 2 * found.weights


def test_shards_share_the_rows_and_each_has_its_gradients():
    whole, halves = estimate(), estimate(shards=2)
    assert whole.batch < halves.batch < whole.batch + 6 * whole.weights
    assert halves.gradients == 2 * whole.weights


@pytest.mark.slow
def test_compilation_takes_more(monkeypatch):
    monkeypatch.setattr(memory, "parts_at_once", lambda: 2)
    config = tiny_config("x", training__compile="auto")
    shapes = [SHAPE, (30, 17, 16)]
    found = estimate_memory(config, VOCABULARIES, shapes, Computation("float32", 1))
    one = estimate_memory(config, VOCABULARIES, shapes[:1], Computation("float32", 1))
    assert found.optimizer == 2 * (2 * found.weights + 12)
    assert 1.8 < found.batch / one.batch < 2.2
