"""Error messages about a configuration, and the values that its keys accept."""

import difflib
import math
import re
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import CorpusConfig
from seq2seq_cli.config.model import DEFAULT_KIND, MODELS
from seq2seq_cli.config.overrides import ATTENTION_ALIASES, Overrides
from seq2seq_cli.config.table import Table


def fault_of(value: Any) -> str | None:
    """Return why a config file cannot hold a value of any type, or None if it can."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return next((fault for item in value if (fault := fault_of(item))), None)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "must be a whole number of at most 64 bits"
    if isinstance(value, str) and "\0" in value:
        return "contains a NUL character, which is not allowed in names and paths"
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        return f"is not valid UTF-8: {_shown(value)}. Rename the file if it is a path"
    return None


def unknown_key(key: str, kind: str, known: list[str]) -> str:
    """Return a message about a key that is not `known`, with the key that was probably meant.

    Args:
        key: the unknown key, with its table.
        kind: `model.kind`.
        known: the keys of a config with a model of that kind.
    """
    if key in Config.model_fields:
        example = next(k for k in known if k.startswith(f"{key}."))
        return f"{key!r} is a table and has no value of its own; set its keys, such as {example!r}"
    name = key.rpartition(".")[2]
    others = [k for k, m in MODELS.items() if key == f"model.{name}" and name in m.model_fields]
    if others:
        owners = " or ".join(repr(other) for other in others)
        return f"{key} is for model.kind = {owners}; it is {kind!r}"
    near = [k for k in known if k.rpartition(".")[2] == name]
    near = near or difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not near:
        by_name = {k.rpartition(".")[2]: k for k in known}
        near = [by_name[n] for n in difflib.get_close_matches(name, list(by_name), n=1)]
    meant = " or ".join(repr(k) for k in near)
    hint = f"did you mean {meant}?" if near else "`s2s config show` lists every key"
    return f"unknown key {key!r}; {hint}"


def describe_error(details: Any, kind: str, values: Overrides, defaults: dict[str, Any]) -> str:
    """Return one of pydantic's errors as origin, key, allowed values and given value.

    Args:
        details: an entry of `ValidationError.errors()`.
        kind: `model.kind`.
        values: the values that were validated.
        defaults: the defaults by dotted key.
    """
    origins = values.origins
    # Pydantic puts the kind of model between the table `model` and its key.
    key = ".".join([str(part) for part in details["loc"] if part != kind][:2])
    message = details["msg"].removeprefix("Value error, ")
    if key not in origins or key in Config.model_fields:
        # Several values contradict each other; the message names them.
        # The config of a run has all values. Nobody chose those that are defaults.
        chosen = {k: o for k, o in origins.items() if values[k] != defaults.get(k)}
        return _combination(message, chosen, values.flags)
    inside = details["loc"][2:]
    if key == "data.sources" and len(inside) == 2:
        entry = f"data.sources[{inside[0]}].{inside[1]}"
        if details["type"] in ("missing", "extra_forbidden"):
            keys = ", ".join(CorpusConfig.model_fields)
            return f"{origins[key]}: {entry}: {message}. The keys of an entry are {keys}"
        words = allowed_values(CorpusConfig, str(inside[1]))
        return f"{origins[key]}: {_must_be(entry, words, details['input'])}"
    return wrong_value(key, kind, details["input"], origins)


def _combination(message: str, origins: dict[str, str], flags: dict[str, str]) -> str:
    """Return a message about several values, with the options or files that set them.

    Args:
        message: names the values as "table.key" or "table.key = value".
        origins: the origins of the values that are not defaults, by key.
        flags: the command's options by key.
    """
    involved = [origin for key, origin in origins.items() if _names(message, key)]
    for key, flag in flags.items():
        if origins.get(key, flag) == flag:
            message = re.sub(rf"\b{re.escape(key)}(?: = true| =)?(?!\w)", flag, message)
    files = [origin for origin in dict.fromkeys(involved) if origin not in message]
    return f"{', '.join(files)}: {message}" if files else message


def _names(message: str, key: str) -> bool:
    """Return whether a message has a dotted key, or its last part as a word of its own."""
    names = f"{re.escape(key)}|{re.escape(key.rpartition('.')[2])}"
    return bool(re.search(rf"(?<![\w.])({names})\b(?!\.\w)", message))


def wrong_value(key: str, kind: str, value: Any, origins: dict[str, str]) -> str:
    """Return a message that a key must not have a value, with the allowed values."""
    message = f"{origins[key]}: {_must_be(key, allowed(key, kind), value)}"
    if origins[key] == "--attention":
        aliases = ", ".join(name.replace("_", "-") for name in ATTENTION_ALIASES)
        message = f"{message}. The option also accepts {aliases}"
    return message


def _must_be(key: str, words: str, value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        words = words.replace("a number", "a finite number")
    return f"{key} must be {words}; it is {_shown(value)}"


def _shown(value: Any) -> str:
    """Return a value as text, shortened for a message."""
    text = repr(value) if isinstance(value, str | bool | int | float | list | dict) else str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


def allowed(key: str, kind: str = DEFAULT_KIND) -> str:
    """Return a description of the values that a key accepts, with a model of `kind`."""
    if key == "model.kind":
        return "one of " + ", ".join(repr(choice) for choice in MODELS)
    table, _, name = key.partition(".")
    return allowed_values(type(getattr(Config(model=MODELS[kind]()), table)), name)


def allowed_values(table: type[Table], name: str) -> str:
    """Return a description of the values that the key `name` of a table accepts."""
    field = table.model_fields[name]
    annotation, options = field.annotation, [field.annotation]
    if get_origin(annotation) in (Union, UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(options[0]) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(options[0]))
    if get_origin(options[0]) is list and get_origin(get_args(options[0])[0]) is Literal:
        choices = get_args(get_args(options[0])[0])
        return "a list of " + ", ".join(repr(choice) for choice in choices)
    if get_origin(options[0]) is list:
        return 'a list of tables, such as [[data.sources]] with corpus = "a.tsv", weight = 2.0'
    words = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
    text = words[options[0]]  # type: ignore[index]  # get_args returns Any; it is a class here
    if any(getattr(constraint, "min_length", None) for constraint in field.metadata):
        text = "a non-empty string"
    bounds = {"ge": "of at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds["multiple_of"] = "divisible by"
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
    text = f"{text} {' and '.join(limits)}".strip()
    return re.sub(r"of at least (\S+) and at most", r"from \1 to", text)
