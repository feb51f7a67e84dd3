import sys

import pytest

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.model import MODELS, RNNConfig, TransformerConfig
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.config.starter import (
    SIZES,
    in_words,
    rough_seconds,
    starter_values,
    to_commented_toml,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def overrides(values: dict) -> Overrides:
    found = Overrides()
    for key, value in values.items():
        found.set(key, value, "test")
    return found


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("words", [0, 12, 1000])
@pytest.mark.parametrize("pairs", [100, 10_000, 10_001, 200_000, 10**6, 10**8])
def test_values_are_valid_for_every_corpus_and_model(kind, pairs, words):
    values = starter_values(MODELS[kind](), pairs, words)
    config = load_config(overrides(values)).flat()
    assert {key: config[key] for key in values} == values


def test_a_larger_corpus_gets_a_larger_model_and_fewer_epochs():
    corpora = [starter_values(TransformerConfig(), pairs, 10) for pairs in (10**3, 10**5, 10**7)]
    for key in ("tokenizer.vocabulary_size", "model.units", "training.batch_tokens"):
        small, middle, large = (values[key] for values in corpora)
        assert small < middle < large
    for key in ("training.epochs", "model.dropout"):
        small, middle, large = (values[key] for values in corpora)
        assert small > middle > large
    assert [*SIZES] == sorted(SIZES)


@pytest.mark.parametrize(
    ("pairs", "vocabulary", "units", "epochs", "time"),
    [
        (1_000, 1_000, 128, 30, "2 minutes"),
        (20_000, 3_000, 256, 12, "5 minutes"),
        (120_000, 8_000, 256, 10, "30 minutes"),
        (2_000_000, 16_000, 512, 4, "20 hours"),
        (10_000_000, 32_000, 512, 2, "3 days"),
    ],
)
def test_each_size_of_corpus_has_its_config_and_time(pairs, vocabulary, units, epochs, time):
    values = starter_values(RNNConfig(), pairs, 20)
    assert values["tokenizer.vocabulary_size"] == vocabulary
    assert values["model.decoder_units"] == units
    assert values["training.epochs"] == epochs
    assert in_words(rough_seconds(values, pairs, 10 if pairs > 10**6 else 7)) == time
    # Whoever waits for the first score of a large corpus does not wait for an epoch.
    tokens = pairs * 1.5 * 8
    every = values.get("training.validate_every_steps", tokens / values["training.batch_tokens"])
    assert every <= 5000


def test_a_rough_time_grows_with_the_model_and_the_corpus():
    for kind, key in (
        ("rnn", "decoder_units"),
        ("transformer", "units"),
        ("decoder_only", "units"),
    ):
        values = starter_values(MODELS[kind](), 100_000, 20)
        time = rough_seconds(values, 100_000, 10)
        assert rough_seconds(values, 200_000, 10) > 1.9 * time
        assert rough_seconds(values, 100_000, 30) > 2 * time
        assert rough_seconds({**values, f"model.{key}": 512}, 100_000, 10) > 1.5 * time


def test_a_wide_decoder_makes_no_encoder_slow():
    values = starter_values(RNNConfig(), 100_000, 20)
    wide = {**values, "model.decoder_units": 512}
    both = {**wide, "model.encoder_units": 512}
    assert rough_seconds(wide, 100_000, 10) < 0.75 * rough_seconds(both, 100_000, 10)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "2 minutes"),
        (200, "3 minutes"),
        (3000, "50 minutes"),
        (7100, "100 minutes"),
        (7300, "2 hours"),
        (100_000, "30 hours"),
        (172_800, "2 days"),
        (2e6, "20 days"),
    ],
)
def test_a_rough_time_has_one_digit_and_a_unit(seconds, words):
    assert in_words(seconds) == words


@pytest.mark.parametrize(("words", "tokens"), [(3, 32), (20, 32), (30, 48), (10_000, 256)])
def test_almost_all_sentences_fit(words, tokens):
    values = starter_values(RNNConfig(), 1000, words)
    assert values["training.max_source_tokens"] == values["training.max_target_tokens"] == tokens


def test_the_text_has_the_values_and_a_comment_for_each_table():
    values = {
        "model.kind": "rnn",
        "data.sources": [{"corpus": 'a "b".tsv', "weight": 2.0}],
        "data.skip_bad_lines": True,
        "model.dropout": 0.5,
    }
    text = to_commented_toml(values, "One line\n\nand another")
    assert text.startswith("# One line\n#\n# and another\n\n# ")
    assert tomllib.loads(text) == {
        "data": {"skip_bad_lines": True, "sources": [{"corpus": 'a "b".tsv', "weight": 2.0}]},
        "model": {"kind": "rnn", "dropout": 0.5},
    }
    lines = text.split("\n")
    for table in ("[data]", "[model]", "dropout = 0.5"):
        assert lines[lines.index(table) - 1].startswith("# ")
