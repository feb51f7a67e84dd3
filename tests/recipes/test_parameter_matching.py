import math

import pytest
from conftest import tiny_config

from seq2seq_cli.config.model import DecoderOnlyConfig, ModelConfig, RNNConfig, TransformerConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import build_model
from seq2seq_cli.recipes.parameter_matching import (
    TOLERANCE,
    fit_parameters,
    with_equal_parameters,
)
from seq2seq_cli.vocabularies import Vocabularies


def count(model: ModelConfig, vocabulary: int = 300) -> int:
    built = build_model(model, Vocabularies(vocabulary, vocabulary), seed=None)
    return sum(math.prod(variable.shape) for variable in built.trainable_variables)


@pytest.mark.slow
def test_all_models_have_about_as_many_weights_as_the_first(corpus):
    configs = {
        kind: tiny_config(corpus, model__kind=kind, tokenizer__kind="words")
        for kind in ("rnn", "transformer")
    }
    found = with_equal_parameters(configs)
    assert found["rnn"] == configs["rnn"]
    assert found["transformer"] != configs["transformer"]
    counts = [count(config.model, 44) for config in found.values()]
    assert counts[1] == pytest.approx(counts[0], rel=TOLERANCE)


@pytest.mark.parametrize(
    "model",
    [
        RNNConfig(attention="dot"),
        RNNConfig(cell="lstm", wiring="luong"),
        TransformerConfig(),
        DecoderOnlyConfig(activation="swiglu"),
    ],
)
@pytest.mark.few_cases(1)
def test_widths_are_fitted_to_a_number_of_weights(model):
    fitted = fit_parameters(model, 700_000, count)
    assert count(fitted) == pytest.approx(700_000, rel=TOLERANCE)
    assert fitted.kind == model.kind


@pytest.mark.parametrize(
    "model", [RNNConfig(encoder_units=9000, decoder_units=20_000), TransformerConfig(units=9000)]
)
def test_no_width_is_fitted_beyond_what_a_config_may_have(model):
    tried = []

    def small(model) -> int:
        tried.append(model)
        return 1

    with pytest.raises(UsageError, match="cannot have 1,000 parameters"):
        fit_parameters(model, 1000, small)
    assert len(tried) > 16


def test_a_number_that_cannot_be_reached_is_an_error():
    with pytest.raises(UsageError, match="transformer cannot have 1,000 parameters within 3%"):
        fit_parameters(TransformerConfig(), 1000, lambda model: 300 * model.units)
