import sys

import pytest

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.model import MODELS
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.config.starter import SIZES, starter_values, to_commented_toml

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
    values = starter_values(kind, pairs, words)
    config = load_config(overrides(values)).flat()
    assert {key: config[key] for key in values} == values


def test_a_larger_corpus_gets_a_larger_model_and_fewer_epochs():
    corpora = [starter_values("transformer", pairs, 10) for pairs in (10**3, 10**5, 10**7)]
    for key in ("tokenizer.vocabulary_size", "model.units", "training.batch_tokens"):
        small, middle, large = (values[key] for values in corpora)
        assert small < middle < large
    for key in ("training.epochs", "model.dropout"):
        small, middle, large = (values[key] for values in corpora)
        assert small > middle > large
    assert [*SIZES] == sorted(SIZES)


@pytest.mark.parametrize(("words", "tokens"), [(3, 32), (20, 32), (30, 48), (10_000, 256)])
def test_almost_all_sentences_fit(words, tokens):
    values = starter_values("rnn", 1000, words)
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
