import pytest

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.model import MODELS
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.config.training import TrainingConfig


def config_of(**values: object) -> Config:
    overrides = Overrides()
    for key, value in values.items():
        overrides.set(key.replace("__", "."), value, "test")
    return load_config(overrides)


@pytest.mark.parametrize("kind", MODELS)
def test_kind_selects_the_table(kind, tmp_path):
    config = config_of(model__kind=kind)
    assert config.model == MODELS[kind]()
    assert next(iter(config.model_dump()["model"])) == "kind"
    (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    assert load_config(Overrides.read(tmp_path / "c.toml")) == config
    assert config.model.label.startswith(kind.replace("_", "-"))
    assert config.model.description.startswith(kind.replace("_", "-"))


def test_each_kind_has_its_own_training_defaults():
    assert config_of().training.peak_learning_rate == 4e-3
    for kind in ("transformer", "decoder_only"):
        assert config_of(model__kind=kind).training.peak_learning_rate == 2e-3
        given = config_of(model__kind=kind, training__peak_learning_rate=0.5)
        assert given.training.peak_learning_rate == 0.5


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
@pytest.mark.parametrize(("bidirectional", "width"), [(True, 200), (False, 100)])
def test_a_dot_product_gets_a_decoder_as_wide_as_the_values(score, bidirectional, width):
    overrides = Overrides()
    overrides.set_attention(score)
    overrides.set("model.encoder_units", 100, "test")
    overrides.set("model.bidirectional", bidirectional, "test")
    assert load_config(overrides).model.decoder_units == width


@pytest.mark.parametrize(("score", "penalised"), [("dot", True), ("scaled_dot", False)])
def test_values_are_penalised_if_scores_are_not_scaled(score, penalised):
    overrides = Overrides()
    overrides.set_attention(score)
    assert (load_config(overrides).model.activation_penalty > 0) == penalised


def test_batches_by_pairs_hold_pairs_of_any_length():
    TrainingConfig(batch_pairs=8, batch_tokens=100, max_source_tokens=200)
    with pytest.raises(ValueError, match="cannot hold"):
        TrainingConfig(batch_tokens=100, max_source_tokens=200)


def test_there_is_always_a_limit():
    assert Config().training.epoch_limit == 4
    overrides = Overrides()
    overrides.set("training.steps", 5, "test")
    assert load_config(overrides).training.epoch_limit is None


def test_learned_positions_need_only_reach_the_longest_sentence():
    config_of(model__kind="transformer", model__positions="learned", model__max_positions=64)
