"""What the shell offers when Tab is pressed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq_cli.cli import completion
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides


@pytest.fixture
def some_runs(workdir: Path) -> Path:
    for name in ("001-rnn-additive", "002-transformer", "no-run"):
        (workdir / "runs" / name).mkdir(parents=True)
        if name != "no-run":
            (workdir / "runs" / name / "config.toml").touch()
    return workdir


def offered(line: str) -> list[str]:
    """Return what bash offers for the last word of a line."""
    last = str(line.count(" "))
    shell = {"_S2S_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": last}
    code = "import sys; from seq2seq_cli.cli import main; sys.argv = ['s2s']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, **shell}
    )
    assert done.stderr == b""
    return done.stdout.decode().split()


def test_the_shell_offers_runs_and_configs(some_runs):
    assert offered("s2s translate --run 00") == ["002-transformer", "001-rnn-additive"]
    assert offered("s2s train --config phrasebook-t") == ["phrasebook-transformer"]
    assert offered("s2s config check tatoeba") == [
        "tatoeba-night",
        "tatoeba-quick",
        "tatoeba-rnn-additive",
        "tatoeba-rnn-general",
        "tatoeba-student",
        "tatoeba-transformer",
    ]
    assert "--epochs" in offered("s2s train --ep")
    assert offered("s2s translate --run folder/") == []


def test_runs_are_those_with_a_config(some_runs):
    assert completion.runs("") == ["002-transformer", "001-rnn-additive"]
    assert completion.runs("001") == ["001-rnn-additive"]
    assert completion.runs("x") == []


def test_without_a_runs_folder_no_run_is_offered(workdir):
    assert completion.runs("") == []


def test_each_offered_value_is_valid():
    for model in completion.models(""):
        values = Overrides()
        values.set_model(model)
        assert load_config(values)
    for attention in completion.attentions(""):
        values = Overrides()
        values.set_attention(attention)
        assert load_config(values)
    for device in completion.devices(""):
        values = Overrides()
        values.set("training.device", device, "test")
        assert load_config(values)


def test_keys_of_every_table_and_model_are_offered():
    assert {"data.corpus=", "model.cell=", "model.heads=", "decoding.beam="} <= {
        *completion.settings("")
    }
    assert completion.settings("training.epo") == ["training.epochs="]


def test_files_are_offered_where_no_corpus_begins_like_the_word():
    assert completion.corpora("ta") == ["tatoeba"]
    assert completion.corpora("./ta") == []
