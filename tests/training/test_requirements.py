"""What a training needs of the machine."""

import math
from pathlib import Path

import pytest
import tensorflow as tf
from conftest import TINY_MODELS, s2s, tiny_config

from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import build_model, count_weights
from seq2seq_cli.runtime import memory, parallel
from seq2seq_cli.runtime.memory import memory_errors
from seq2seq_cli.training import requirements, setup
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.training.requirements import check_devices, check_memory, check_shards
from seq2seq_cli.training.step import Updater
from seq2seq_cli.vocabularies import Vocabularies

VOCABULARIES = Vocabularies(300, 400, joint=False)
WIDE = {
    "rnn": {"model.encoder_units": 16_384, "model.decoder_layers": 3, "model.cell": "lstm"},
    "transformer": {"model.units": 16_384, "model.inner_units": 65_536},
    "decoder_only": {"model.units": 16_384, "model.positions": "learned"},
}


@pytest.mark.parametrize("kind", TINY_MODELS)
@pytest.mark.few_cases(2)
def test_weights_are_counted_without_memory_for_them(kind):
    tiny = tiny_config(None, model__kind=kind).model
    built = build_model(tiny, VOCABULARIES)
    assert count_weights(tiny, VOCABULARIES) == sum(
        math.prod(variable.shape) for variable in built.trainable_variables
    )
    before = memory.peak_memory()
    wide = tiny_config(None, model__kind=kind, **WIDE[kind]).model
    found = count_weights(wide, VOCABULARIES)
    assert 4 * found > 4e9
    assert memory.peak_memory() - before < 1e9


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", TINY_MODELS)
def test_the_upper_bound_of_weights_is_at_least_their_count(kind, wide):
    config = tiny_config(None, model__kind=kind, **(WIDE[kind] if wide else {}))
    bound = requirements._most_weights(config, VOCABULARIES)
    assert bound >= count_weights(config.model, VOCABULARIES)


@pytest.mark.parametrize("settings", [WIDE["rnn"], {"training.batch_tokens": 1_000_000}])
def test_a_training_that_cannot_fit_in_memory_is_refused_before_its_model_is_built(
    settings, corpus, workdir, monkeypatch
):
    monkeypatch.setattr(memory, "most_memory", lambda: 10**9)
    monkeypatch.setattr(setup, "build_model", lambda *args: pytest.fail("was built"))
    options = [f"--set={key}={value}" for key, value in settings.items()]
    code, _, error = s2s("train", "--data", str(corpus), "--device", "cpu", *options)
    assert code == 2
    assert "GB of memory, and 1.0 GB are available" in " ".join(error.split())
    for key in settings:
        assert key in error or key == "model.cell"
    assert not (workdir / "runs").exists()


def test_a_training_that_fits_in_memory_is_not_refused():
    check_memory(tiny_config(None), VOCABULARIES)


@pytest.mark.parametrize("method", ["update", "__init__"])
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        tf.errors.ResourceExhaustedError(None, None, "OOM"),
        tf.errors.InternalError(None, None, "CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
    ],
)
@pytest.mark.few_cases(3)
def test_a_training_that_runs_out_of_memory_says_what_to_lower(
    error, method, corpus, workdir, monkeypatch
):
    def fill_memory(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(Updater, method, fill_memory)
    message = (
        r"^training does not fit in memory. Lower one of training.batch_tokens \(512\), .*"
        r"training.shards \(1\), .*model.encoder_units \(24\)"
    )
    with pytest.raises(UsageError, match=message):
        train(tiny_config(corpus), ignore)


def test_other_internal_errors_are_not_taken_for_a_lack_of_memory():
    with pytest.raises(tf.errors.InternalError), memory_errors("too large"):
        raise tf.errors.InternalError(None, None, "cuDNN failed")


@pytest.mark.parametrize(
    ("settings", "bytes_of_a_weight"),
    [
        ({}, 16),
        ({"training__optimizer_states": "bfloat16"}, 12),
        ({"training__optimizer": "lion", "training__optimizer_states": "bfloat16"}, 10),
        ({"training__optimizer": "adafactor", "training__ema": 0.9}, 12),
        ({"training__parts": 2, "training__shards": 1}, 20),
        ({"training__parts": 2, "training__shards": 2}, 16),
        ({"training__parts": 2, "training__shards": 2, "training__compile": "xla"}, 20),
        ({"training__freeze": ["encoder"], "training__initial_run": "x"}, 4),
        ({"training__freeze": ["encoder"], "training__initial_run": "x", "training__ema": 0.9}, 8),
    ],
    ids=str,
)
def test_the_minimum_memory_of_the_state(settings, bytes_of_a_weight):
    training = tiny_config(None, **settings).training
    assert requirements.memory_needs(training, 300, 1000).state == 1000 * bytes_of_a_weight


def test_a_batch_has_no_more_shards_than_rows(corpus, workdir, monkeypatch):
    monkeypatch.setattr(requirements, "cores", lambda: 64)
    message = (
        r"^training.shards \(20\) is more than the rows of the largest batch \(8\). Lower it, or "
        r"raise training.batch_pairs \(8\)$"
    )
    with pytest.raises(UsageError, match=message):
        train(tiny_config(corpus, training__shards=20, training__batch_pairs=8), ignore)
    in_parts = {"training__batch_pairs": 40, "training__parts": 2}
    with pytest.raises(UsageError, match=r"largest batch \(40\)"):
        train(tiny_config(corpus, training__shards=41, **in_parts), ignore)


def test_devices_without_a_shard_are_refused():
    training = tiny_config(None, training__parts=2).training
    check_devices(training, shards=4, devices=4)
    with pytest.raises(UsageError, match=r"^5 devices cannot share a batch of 4 shards .* see 4 G"):
        check_devices(training, shards=4, devices=5)
    with pytest.raises(UsageError, match=r"batch of 1 shard \(.*\). Use --strategy one. A new run"):
        check_devices(training, shards=1, devices=2)


def test_a_training_with_too_many_devices_makes_no_run(corpus, workdir, monkeypatch):
    monkeypatch.setattr(setup, "mirrored_devices", lambda: ["a", "b", "c"])
    settings = {"training__strategy": "mirrored", "training__shards": 2}
    with pytest.raises(UsageError, match="3 devices cannot share a batch of 2 shards"):
        train(tiny_config(corpus, training__device="auto", **settings), ignore)
    assert not Path("runs").exists()


def test_a_core_has_no_more_than_four_shards(monkeypatch):
    monkeypatch.setattr(requirements, "cores", lambda: 2)
    check_shards(tiny_config(None, training__shards=8).training, most_rows=64)
    with pytest.raises(UsageError, match=r"more than 4 for each of the 2 cores.* Lower it to 8"):
        check_shards(tiny_config(None, training__shards=9).training, most_rows=64)


def test_default_shards_are_bounded_too(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 200)
    config = tiny_config(None, training__batch_tokens=1_000_000).training
    assert parallel.number_of_shards(config.model_copy(update={"shards": None})) == 64
