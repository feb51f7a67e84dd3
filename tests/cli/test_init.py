"""The command `init`."""

from pathlib import Path

import pytest
from conftest import s2s

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides


def written(path: str) -> Config:
    assert s2s("config", "check", path)[0] == 0
    return load_config(Overrides.read(Path(path)))


def test_the_config_is_for_the_corpus_and_can_be_trained_with(corpus, workdir):
    code, out, err = s2s("init", "--data", str(corpus))
    assert (code, out) == (0, "")
    assert err == (
        "s2s.toml is for 397 training pairs: roughly 2 minutes on two CPU cores.\n"
        "Next: s2s train --config s2s.toml\n"
    )
    config = written("s2s.toml")
    assert config.data.corpus == str(corpus)
    assert config.tokenizer.vocabulary_size == 1000
    assert config.training.epochs == 30
    text = (workdir / "s2s.toml").read_text("utf-8")
    assert text.startswith(f"# A config for {corpus}: 397 training pairs.\n")
    assert "\n# Roughly 2 minutes on two CPU cores; " in text
    assert [path.name for path in workdir.iterdir()] == ["s2s.toml"]


def test_the_config_contains_the_options(corpus, workdir):
    options = ["--set", "data.columns='de en'", "--source", "de", "--target", "en"]
    options += ["--model", "decoder-only", "--set", "model.dropout=0.5", "--quiet"]
    assert s2s("init", "a b.toml", "--data", str(corpus), *options) == (0, "", "")
    config = written("a b.toml")
    assert (config.data.columns, config.data.source_language) == ("de en", "de")
    assert (config.model.kind, config.model.dropout) == ("decoder_only", 0.5)
    assert "--config 'a b.toml'" in (workdir / "a b.toml").read_text("utf-8")


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_score_of_equal_widths_gets_them(bidirectional, corpus, workdir):
    options = ["--set", "model.attention=dot", "--set", f"model.bidirectional={bidirectional}"]
    code, _, _ = s2s("init", "--data", str(corpus), *map(str.lower, options))
    assert code == 0
    model = written("s2s.toml").model
    assert model.decoder_units == model.value_units


def test_no_file_is_overwritten(workdir):
    (workdir / "s2s.toml").write_text("mine")
    code, _, err = s2s("init", "--data", "none.tsv")
    assert (code, err) == (2, "error: s2s.toml: exists already. Remove it, or give another name\n")
    assert (workdir / "s2s.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "none.tsv"], 3, "none.tsv: no such file"),
        (
            ["--set", "model.attention=dot", "--set", "model.decoder_units=100"],
            *(2, "the widths must be equal"),
        ),
        (["--set", "training.epoch=3"], 2, "did you mean 'training.epochs'?"),
        (["none/x.toml"], 7, "none/x.toml: cannot be written: No such file or directory"),
    ],
)
def test_wrong_input_is_reported_and_nothing_is_written(arguments, code, message, corpus, workdir):
    data = [] if "--data" in arguments else ["--data", str(corpus)]
    found, out, err = s2s("init", *arguments, *data)
    assert (found, out) == (code, "")
    assert message in err
    assert list(workdir.iterdir()) == []
