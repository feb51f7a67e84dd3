"""Values of the configuration by dotted key, from files and options."""

import re
import sys
from pathlib import Path
from typing import Any

from seq2seq_cli.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ATTENTION_ALIASES = {
    "bahdanau": {"model.attention": "additive", "model.wiring": "bahdanau"},
    "luong": {"model.attention": "general", "model.wiring": "luong"},
    "local_m": {"model.attention": "general", "model.attention_span": "local_m"},
    "local_p": {"model.attention": "general", "model.attention_span": "local_p"},
}


_MOST_LEVELS = 20  # maximum depth of nested tables and lists; a config has four


class Overrides(dict[str, Any]):
    """Values by dotted key, and the names by which errors refer to them.

    Attributes:
        origins: the file or option that each value comes from, by key.
        flags: the options that the command has for keys, given or not, by key.
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
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not valid TOML: {error}") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, origin: str) -> "Overrides":
        """Return the values of a text in TOML.

        Raises:
            UsageError: if it is not TOML.
        """
        try:
            tables = _parse_toml(text)
        except ValueError as error:
            raise UsageError(f"{origin}: not valid TOML: {error}") from error
        overrides = cls()
        for name, table in tables.items():
            if isinstance(table, dict):
                for key, value in table.items():
                    overrides.set(f"{name}.{key}", value, origin)
            else:
                overrides.set(name, table, origin)
        return overrides

    def set(self, key: str, value: Any, origin: str) -> None:
        """Set `key`, and replace an earlier value."""
        self[key] = value
        self.origins[key] = origin

    def set_all(self, later: "Overrides") -> None:
        """Set all values of `later`, and replace earlier ones."""
        for key, value in later.items():
            self.set(key, value, later.origins[key])
        self.flags.update(later.flags)

    def set_model(self, name: str) -> None:
        """Set from `--model NAME`, with a dash or an underscore."""
        self.set("model.kind", name.replace("-", "_"), "--model")

    def set_attention(self, name: str) -> None:
        """Set from `--attention NAME`, a score or an alias such as `bahdanau`."""
        name = name.replace("-", "_")
        for key, value in ATTENTION_ALIASES.get(name, {"model.attention": name}).items():
            self.set(key, value, "--attention")

    def sample_instead_of_beam(self) -> None:
        """Set a beam of 1 if these values ask for samples and name no beam.

        So a run whose `[decoding]` has a beam can draw samples.
        """
        if self.get("decoding.sample") is True and "decoding.beam" not in self:
            self.set("decoding.beam", 1, self.origins["decoding.sample"])

    def set_duration(self, key: str, text: str, origin: str) -> None:
        """Set a number of seconds from a text such as 90s, 10m or 1.5h.

        Raises:
            UsageError: if the text is not such a time.
        """
        match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh])", text.strip())
        if not match:
            raise UsageError(f"{origin} {text}: expected a time such as 90s, 10m or 1.5h")
        self.set(key, float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]], origin)

    def set_assignment(self, assignment: str) -> None:
        """Set from `--set KEY=VALUE`. A VALUE that is not TOML is taken as a plain string.

        Raises:
            UsageError: if there is no KEY or no `=`.
        """
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
        # A text of several lines may also set other keys.
        value = parsed["value"] if [*parsed] == ["value"] else text.strip()
        self.set(key, value, f"--set {key}")


def _parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: if it is not valid TOML, or nested too deeply.
    """
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level: list[Any] = [tables]
    for _ in range(_MOST_LEVELS):
        inner = [value.values() if isinstance(value, dict) else value for value in level]
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
    if level:
        raise ValueError("it is nested too deeply")
    return tables
