"""Config files and options: read, merged, validated, and what is wrong with them worded."""

import difflib
import math
import os
import re
import sys
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError

from seq2seq_cli.bundled import bundled
from seq2seq_cli.config import Config
from seq2seq_cli.config.data import CATALOG, CORPORA, CorpusConfig
from seq2seq_cli.config.model import DEFAULT_KIND, MODELS
from seq2seq_cli.config.table import Table
from seq2seq_cli.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ATTENTION_ALIASES = {
    "bahdanau": {"model.attention": "additive", "model.wiring": "bahdanau"},
    "luong": {"model.attention": "general", "model.wiring": "luong"},
}


class Overrides(dict[str, Any]):
    """Values by dotted key, and the words by which errors name them.

    Attributes:
        origins: the file or option that each value comes from, by key.
        flags: the options that the command has for keys, whether they are given or not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[str, str] = {}
        self.flags: dict[str, str] = {}

    @classmethod
    def read(cls, path: Path) -> "Overrides":
        """Read the values of a TOML file.

        Raises:
            UsageError: if it cannot be read or is not TOML.
        """
        overrides = cls()
        for key, value in _read_toml(path).items():
            overrides.set(key, value, str(path))
        return overrides

    def set(self, key: str, value: Any, origin: str) -> None:
        """Set `key`; a later origin wins over an earlier."""
        self[key] = value
        self.origins[key] = origin

    def set_all(self, later: "Overrides") -> None:
        """Take over all values of `later`."""
        for key, value in later.items():
            self.set(key, value, later.origins[key])
        self.flags.update(later.flags)

    def set_model(self, name: str) -> None:
        """Set from `--model NAME`, with a dash or an underscore."""
        self.set("model.kind", name.replace("-", "_"), "--model")

    def set_attention(self, name: str) -> None:
        """Set from `--attention NAME`, a score or a name that people know."""
        name = name.replace("-", "_")
        for key, value in ATTENTION_ALIASES.get(name, {"model.attention": name}).items():
            self.set(key, value, "--attention")

    def set_duration(self, key: str, text: str, origin: str) -> None:
        """Set a number of seconds from a text such as 90s, 10m or 1.5h."""
        match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh])", text.strip())
        if not match:
            raise UsageError(f"{origin} {text}: expected a time such as 90s, 10m or 1.5h")
        self.set(key, float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]], origin)

    def set_assignment(self, assignment: str) -> None:
        """Set from `--set KEY=VALUE`, with VALUE in TOML or, failing that, a plain string."""
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(
                f"--set {assignment}: expected KEY=VALUE, such as --set training.batch_tokens=4096"
            )
        try:
            parsed = _parse_toml(f"value = {text.strip()}")
        except ValueError:
            parsed = {}
        # A text of several lines may have other keys, too.
        value = parsed["value"] if [*parsed] == ["value"] else text.strip()
        self.set(key, value, f"--set {key}")


def load_config(*layers: Overrides) -> Config:
    """Validate the defaults with the values of `layers` in their place, the last ones winning.

    Relative paths in `[data]` and `[tokenizer]` are made absolute, so that the config holds in any
    folder.

    Raises:
        UsageError: naming the file or option, the key, what is allowed and what was given.
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
        source.model_copy(update={"corpus": _absolute(source.corpus)}) for source in data.sources
    ]
    tokenizer = config.tokenizer
    models = {key: _absolute(getattr(tokenizer, key)) for key in ("model", "target_model")}
    return config.model_copy(
        update={
            "data": data.model_copy(update=paths),
            "tokenizer": tokenizer.model_copy(update=models),
        }
    )


def _absolute(name: str | None) -> str | None:
    """Return a path that holds in any folder; a corpus that has a name keeps it."""
    if name is None or name in CORPORA or name.startswith(CATALOG):
        return name
    return os.path.abspath(os.path.expanduser(name))


def shipped_configs() -> dict[str, Path]:
    """Return the config files that travel with the package, by name."""
    return {file.stem: file for file in sorted(bundled("configs").glob("*.toml"))}


def find_config(name: str) -> Path:
    """Return the file that `--config` means: a path, or the name of a shipped config."""
    if os.path.isfile(name):  # which takes a path that cannot be looked up for none
        return Path(name)
    shipped = shipped_configs()
    if name in shipped:
        return shipped[name]
    raise UsageError(
        f"--config {name}: no such file, nor a config of that name. "
        f"Shipped configs: {', '.join(shipped) or 'none'}"
    )


def _parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; whatever is wrong with it is a ValueError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _read_toml(path: Path) -> dict[str, Any]:
    """Read a file of tables into values by dotted key."""
    try:
        tables = _parse_toml(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    values: dict[str, Any] = {}
    for name, table in tables.items():
        if isinstance(table, dict):
            values.update({f"{name}.{key}": value for key, value in table.items()})
        else:
            values[name] = table
    return values


def _validate(values: Overrides) -> Config:
    """Build a Config; one error tells everything that is wrong."""
    if faults := [
        f"{values.origins[key]}: {key} {fault}"
        for key, value in values.items()
        if (fault := _fault(value))
    ]:
        raise UsageError("\n".join(faults))
    kind = values.get("model.kind", DEFAULT_KIND)
    if kind not in [*MODELS]:  # on which all else depends; it may be of a type without a hash
        raise UsageError(_wrong_value("model.kind", DEFAULT_KIND, kind, values.origins))
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
            problems.append(f"{values.origins[key]}: {_unknown(key, kind, list(defaults))}")
    try:
        config = Config.model_validate(tables)
    except ValidationError as error:
        problems += [
            _problem(details, kind, values, defaults)
            for details in error.errors()
            if details["type"] != "default_factory_not_called"  # follows from another error
        ]
    if problems:
        raise UsageError("\n".join(problems))
    return config


def _fault(value: Any) -> str | None:
    """Return why a value of any type cannot be kept in a config file, or None if it can."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return next((fault for item in value if (fault := _fault(item))), None)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "must be a whole number of at most 64 bits"
    if isinstance(value, str) and "\0" in value:
        return "has a NUL character, which no name and no path can have"
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        return f"is not valid UTF-8: {_shown(value)}. Rename the file if it is a path"
    return None


def _unknown(key: str, kind: str, known: list[str]) -> str:
    if key in Config.model_fields:
        example = next(k for k in known if k.startswith(f"{key}."))
        return f"{key!r} is a table and takes no value; set its keys, such as {example!r}"
    name = key.rpartition(".")[2]
    others = [k for k, m in MODELS.items() if key == f"model.{name}" and name in m.model_fields]
    if others:
        owners = " or ".join(repr(other) for other in others)
        return f"{key} belongs to model.kind = {owners}; it is {kind!r}"
    near = [k for k in known if k.rpartition(".")[2] == name]
    near = near or difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not near:
        by_name = {k.rpartition(".")[2]: k for k in known}
        near = [by_name[n] for n in difflib.get_close_matches(name, list(by_name), n=1)]
    meant = " or ".join(repr(k) for k in near)
    hint = f"did you mean {meant}?" if near else "`s2s config show` lists every key"
    return f"unknown key {key!r}; {hint}"


def _problem(details: Any, kind: str, values: Overrides, defaults: dict[str, Any]) -> str:
    """Word one of pydantic's errors as origin, key, what is allowed, what was given."""
    origins = values.origins
    # Between table and key stands the kind of model, where there is one.
    key = ".".join([str(part) for part in details["loc"] if part != kind][:2])
    message = details["msg"].removeprefix("Value error, ")
    if key not in origins:  # a combination of values, which its own message names
        # The config of a run has all values; a default in it is nobody's choice.
        chosen = {k: o for k, o in origins.items() if values[k] != defaults.get(k)}
        return _combination(message, chosen, values.flags)
    inside = details["loc"][2:]
    if key == "data.sources" and len(inside) == 2:
        place = f"data.sources[{inside[0]}].{inside[1]}"
        if details["type"] in ("missing", "extra_forbidden"):
            keys = ", ".join(CorpusConfig.model_fields)
            return f"{origins[key]}: {place}: {message}. An entry's keys are {keys}"
        words = _allowed(CorpusConfig, str(inside[1]))
        return f"{origins[key]}: {_must_be(place, words, details['input'])}"
    return _wrong_value(key, kind, details["input"], origins)


def _combination(message: str, origins: dict[str, str], flags: dict[str, str]) -> str:
    """Word what is wrong with several values by the options that set them, and name the files.

    Args:
        message: names the values as "table.key" or "table.key = value".
        origins: of the values that are not defaults, by key.
        flags: the command's options by key.
    """
    involved = [origin for key, origin in origins.items() if key.rpartition(".")[2] in message]
    for key, flag in flags.items():
        if origins.get(key, flag) == flag:
            message = re.sub(rf"\b{re.escape(key)}(?: = true| =)?(?!\w)", flag, message)
    places = [origin for origin in dict.fromkeys(involved) if origin not in message]
    return f"{', '.join(places)}: {message}" if places else message


def _wrong_value(key: str, kind: str, value: Any, origins: dict[str, str]) -> str:
    return f"{origins[key]}: {_must_be(key, allowed(key, kind), value)}"


def _must_be(key: str, words: str, value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        words = words.replace("a number", "a finite number")
    return f"{key} must be {words}; it is {_shown(value)}"


def _shown(value: Any) -> str:
    """Return a value in words, cut to what fits a message."""
    text = repr(value) if isinstance(value, str | bool | int | float | list | dict) else str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


def allowed(key: str, kind: str = DEFAULT_KIND) -> str:
    """Say in words what a key takes, with a model of `kind`."""
    if key == "model.kind":
        return "one of " + ", ".join(repr(choice) for choice in MODELS)
    table, _, name = key.partition(".")
    return _allowed(type(getattr(Config(model=MODELS[kind]()), table)), name)


def _allowed(table: type[Table], name: str) -> str:
    field = table.model_fields[name]
    annotation, options = field.annotation, [field.annotation]
    if get_origin(annotation) in (Union, UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(options[0]) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(options[0]))
    if get_origin(options[0]) is list:
        return 'a list of tables, such as [[data.sources]] with corpus = "a.tsv", weight = 2.0'
    words = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
    text = words[options[0]]  # type: ignore[index]
    bounds = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds["multiple_of"] = "a multiple of"
    limits = [
        f"{words} {getattr(constraint, name)}"
        for constraint in field.metadata
        for name, words in bounds.items()
        if getattr(constraint, name, None) is not None
    ]
    pattern = next((c.pattern for c in field.metadata if getattr(c, "pattern", None)), None)
    if name == "device":
        return "auto, cpu, gpu or gpu:N"
    if pattern:
        limits.append(f"of the form {pattern}")
    return " ".join([text, " and ".join(limits)]).strip()
