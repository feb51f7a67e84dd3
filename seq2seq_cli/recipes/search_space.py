"""The values of config keys that a tuning tries, read from TOML."""

import importlib.util
import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError

from seq2seq_cli.config import Config
from seq2seq_cli.config.messages import unknown_key, wrong_value
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError

Value = str | bool | int | float

_LIMITS = {"epochs", "steps", "budget_seconds", "patience"}  # of [training]


@dataclass(frozen=True)
class Choice:
    """Values from which one is drawn."""

    values: tuple[Value, ...]

    def covers(self, value: Any) -> bool:
        """Return whether the value may be drawn."""
        return any(value == each and type(value) is type(each) for each in self.values)

    def identity(self, value: Value) -> Value:
        """Return what distinguishes the value from the others: itself."""
        return value

    @property
    def size(self) -> float:
        """Number of different values."""
        return len(set(self.values))


@dataclass(frozen=True)
class Range:
    """Numbers from which one is drawn.

    Attributes:
        low, high: the minimum and the maximum, both included; whole numbers for a key that takes
            whole numbers, else floats.
        log: whether the logarithm is drawn uniformly.
        step: distance of neighbouring values, counted from `low`; None for any number.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def highest(self) -> float:
        """The highest number that may be drawn."""
        if self.step is None:
            return self.high
        low, high, step = (Decimal(str(each)) for each in (self.low, self.high, self.step))
        highest = low + (high - low) // step * step  # exact, as Optuna computes it
        return int(highest) if self.is_whole else float(highest)

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are drawn."""
        return isinstance(self.low, int)

    def covers(self, value: Any) -> bool:
        """Return whether the value may be drawn."""
        if not isinstance(value, type(self.low)) or not self.low <= value <= self.highest:
            return False
        steps = (value - self.low) / self.step if self.step else 0
        return math.isclose(steps, round(steps), abs_tol=1e-9)

    def identity(self, value: float) -> float:
        """Return what distinguishes the value from the others: its number of steps, or itself.

        Floats at the same step can differ in their last digit.
        """
        return round((value - self.low) / self.step) if self.step else value

    @property
    def size(self) -> float:
        """Number of different values; infinity for floats without a step."""
        step = self.step or (1 if self.is_whole else None)
        return round((self.highest - self.low) / step) + 1 if step else math.inf


Space = dict[str, Choice | Range]
"""The values to draw from, by dotted key of the config."""


def check_packages() -> None:
    """Check that Optuna and matplotlib are installed.

    Raises:
        UsageError: if they are not; says how to install them.
    """
    missing = [name for name in ("optuna", "matplotlib") if not importlib.util.find_spec(name)]
    if missing:
        raise UsageError(
            f"s2s recipe tune needs {' and '.join(missing)}. Install it: pip install 's2s[tune]'"
        )


def read_space(path: Path, base: Config) -> Space:
    """Read the table `[space]` of a TOML file.

    A key of the config has a list of values, or a table with `low`, `high` and optionally
    `log = true` or `step`.

    Args:
        path: the file.
        base: the config of all keys that are not drawn.

    Raises:
        UsageError: naming every key that is unknown or has a wrong range, with the reason.
    """
    space: Space = {}
    problems = []
    for key, entry in _entries(path).items():
        try:
            space[key] = _dimension(key, entry, base)
        except ValueError as error:
            problems.append(f"{path}: [space]: {error}")
    if problems:
        raise UsageError("\n".join(problems))
    if not space:
        raise UsageError(
            f"{path}: [space] has no key. Add one, such as "
            '"model.dropout" = {low = 0.0, high = 0.4}'
        )
    return space


def _entries(path: Path) -> dict[str, Any]:
    """Return the entries by dotted key, which may be quoted or not."""
    entries: dict[str, Any] = {}
    for name, value in Overrides.read(path).items():
        table, _, key = name.partition(".")
        if table != "space" or not key:
            raise UsageError(
                f"{path}: {name}: a search space has only the table [space]. Give the values that "
                "all trials share with --config and --set"
            )
        if key in Config.model_fields and isinstance(value, dict):  # dots outside quotes are tables
            entries |= {f"{key}.{inner}": each for inner, each in value.items()}
        else:
            entries[key] = value
    return entries


def _dimension(key: str, entry: Any, base: Config) -> Choice | Range:
    """Return an entry as a dimension of the space.

    Raises:
        ValueError: if there is no such key, or it cannot be drawn like this.
    """
    known, kind = base.flat(), base.model.kind
    if key not in known:
        raise ValueError(unknown_key(key, kind, list(known)))
    table, _, name = key.partition(".")
    if key == "model.kind":
        raise ValueError("model.kind has other keys for each kind. Tune one kind at a time")
    if table == "data":
        raise ValueError(f"{key}: scores on other data cannot be compared. Set it with --set")
    if table == "training" and name in _LIMITS:
        raise ValueError(
            f"{key}: all trials have the same budget. Set it with --budget, --steps or --set"
        )
    found = _range(key, entry, base) if isinstance(entry, dict) else _choice(key, entry, base)
    for value in found.values if isinstance(found, Choice) else (found.low, found.high):
        _check(key, value, base)
    if isinstance(found, Range) and found.is_whole:
        try:
            _check(key, found.low + (found.step or 1), base)
        except ValueError as error:
            raise ValueError(
                f"{error}, which the range contains. Give a step that fits, or a list of values"
            ) from None
    return found


def _choice(key: str, entry: Any, base: Config) -> Choice:
    if not isinstance(entry, list) or len(entry) < 2:
        raise ValueError(
            f"{key} must be a list of two values or more, or a table such as "
            f"{{low = 0.1, high = 0.3}}; it is {entry!r}"
        )
    for value in entry:
        if not isinstance(value, str | bool | int | float):
            raise ValueError(
                f"{key}: a value must be a string, a number, true or false; not {value!r}"
            )
    types = _types(_field(key, base).annotation)
    if float in types and int not in types:
        entry = [float(each) if type(each) is int else each for each in entry]
    if len({(type(value), value) for value in entry}) < len(entry):
        raise ValueError(f"{key}: a value occurs twice: {entry!r}")
    return Choice(tuple(entry))


def _range(key: str, entry: dict[str, Any], base: Config) -> Range:
    types = _types(_field(key, base).annotation)
    if not types & {int, float}:
        raise ValueError(f"{key} does not take numbers. Give a list of values")
    if unknown := sorted(set(entry) - {"low", "high", "log", "step"}):
        raise ValueError(f"{key}: a range has low, high, log and step, not {unknown[0]!r}")
    if missing := {"low", "high"} - set(entry):
        raise ValueError(f"{key}: a range needs {' and '.join(sorted(missing, reverse=True))}")
    numbers = {name: entry[name] for name in ("low", "high", "step") if name in entry}
    whole = float not in types
    for name, number in numbers.items():
        is_number = isinstance(number, int if whole else int | float)
        if not is_number or isinstance(number, bool) or not math.isfinite(number):
            words = "a whole number" if whole else "a finite number"
            raise ValueError(f"{key}: {name} must be {words}; it is {number!r}")
    log = entry.get("log", False)
    if not isinstance(log, bool):
        raise ValueError(f"{key}: log must be true or false; it is {log!r}")
    if numbers["low"] >= numbers["high"]:
        raise ValueError(
            f"{key}: low must be less than high; they are {numbers['low']} and {numbers['high']}"
        )
    if log and numbers["low"] <= 0:
        raise ValueError(f"{key}: with log = true, low must be above 0; it is {numbers['low']}")
    if "step" in numbers and (log or not 0 < numbers["step"] <= numbers["high"] - numbers["low"]):
        raise ValueError(
            f"{key}: step must be above 0 and at most high - low, and excludes log = true; "
            f"it is {numbers['step']}"
        )
    if not whole:
        numbers = {name: float(number) for name, number in numbers.items()}
    return Range(numbers["low"], numbers["high"], log, numbers.get("step"))


def _check(key: str, value: Value, base: Config) -> None:
    """Check that a key may have a value, regardless of the values of other keys."""
    field = _field(key, base)
    annotated: Any = Annotated
    of_key: Any = field.annotation
    for constraint in field.metadata:
        of_key = annotated[of_key, constraint]
    try:
        TypeAdapter(of_key, config=ConfigDict(strict=True)).validate_python(value)
    except ValidationError:
        text = wrong_value(key, base.model.kind, value, {key: ""})
        raise ValueError(text.removeprefix(": ")) from None


def _field(key: str, base: Config) -> Any:
    table, _, name = key.partition(".")
    return type(getattr(base, table)).model_fields[name]


def _types(annotation: Any) -> set[Any]:
    """Return the types that an annotation allows."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return set(get_args(annotation)) if is_union else {annotation}
