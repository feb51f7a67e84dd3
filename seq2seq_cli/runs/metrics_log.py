"""The figures of a training, a JSON object per line of metrics.jsonl."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seq2seq_cli.runs import files
from seq2seq_cli.runs.disk import disk_errors, write_durably


class MetricsLog:
    """The file metrics.jsonl of a run, to which one process at a time writes.

    Args:
        path: the file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._ends_in_line = False  # whether the file is known not to end within a line

    def append(self, entry: dict[str, Any]) -> None:
        """Add a line.

        Raises:
            DiskError: if it cannot be written.
        """
        with disk_errors(self._path):
            if not self._ends_in_line and files.exists(self._path):
                content = files.read(self._path)
                if content and not content.endswith(b"\n"):  # a process was killed here
                    files.append(self._path, b"\n")
            self._ends_in_line = False  # until the line is written
            files.append(self._path, json.dumps(entry).encode() + b"\n")
            self._ends_in_line = True

    def sync(self) -> None:
        """Have all lines on the disk before returning.

        Raises:
            DiskError: if they cannot be written.
        """
        with disk_errors(self._path):
            if files.exists(self._path):
                files.sync(self._path)

    def entries(self, warn: Callable[[str], None]) -> list[dict[str, Any]]:
        """Read the lines.

        Broken ones are left out, with a warning, except for a last line that was cut off.
        """
        if not files.exists(self._path):
            return []
        entries: list[dict[str, Any]] = []
        broken = []
        for number, line in enumerate(files.read(self._path).split(b"\n")[:-1], start=1):
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
        """Drop the end, broken lines, and the updates that a resumed training makes again.

        Raises:
            DiskError: if the file cannot be written.
        """
        with disk_errors(self._path):
            entries = self.entries(warn)
            kept = [e for e in entries if e["step"] <= step and e.get("kind") != "end"]
            text = "".join(json.dumps(entry) + "\n" for entry in kept)
            write_durably(self._path, text.encode())
            self._ends_in_line = True
