"""The trials of a tuning, and the file that stores them."""

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.recipes.search_space import Value
from seq2seq_cli.runs.disk import disk_errors, write_durably

TRIALS = "tuning.json"


@dataclass(frozen=True)
class Trial:
    """A run with values from the space.

    Attributes:
        number: from 0.
        values: by dotted key.
        state: `running`, or interrupted; `done`; `stopped` early by the median rule; `failed`.
        dev_bleu: of the best validation; None before the first one.
        validations: dev BLEU of each.
        steps: updates made.
        seconds: of training, validation included.
        reason: why it ended, as a clause.
    """

    number: int
    values: dict[str, Value]
    state: Literal["running", "done", "stopped", "failed"] = "running"
    dev_bleu: float | None = None
    validations: tuple[float, ...] = ()
    steps: int = 0
    seconds: float = 0.0
    reason: str = ""

    @property
    def name(self) -> str:
        """The name of its run's folder."""
        return f"trial-{self.number:03}"


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the completed trial with the highest dev BLEU."""
    done = [trial for trial in trials if trial.state == "done" and trial.dev_bleu is not None]
    return max(done, key=lambda trial: (trial.dev_bleu or 0.0, -trial.number), default=None)


class TrialFile:
    """Stores trials in a folder's `tuning.json`, together with the settings of the tuning.

    Args:
        folder: the folder, which exists.
        asked: the settings that determine the trials, as JSON values; the same in every call.

    Attributes:
        trials: all that have been started, in order.

    Raises:
        UsageError: if the folder has the trials of another tuning.
        DataError: if the file is damaged.
    """

    def __init__(self, folder: Path, asked: dict[str, dict[str, Any]]):
        self._path = folder / TRIALS
        self._asked = json.loads(json.dumps(asked))
        self.trials: list[Trial] = []
        if not os.path.exists(self._path):
            return
        try:
            kept = json.loads(self._path.read_text("utf-8"))
            self.trials = [
                Trial(**{**each, "validations": tuple(each["validations"])})
                for each in kept.pop("trials")
            ]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{self._path}: cannot be read: {error}. Restore it from a copy, or give another "
                "folder"
            ) from error
        if differences := _differences(kept, self._asked):
            raise UsageError(
                f"{folder}: has the trials of another tuning:\n" + "\n".join(differences) + "\n"
                "To continue, restore these values; or give another folder"
            )

    def put(self, trial: Trial) -> None:
        """Add a trial, or replace the one with its number, and flush it to the disk.

        Raises:
            DiskError: if the file cannot be written.
        """
        self.trials[trial.number :] = [trial, *self.trials[trial.number + 1 :]]
        records = [dataclasses.asdict(each) for each in self.trials]
        content = json.dumps({**self._asked, "trials": records}, indent=1, ensure_ascii=False)
        with disk_errors(self._path):
            write_durably(self._path, content.encode())


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return a line for each value of a table that differs."""
    lines = []
    for table in now:
        old, new = before.get(table, {}), now[table]
        lines += [
            f"  {table} {key}: {old.get(key)!r} there, {new.get(key)!r} now"
            for key in dict.fromkeys([*old, *new])
            if old.get(key) != new.get(key)
        ]
    return lines
