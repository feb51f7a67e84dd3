"""The metrics of training: the file metrics.jsonl, with a JSON object in each line."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from seq2seq_cli.errors import CheckpointError, os_reason
from seq2seq_cli.runs import files
from seq2seq_cli.runs.disk import disk_errors, write_durably

# The kinds of entries.
START, CHANGES, TRAINING, VALIDATION = "start", "changes", "training", "validation"
DIAGNOSIS, END = "diagnosis", "end"


def of_kind(entries: Iterable[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    """Return the entries of some kinds, in order. An entry without a kind is of none."""
    return [entry for entry in entries if entry.get("kind") in kinds]


class MetricsLog:
    """The file metrics.jsonl of a run. Only one process at a time may write to it.

    Args:
        path: the file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._is_complete = False  # whether the last line is known to be complete

    def append(self, entry: dict[str, Any]) -> None:
        """Add a line.

        Raises:
            DiskError: if it cannot be written.
        """
        with disk_errors(self._path):
            if not self._is_complete and files.exists(self._path):
                content = files.read(self._path)
                if content and not content.endswith(b"\n"):  # a process was killed here
                    files.append(self._path, b"\n")
            self._is_complete = False
            files.append(self._path, json.dumps(entry).encode() + b"\n")
            self._is_complete = True

    def sync(self) -> None:
        """Flush all lines to the disk.

        Raises:
            DiskError: if that fails.
        """
        with disk_errors(self._path):
            if files.exists(self._path):
                files.sync(self._path)

    def entries(self, warn: Callable[[str], None]) -> list[dict[str, Any]]:
        """Return the entries of all lines. Broken lines are left out.

        Args:
            warn: called if there are broken lines. An incomplete last line does not count.

        Raises:
            CheckpointError: if the file cannot be read.
        """
        if not files.exists(self._path):
            return []
        try:
            content = files.read(self._path)
        except OSError as error:
            raise CheckpointError(
                f"{self._path}: cannot be read: {os_reason(error)}. Restore it from a copy"
            ) from error
        entries: list[dict[str, Any]] = []
        broken = []
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            if isinstance(entry, dict) and isinstance(entry.get("step"), int):
                entries.append(entry)
            else:
                broken.append(number)
        if broken:
            others = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
            warn(f"{self._path}:{broken[0]}: left out a broken line{others}")
        return entries

    def forget_after(self, step: int, warn: Callable[[str], None]) -> None:
        """Delete broken lines, the entry of the end, and the entries of later updates.

        Args:
            step: the last update to keep. Resumed training repeats the later ones.
            warn: called if there are broken lines.

        Raises:
            CheckpointError: if the file cannot be read.
            DiskError: if it cannot be written.
        """
        with disk_errors(self._path):
            entries = self.entries(warn)
            kept = [e for e in entries if e["step"] <= step and e.get("kind") != END]
            text = "".join(json.dumps(entry) + "\n" for entry in kept)
            write_durably(self._path, text.encode())
            self._is_complete = True
