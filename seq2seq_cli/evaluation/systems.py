"""A test set, and the translations of its sources by a system."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from seq2seq_cli.errors import DataError, os_reason

_FORMAT = "s2s translations"
_VERSION = 1


@dataclass(frozen=True)
class EvaluationSet:
    """Sources with their references.

    Attributes:
        name: a split of a run, files, or a named test set.
        sources: the sentences.
        references: one or more texts for each.
        split: `dev` or `test`; empty if it is not a split.
    """

    name: str
    sources: list[str]
    references: list[list[str]]
    split: str = ""


@dataclass(frozen=True)
class SystemOutput:
    """The translations of a test set by one system.

    Attributes:
        name: of the system.
        translations: a text for each source.
        cut: whether each was cut; None if not known.
        origin: run, checkpoint, search and so on, for JSON.
    """

    name: str
    translations: list[str]
    cut: list[bool] | None = None
    origin: dict[str, Any] = field(default_factory=dict)

    @property
    def minutes(self) -> float | None:
        """Minutes of training, if they are known."""
        return self.origin.get("minutes")

    @property
    def command(self) -> str | None:
        """The command that trains the system, if it is known and short."""
        return self.origin.get("command")

    @property
    def trained_on(self) -> str | None:
        """Device, precision and versions of the training, if they are known."""
        return self.origin.get("trained_on")


def to_jsonl(test_set: EvaluationSet, output: SystemOutput) -> str:
    """Return a test set and a system's translations of it as JSON Lines."""
    records = _records(test_set, output)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _records(test_set: EvaluationSet, output: SystemOutput) -> Iterator[dict[str, Any]]:
    yield {
        "format": _FORMAT,
        "version": _VERSION,
        "name": output.name,
        "test_set": test_set.name,
        "split": test_set.split,
        "origin": output.origin,
    }
    cut: Sequence[bool | None] = output.cut or [None] * len(test_set.sources)
    rows = zip(test_set.sources, output.translations, test_set.references, cut, strict=True)
    for source, translation, references, was_cut in rows:
        yield {
            "source": source,
            "translation": translation,
            "references": references,
            "cut": was_cut,
        }


def is_saved(path: Path) -> bool:
    """Return whether a file has the format of `to_jsonl`."""
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline(1 << 16))
    except (OSError, ValueError):
        return False
    return isinstance(head, dict) and head.get("format") == _FORMAT


class _Origin(BaseModel, strict=True, extra="allow"):
    """The origin of translations. Other keys are kept."""

    minutes: float | None = Field(None, ge=0, allow_inf_nan=False)
    command: str | None = None
    trained_on: str | None = None


class _Head(BaseModel, strict=True):
    """The first line of a file of translations."""

    name: str
    test_set: str
    split: str | None = None
    origin: _Origin

    @property
    def known_split(self) -> str:
        """The split; files of earlier versions have it in the name of the test set."""
        first = self.test_set.split(" ")[0]
        return (first if first in ("dev", "test") else "") if self.split is None else self.split


class _Row(BaseModel, strict=True):
    """Any other line."""

    source: str
    translation: str
    references: list[str] = Field(min_length=1)
    cut: bool | None


def _damaged(path: Path, number: int, why: str) -> DataError:
    return DataError(f"{path}:{number}: the line is damaged ({why}). Save the translations again")


def read_translations(path: Path) -> tuple[EvaluationSet, SystemOutput]:
    """Read a file in the format of `to_jsonl`.

    Raises:
        DataError: if a line is damaged; it names the line.
    """
    rows: list[_Row] = []
    number = 1
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
            version = json.loads(first)["version"]
            if version != _VERSION:
                raise DataError(
                    f"{path}: was written by another version of s2s (its format is {version}, this "
                    f"one reads {_VERSION}). Save the translations again"
                )
            head = _Head.model_validate_json(first)
            for line in file:
                number += 1
                rows.append(_Row.model_validate_json(line))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {os_reason(error)}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        why = f"{place}: {problem['msg']}" if place else problem["msg"]
        raise _damaged(path, number, why) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, number, str(error)) from error
    if not rows:
        raise DataError(f"{path}: has no translation in it. Save the translations again")
    test_set = EvaluationSet(
        head.test_set,
        [row.source for row in rows],
        [row.references for row in rows],
        head.known_split,
    )
    cut = [row.cut for row in rows if row.cut is not None]
    known = cut if len(cut) == len(rows) else None
    translations = [row.translation for row in rows]
    return test_set, SystemOutput(
        head.name, translations, known, head.origin.model_dump(exclude_unset=True)
    )
