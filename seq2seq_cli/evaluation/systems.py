"""What is scored: a test set, and the translations of its sources by a system."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """

    name: str
    sources: list[str]
    references: list[list[str]]


@dataclass(frozen=True)
class SystemOutput:
    """The translations of a test set by one system.

    Attributes:
        name: of the system.
        translations: a text for each source.
        cut: whether each was cut; None if that is not known.
        origin: what made them: run, checkpoint, search and so on, for JSON.
    """

    name: str
    translations: list[str]
    cut: list[bool] | None = None
    origin: dict[str, Any] = field(default_factory=dict)

    @property
    def minutes(self) -> float | None:
        """Minutes of training, if they are known."""
        return self.origin.get("minutes")


def to_jsonl(of: EvaluationSet, output: SystemOutput) -> str:
    """Return a test set and a system's translations of it as JSON Lines."""
    records = _records(of, output)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _records(of: EvaluationSet, output: SystemOutput) -> Iterator[dict[str, Any]]:
    yield {
        "format": _FORMAT,
        "version": _VERSION,
        "name": output.name,
        "test_set": of.name,
        "origin": output.origin,
    }
    cut: Sequence[bool | None] = output.cut or [None] * len(of.sources)
    rows = zip(of.sources, output.translations, of.references, cut, strict=True)
    for source, translation, references, was_cut in rows:
        yield {
            "source": source,
            "translation": translation,
            "references": references,
            "cut": was_cut,
        }


def is_saved(path: Path) -> bool:
    """Return whether a file has what `to_jsonl` returns."""
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline(1 << 16))
    except (OSError, ValueError):
        return False
    return isinstance(head, dict) and head.get("format") == _FORMAT


def read_translations(path: Path) -> tuple[EvaluationSet, SystemOutput]:
    """Read a file of what `to_jsonl` returns.

    Raises:
        DataError: naming the line that is damaged.
    """
    rows: list[list[Any]] = []
    try:
        with path.open(encoding="utf-8") as file:
            head = json.loads(file.readline())
            if head["version"] != _VERSION:
                raise DataError(
                    f"{path}: was written by another version of s2s (its format is "
                    f"{head['version']}, this one reads {_VERSION}). Save the translations again"
                )
            for line in file:
                row = json.loads(line)
                rows.append([row[key] for key in ("source", "translation", "references", "cut")])
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {os_reason(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}:{len(rows) + 2}: is damaged ({error}). Save the translations again"
        ) from error
    if not rows:
        raise DataError(f"{path}: has no translation in it. Save the translations again")
    sources, translations, references, cut = (list(column) for column in zip(*rows, strict=True))
    of = EvaluationSet(head["test_set"], sources, references)
    known = cut if all(each is not None for each in cut) else None
    return of, SystemOutput(head["name"], translations, known, head["origin"])
