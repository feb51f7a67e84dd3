from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.config.files import find_config, load_config, shipped_configs
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError


def test_toml_of_a_config_gives_the_config_back(tmp_path):
    overrides = Overrides()
    overrides.set("data.corpus", '/a "quoted"\\path/ñ\u2028', "test")
    overrides.set("training.budget_seconds", 90.5, "test")
    config = load_config(overrides)
    (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    assert load_config(Overrides.read(tmp_path / "c.toml")) == config


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "training.batch_tokens": st.integers(64, 10**6),
            "training.peak_learning_rate": st.floats(1e-9, 10.0),
            "training.epochs": st.integers(1, 10**6),
            "data.skip_bad_lines": st.booleans(),
            "model.dropout": st.floats(0, 0.99),
        },
    )
)
def test_every_value_survives_writing_and_reading(tmp_path_factory, values):
    overrides = Overrides()
    for key, value in values.items():
        overrides.set(key, value, "test")
    path = tmp_path_factory.mktemp("config") / "c.toml"
    path.write_text(load_config(overrides).to_toml(), encoding="utf-8")
    again = load_config(Overrides.read(path)).flat()
    assert {key: again[key] for key in values} == values


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_are_valid(name):
    load_config(Overrides.read(find_config(name)))


def test_paths_of_models_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    overrides = Overrides()
    overrides.set("tokenizer.model", "a.model", "test")
    overrides.set("tokenizer.target_model", "~/b.model", "test")
    overrides.set("tokenizer.vocabularies", "separate", "test")
    config = load_config(overrides).tokenizer
    assert config.model == str(tmp_path / "a.model")
    assert config.target_model == str(Path.home() / "b.model")


def test_unknown_config_lists_the_shipped_ones():
    with pytest.raises(UsageError, match="Shipped configs: phrasebook-rnn-additive"):
        find_config("no-such-config")


def test_sources_are_read_made_absolute_and_written_again(tmp_path):
    path = tmp_path / "mix.toml"
    path.write_text(
        "[[data.sources]]\ncorpus = 'phrasebook'\n"
        "[[data.sources]]\ncorpus = 'a.tsv'\nweight = 0.5\n"
    )
    config = load_config(Overrides.read(path))
    assert config.data.corpus is None
    assert [s.corpus for s in config.data.mixture] == ["phrasebook", str(Path("a.tsv").absolute())]
    path.write_text(config.to_toml())
    assert load_config(Overrides.read(path)) == config
