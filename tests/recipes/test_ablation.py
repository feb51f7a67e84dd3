import json
import math

import pytest
from conftest import tiny_config

from seq2seq_cli.config.model import DecoderOnlyConfig, RNNConfig, TransformerConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import build_model
from seq2seq_cli.recipes import ablation
from seq2seq_cli.recipes.ablation import ablate, fit_parameters


def ignore(event) -> None:
    pass


def configs(corpus, **settings):
    limits = {"training__steps": 4, **settings}
    return {
        kind: tiny_config(corpus, model__kind=kind, **limits) for kind in ("rnn", "transformer")
    }


@pytest.fixture(scope="module")
def done(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    return folder, ablate(configs(corpus), folder, ignore)


def test_each_variant_is_trained_scored_and_written(done):
    folder, rows = done
    assert [row.name for row in rows] == ["rnn", "transformer"]
    assert all(row.steps == 4 and row.pairs_per_second > 0 for row in rows)
    assert [r["bleu"] for r in json.loads((folder / "results.json").read_text())] == [
        row.bleu for row in rows
    ]
    table = (folder / "results.md").read_text()
    assert "| rnn |" in table
    assert rows[0].bleu_signature in table


def test_what_has_been_done_is_not_done_again(done, corpus, monkeypatch):
    folder, rows = done

    def fail(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(ablation, "train", fail)
    assert ablate(configs(corpus), folder, ignore) == rows


def test_what_was_interrupted_goes_on(done, corpus):
    folder, rows = done
    (folder / "rnn" / "result.json").unlink()
    (again, _) = ablate(configs(corpus), folder, ignore)
    assert again.bleu == rows[0].bleu


def test_another_config_is_refused(done, corpus):
    with pytest.raises(UsageError, match=r"training\.steps: 4 there, 5 now"):
        ablate(configs(corpus, training__steps=5), done[0], ignore)


def count(model) -> int:
    built = build_model(model, 300, 300)
    return sum(math.prod(variable.shape) for variable in built.trainable_variables)


@pytest.mark.parametrize(
    "model",
    [
        RNNConfig(attention="dot"),
        RNNConfig(cell="lstm", wiring="luong"),
        TransformerConfig(),
        DecoderOnlyConfig(activation="swiglu"),
    ],
)
def test_widths_are_fitted_to_a_number_of_weights(model):
    fitted = fit_parameters(model, 700_000, count)
    assert count(fitted) == pytest.approx(700_000, rel=ablation.PARAMETERS_TOLERANCE)
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
        fit_parameters(TransformerConfig(), 1000, count)
