"""The command that trains with a config gives that config."""

import shlex
from importlib import import_module
from unittest import mock

import pytest
from conftest import invoke

from seq2seq_cli.cli.options import config_layers
from seq2seq_cli.config import Config
from seq2seq_cli.config.command import training_command
from seq2seq_cli.config.files import load_config, shipped_configs
from seq2seq_cli.config.overrides import Overrides


def config_of(*settings: str, model: str | None = None, attention: str | None = None) -> Config:
    return load_config(*config_layers(None, list(settings), model=model, attention=attention))


COMMANDS = {
    "s2s train --attention additive": config_of(),
    "s2s train --attention scaled-dot": config_of(attention="scaled-dot"),
    "s2s train --model decoder-only": config_of(model="decoder-only"),
    "s2s train --attention general --seed 7": config_of("training.seed=7", attention="luong"),
    "s2s train --attention additive --data tatoeba --budget 20m": config_of(
        "data.corpus=tatoeba", "training.budget_seconds=1200"
    ),
    # The number of parts follows from the size of a batch.
    "s2s train --model transformer --set training.batch_tokens=4096": config_of(
        "training.batch_tokens=4096", model="transformer"
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_differences_from_the_defaults(command):
    assert training_command(COMMANDS[command]) == command


@pytest.mark.parametrize("name", shipped_configs())
def test_a_shipped_config_is_called_by_its_name(name):
    config = load_config(Overrides.read(shipped_configs()[name]))
    assert training_command(config) == f"s2s train --config {name}"


@pytest.mark.parametrize(
    "setting",
    [
        "training.epochs=3",
        "training.budget_seconds=90.5",
        "training.budget_seconds=1234567",
        "training.budget_seconds=100.1234567",
        "data.corpus=a b.tsv",
        "tokenizer.kind=bpe",
        "data.columns=es en",
        "data.both_directions=true",
    ],
)
def test_the_command_line_reads_a_command_as_the_config(setting, workdir, monkeypatch):
    monkeypatch.setattr("seq2seq_cli.config.command._LONGEST", 1000)
    config = config_of(setting, "training.peak_learning_rate=1e-3")
    train = import_module("seq2seq_cli.cli.train")  # the package has a function of that name
    words = [*shlex.split(training_command(config))[1:], "--dry-run"]
    with (
        mock.patch.object(train, "fetch_data"),
        mock.patch.object(train, "_show_plan") as planned,
    ):
        invoke(*words)
    assert planned.call_args.args[0] == config


def test_the_device_and_trackers_change_nothing():
    assert training_command(config_of("training.device=cpu", "training.trackers=['mlflow']")) == (
        "s2s train --attention additive"
    )


def test_a_long_command_is_left_out():
    settings = [f"model.{name}_units=128" for name in ("embedding", "encoder", "attention")]
    assert training_command(config_of(*settings, "training.label_smoothing=0.25")) == ""
    assert training_command(config_of("data.corpus=" + "x" * 100)) == ""
