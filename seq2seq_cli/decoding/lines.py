"""Processes a stream of lines, several at a time, and yields the results in order."""

from collections.abc import Callable, Iterable, Iterator
from io import RawIOBase
from typing import TypeVar

from seq2seq_cli.data.lines import BadLineError, decode_line
from seq2seq_cli.errors import DataError, os_reason

_WINDOW = 1 << 17  # bytes of a file that are sorted together
_LONGEST_LINE = 1 << 20  # bytes of a line that are read; the rest is dropped
Item = TypeVar("Item")
Result = TypeVar("Result")


def in_windows(
    stream: RawIOBase,
    name: str,
    parse: Callable[[str], Item],
    process: Callable[[list[Item], int], list[Result]],
    done: str,
    before: int = 0,
) -> Iterator[tuple[int, Item, Result]]:
    """Process a stream of lines in windows: the lines that have arrived, up to a maximum.

    So each line of a pipe is answered at once, and a file is processed in large pieces.

    Args:
        stream: UTF-8 text, unbuffered.
        name: of the stream, for errors.
        parse: turns a line into an item, or raises BadLineError.
        process: turns items into results, given the number of earlier items.
        done: a participle for the errors, such as "translated".
        before: number of lines before the stream, if it is a part of a file.

    Yields:
        (line number, item, result) for each line, in order.

    Raises:
        DataError: at a line that is not text, after the earlier ones are done; or if the stream
            cannot be read.
    """
    number = before
    for window in _windows(_blocks(stream, name)):
        items: list[Item] = []
        bad: DataError | None = None
        for raw in window:
            if number + len(items) == 0:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                items.append(parse(decode_line(_within_limit(raw))))
            except BadLineError as error:
                place = f"{name}:{number + len(items) + 1}"
                bad = DataError(f"{place}: {error}. The lines before it have been {done}")
                break
        for item, result in zip(items, process(items, number), strict=True):
            number += 1
            yield number, item, result
        if bad:
            raise bad


def _blocks(stream: RawIOBase, name: str) -> Iterator[bytes]:
    """Yield the bytes of each read; a read of a pipe returns the bytes that have arrived."""
    try:
        while block := stream.read(_WINDOW):
            yield block
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {os_reason(error)}") from error


def _windows(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines that end in each block, if there are any."""
    rest = b""
    for block in blocks:
        *lines, tail = block.split(b"\n")
        if lines:
            yield [rest + lines[0], *lines[1:]]
            rest = tail
        else:
            rest = (rest + tail)[: _LONGEST_LINE + 1]
    if rest:
        yield [rest]


def _within_limit(raw: bytes) -> bytes:
    """Cut a line to the maximum length, at the end of a character."""
    if len(raw) <= _LONGEST_LINE:
        return raw
    for end in range(_LONGEST_LINE, _LONGEST_LINE - 4, -1):
        if raw[end] & 0xC0 != 0x80:  # the beginning of a character
            return raw[:end]
    return raw[:_LONGEST_LINE]  # it is not UTF-8, for which `decode_line` raises an error
