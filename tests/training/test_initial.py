"""Trainings that begin with the weights of another run, and parts that stay as they are."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import tiny_config
from small_batches import batch
from small_models import small_decoder_only, small_rnn, small_transformer

from seq2seq_cli.config import Config
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.initial import load_initial_weights
from seq2seq_cli.training.parts import part_of, trained_weights
from seq2seq_cli.training.setup import set_up
from seq2seq_cli.training.step import Updater


def fine_tuning(corpus: Path, trained: Path, **settings) -> Config:
    return tiny_config(corpus, **{"training__initial_run": str(trained), **settings})


@pytest.fixture
def other_corpus(tmp_path) -> Path:
    path = tmp_path / "other.tsv"
    lines = [f"sentence number {i} here\tfrase {i} aquí\n" for i in range(300)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_regularisation_may_differ_and_the_number_of_heads_may_not(corpus, workdir, monkeypatch):
    config = tiny_config(corpus, model__kind="transformer", model__heads=2)
    run = Run(Path("runs/x"))
    run.write(config, {})
    model = small_transformer()
    checkpoint = SimpleNamespace(weights="model.safetensors", restore=lambda name, weights: None)
    monkeypatch.setattr(Run, "best_checkpoint", lambda run, warn: checkpoint)
    settings = {"model__kind": "transformer", "training__initial_run": "x"}
    same = tiny_config(corpus, **settings, model__heads=2, model__dropout=0.3)
    load_initial_weights(same, model, pytest.fail)
    with pytest.raises(UsageError, match="has another model: model.heads: 2 there, 4 here"):
        load_initial_weights(tiny_config(corpus, **settings, model__heads=4), model, pytest.fail)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("transformer", {"key_value_heads": 2, "head_units": 12, "max_positions": 100}),
        ("rnn", {"attention": "general", "attention_units": 7, "attention_window": 3}),
    ],
)
def test_keys_without_effect_and_explicit_defaults_may_differ(
    corpus, workdir, monkeypatch, kind, settings
):
    given = {f"model__{key}": value for key, value in settings.items()}
    units = {"model__units": 24} if kind == "transformer" else {"model__attention": "general"}
    Run(Path("runs/x")).write(tiny_config(corpus, model__kind=kind, **units), {})
    checkpoint = SimpleNamespace(weights="model.safetensors", restore=lambda name, weights: None)
    monkeypatch.setattr(Run, "best_checkpoint", lambda run, warn: checkpoint)
    config = tiny_config(corpus, **{"model__kind": kind, **units, **given})
    same = config.model_copy(
        update={"training": config.training.model_copy(update={"initial_run": "x"})}
    )
    load_initial_weights(same, SimpleNamespace(trainable_variables=[]), pytest.fail)


def test_a_training_starts_from_the_weights_and_the_vocabulary_of_another_run(
    other_corpus, trained, workdir
):
    from seq2seq_cli.decoding.loading import load_run

    setup = set_up(fine_tuning(other_corpus, trained))
    loaded = load_run(Run(trained), pytest.fail)
    assert setup.tokenizers.fingerprints == loaded.tokenizers.fingerprints
    for weight, other in zip(
        setup.model.trainable_variables, loaded.model.trainable_variables, strict=True
    ):
        np.testing.assert_array_equal(weight.numpy(), other.numpy())


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"tokenizer__vocabulary_size": 500},
            UsageError,
            "another vocabulary, which its weights need: tokenizer.vocabulary_size: 400 "
            "there, 500 here. Use the values of that run",
        ),
        (
            {"model__encoder_units": 12},
            UsageError,
            "has another model: model.encoder_units: 24 there, 12 here. Use the values",
        ),
        ({"training__initial_run": "none"}, CheckpointError, "training.initial_run: runs/none: no"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(
    other_corpus, trained, workdir, settings, error, message
):
    with pytest.raises(error) as caught:
        set_up(fine_tuning(other_corpus, trained, **settings))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            small_rnn,
            {
                "embeddings": ["source_embedding/embeddings"],
                "encoder": ["encoder_1_backward/kernel"],
                "decoder": ["decoder/context_kernel", "score/scale", "bridge_h1/kernel"],
                "output": ["output_projection/bias"],
            },
        ),
        (
            lambda: small_transformer(positions="learned"),
            {
                "embeddings": ["embeddings/target_table", "source_positions/table"],
                "encoder": ["encoder_0/feed_forward/inner_kernel", "encoder_norm/gamma"],
                "decoder": ["decoder_0/cross_attention/key_bias", "decoder_norm/beta"],
                "output": ["embeddings/output_bias"],
            },
        ),
        (
            lambda: small_decoder_only(tied_embeddings=False),
            {
                "embeddings": ["embeddings/source_table"],
                "decoder": ["block_1/feed_forward/inner_bias", "norm/gamma"],
                "output": ["embeddings/output_table"],
            },
        ),
    ],
    ids=["rnn", "transformer", "decoder-only"],
)
def test_every_weight_belongs_to_a_part(make, expected):
    found: dict[str, list[str]] = {}
    for weight in make().trainable_variables:
        found.setdefault(part_of(weight), []).append(weight.path)
    assert found.keys() == expected.keys()
    for part, paths in expected.items():
        assert set(paths) <= set(found[part])


def test_frozen_parts_keep_their_weights_and_the_others_change():
    config = tiny_config(
        "x",
        training__initial_run="a",
        training__freeze=["embeddings", "encoder"],
        training__parts=2,
        training__ema=0.5,
    ).training
    model = small_transformer()
    before = {weight.path: weight.numpy() for weight in model.trainable_variables}
    updater = Updater(model, config)
    for number in range(2):
        updater.update([batch()], number, 0.01)
        updater.update([batch(), batch(5)], number, 0.01)
    for weight in model.trainable_variables:
        same = np.array_equal(weight.numpy(), before[weight.path])
        assert same == (part_of(weight) in ("embeddings", "encoder")), weight.path
    assert len(updater.averages) == len(before)


def test_parts_that_a_model_does_not_have_are_refused():
    config = tiny_config("x", training__initial_run="a", training__freeze=["encoder"]).training
    with pytest.raises(UsageError, match="encoder: this kind of model has no such weights"):
        trained_weights(config, small_decoder_only())
    parts = ["embeddings", "decoder", "output"]
    config = tiny_config("x", training__initial_run="a", training__freeze=parts).training
    with pytest.raises(UsageError, match="leaves nothing to train"):
        trained_weights(config, small_decoder_only())
