"""Shards of a file: consecutive lines, which have about as many bytes in each shard."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq_cli.cli.files import open_input
from seq2seq_cli.errors import UsageError

MOST_SHARDS = 1_000_000
_BLOCK = 1 << 20  # bytes that are searched for line feeds at once


@dataclass(frozen=True)
class Shard:
    """One of several shards of a file; `number` is from 1 to `count`."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard that a text such as 2/4 names.

        Raises:
            UsageError: if it names none.
        """
        match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.number <= shard.count <= MOST_SHARDS:
            raise UsageError(
                f"--shard {text}: give NUMBER/COUNT, such as 2/4, with 1 <= NUMBER <= COUNT"
            )
        return shard


WHOLE = Shard(1, 1)


@contextmanager
def open_lines(path: Path | None, shard: Shard = WHOLE) -> Iterator[tuple[Any, str, int]]:
    """Open a shard of a file, or stdin.

    Yields:
        The stream, its name for errors, and the number of lines before the shard.

    Raises:
        DataError: if the file cannot be read.
        UsageError: if it is not a regular file, and there are several shards.
    """
    with open_input(path) as (stream, name):
        if shard.count == 1:
            yield stream, name, 0
            return
        if path is None or not os.path.isfile(path):
            raise UsageError("--shard needs a file as --input, not a stream")
        size = path.stat().st_size
        start, end = (
            _start_of_line(stream, size * number // shard.count, size)
            for number in (shard.number - 1, shard.number)
        )
        before = _line_feeds(stream, start)
        stream.seek(start)
        yield _Beginning(stream, end - start), name, before


class _Beginning(io.RawIOBase):
    """The next `left` bytes of a stream."""

    def __init__(self, stream: io.RawIOBase, left: int):
        self._stream, self._left = stream, left

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return the number of bytes."""
        found = self._stream.read(min(len(buffer), self._left)) or b""
        buffer[: len(found)] = found
        self._left -= len(found)
        return len(found)


def _start_of_line(stream: io.RawIOBase, position: int, size: int) -> int:
    """Return the first position from `position` on at which a line starts, or the file's size."""
    if position == 0:
        return 0
    stream.seek(position - 1)
    searched = position - 1
    while block := stream.read(_BLOCK):
        if (found := block.find(b"\n")) >= 0:
            return searched + found + 1
        searched += len(block)
    return size


def _line_feeds(stream: io.RawIOBase, end: int) -> int:
    """Return the number of line feeds before a position."""
    stream.seek(0)
    beginning = _Beginning(stream, end)
    return sum(block.count(b"\n") for block in iter(lambda: beginning.read(_BLOCK) or b"", b""))
