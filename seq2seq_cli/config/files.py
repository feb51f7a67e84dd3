"""Config files and options, merged and validated."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seq2seq_cli.bundled import bundled
from seq2seq_cli.config import Config
from seq2seq_cli.config.data import CATALOG, CORPORA, is_address
from seq2seq_cli.config.messages import describe_error, fault_of, unknown_key, wrong_value
from seq2seq_cli.config.model import DEFAULT_KIND, MODELS
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError


def load_config(*layers: Overrides) -> Config:
    """Return the defaults, overridden by the values of `layers`; later layers win.

    Relative paths in `[data]` and `[tokenizer]` are made absolute, so that the config is valid
    in any folder.

    Raises:
        UsageError: with the file or option, the key, the allowed values and the given one.
    """
    merged = Overrides()
    for layer in layers:
        merged.set_all(layer)
    config = _validate(merged)
    data = config.data
    paths: dict[str, Any] = {
        key: _absolute(getattr(data, key)) for key in ("corpus", "dev", "test")
    }
    paths["sources"] = [
        corpus.model_copy(update={"corpus": _absolute(corpus.corpus)}) for corpus in data.sources
    ]
    tokenizer = config.tokenizer
    models = {key: _absolute(getattr(tokenizer, key)) for key in ("model", "target_model")}
    return config.model_copy(
        update={
            "data": data.model_copy(update=paths),
            "tokenizer": tokenizer.model_copy(update=models),
        }
    )


def changed_config(base: Config, values: Mapping[str, Any], origin: str) -> Config:
    """Return a config with other values; these may change the defaults of other keys.

    Args:
        base: the config.
        values: the values, by key.
        origin: where they come from, for errors.

    Raises:
        UsageError: if a value is invalid, or values contradict each other.
    """
    overrides = Overrides()
    for key, value in {**base.flat(exclude_unset=True), **values}.items():
        if value is not None:
            overrides.set(key, value, origin if key in values else "the base config")
    return load_config(overrides)


def _absolute(name: str | None) -> str | None:
    """Return a path as an absolute path; names of known corpora and addresses stay the same."""
    if name is None or name in CORPORA or name.startswith(CATALOG) or is_address(name):
        return name
    return os.path.abspath(os.path.expanduser(name))


def _validate(values: Overrides) -> Config:
    """Build a Config, or raise one error that lists all problems."""
    if faults := [
        f"{values.origins[key]}: {key} {fault}"
        for key, value in values.items()
        if (fault := fault_of(value))
    ]:
        raise UsageError("\n".join(faults))
    kind = values.get("model.kind", DEFAULT_KIND)
    if kind not in [*MODELS]:  # the rest depends on it; it may be unhashable
        raise UsageError(wrong_value("model.kind", DEFAULT_KIND, kind, values.origins))
    problems = []
    defaults = Config(model=MODELS[kind]()).flat()
    tables: dict[str, dict[str, Any]] = {"model": {"kind": kind}}
    for key, value in values.items():
        table, _, name = key.partition(".")
        if key == "model.kind":
            continue
        if key in defaults:
            tables.setdefault(table, {})[name] = value
        else:
            problems.append(f"{values.origins[key]}: {unknown_key(key, kind, list(defaults))}")
    try:
        config = Config.model_validate(tables)
    except ValidationError as error:
        problems += [
            describe_error(details, kind, values, defaults)
            for details in error.errors()
            if details["type"] != "default_factory_not_called"  # follows from another error
        ]
    if problems:
        raise UsageError("\n".join(problems))
    return config


def shipped_configs() -> dict[str, Path]:
    """Return the config files that the package contains, by name."""
    return {file.stem: file for file in sorted(bundled("configs").glob("*.toml"))}


def find_config(name: str) -> Path:
    """Return the file of `--config`, which takes a path or the name of a shipped config.

    Raises:
        UsageError: if there is no such file.
    """
    if os.path.exists(name) and not os.path.isdir(name):  # a pipe, too; False for an invalid path
        return Path(name)
    shipped = shipped_configs()
    if name in shipped:
        return shipped[name]
    if os.path.isdir(name):
        raise UsageError(f"--config {name}: is a folder. Give a TOML file")
    near = difflib.get_close_matches(name, shipped, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UsageError(
        f"--config {name}: no such file, and no shipped config of that name{hint} "
        f"Shipped configs: {', '.join(shipped) or 'none'}"
    )
