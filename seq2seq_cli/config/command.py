"""The short command that trains with a config."""

import shlex
from decimal import Decimal
from typing import Any

import tomli_w

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config, shipped_configs
from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError

_LONGEST = 100  # characters
_ELSEWHERE = {"training.device", "training.trackers"}  # keys that do not change results
_OPTIONS = {
    "data.corpus": "--data",
    "data.source_language": "--source",
    "data.target_language": "--target",
    "training.epochs": "--epochs",
    "training.steps": "--steps",
    "training.seed": "--seed",
}

_OF_PREPARED = {
    *("data.source_language", "data.target_language", "data.dev", "data.test"),
    *("data.dev_pairs", "data.test_pairs", "data.split_seed"),
}
"""Keys of `[data]` that a prepared corpus fixes, and that the command names."""


def training_command(config: Config) -> str:
    """Return the `s2s train …` command for this config, or an empty string if it is too long.

    It does not contain the device and the trackers, which do not change results.
    """
    wanted = _values(config)
    for name, path in shipped_configs().items():
        if _values(load_config(Overrides.read(path))) == wanted:
            return f"s2s train --config {name}"
    model: dict[str, Any] = {"model.kind": config.model.kind}
    if isinstance(config.model, RNNConfig):
        model["model.attention"] = config.model.attention
    needed = _needed(model, wanted)
    if needed is None:
        return ""
    words = ["s2s", "train", *_model_option(config)]
    for key, value in needed.items():
        words += _option(key, value)
    command = shlex.join(words)
    return command if len(command) <= _LONGEST else ""


def _needed(model: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Return the values that must be set in addition to the model's; None if options cannot."""
    usual = _resolved(model)
    assert usual is not None
    needed = {key: value for key, value in wanted.items() if value != usual[key]}
    if None in needed.values() or _resolved({**model, **needed}) != wanted:
        return None
    for key in list(needed):  # leave out values that follow from others
        fewer = {other: value for other, value in needed.items() if other != key}
        if _resolved({**model, **fewer}) == wanted:
            needed = fewer
    return needed


def command_for_prepared(config: Config, folder: str) -> str:
    """Return the command that trains on a prepared corpus, with its vocabulary and splits.

    Args:
        config: of the preparation.
        folder: of the prepared corpus.
    """
    usual, command = Config().flat(), ["s2s", "train", "--data", folder]
    for key, value in config.flat().items():
        is_fixed = key.startswith("tokenizer.") or key in _OF_PREPARED
        if is_fixed and value is not None and value != usual[key]:
            command += _option(key, value)
    return shlex.join(command)


def _resolved(values: dict[str, Any]) -> dict[str, Any] | None:
    """Return all values of a config after some are set by `--set`; None if they are invalid."""
    overrides = Overrides()
    for key, value in values.items():
        overrides.set_assignment(f"{key}={_text(value)}")
    try:
        return _values(load_config(overrides))
    except UsageError:
        return None


def _values(config: Config) -> dict[str, Any]:
    return {key: value for key, value in config.flat().items() if key not in _ELSEWHERE}


def _model_option(config: Config) -> list[str]:
    if isinstance(config.model, RNNConfig):
        return ["--attention", config.model.attention.replace("_", "-")]
    return ["--model", config.model.kind.replace("_", "-")]


def _option(key: str, value: Any) -> list[str]:
    if key == "training.budget_seconds":
        is_minutes = value % 60 == 0
        return ["--budget", f"{value // 60:.0f}m" if is_minutes else f"{Decimal(repr(value)):f}s"]
    if key in _OPTIONS:
        return [_OPTIONS[key], str(value)]
    return ["--set", f"{key}={_text(value)}"]


def _text(value: Any) -> str:
    """Return a value for `--set`. A string gets quotes only if it would be TOML without them."""
    quoted = tomli_w.dumps({"value": value}).partition(" = ")[2].strip()
    if isinstance(value, str):
        plain = Overrides()
        plain.set_assignment(f"key={value}")
        return value if plain["key"] == value else quoted
    return quoted
