r"""Lines of UTF-8 text. Only \n ends a line."""

import gzip
import lzma
import os
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path

from seq2seq_cli.data.files import readable
from seq2seq_cli.errors import DataError

DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""The errors of reading a truncated or damaged file."""

SAMPLED_BYTES = 1 << 20
"""Number of bytes from which the number of lines of a file is estimated."""


LONGEST_LINE = 1 << 24
"""Bytes of the longest line that is read from a corpus."""


class BadLineError(ValueError):
    """A line that is not text. The message says why."""


def decode_line(raw: bytes) -> str:
    r"""Decode a line, without the \n or \r\n that ends it.

    Raises:
        BadLineError: if it is not UTF-8 or has a NUL.
    """
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLineError(
            f"invalid UTF-8 at byte {error.start + 1} (0x{line[error.start]:02x})"
        ) from error
    if "\0" in text:
        raise BadLineError("contains a NUL character")
    return text


def canonical(text: str) -> str:
    """Return a sentence in canonical form: in Unicode's NFC, without outer spaces.

    So é is always one character, even if it was written as e and an accent.
    """
    return unicodedata.normalize("NFC", text.strip())


@contextmanager
def open_text(path: Path) -> Iterator[BufferedIOBase]:
    """Open a text file, gzipped or not, regardless of its name."""
    with ExitStack() as stack:
        with readable(str(path)):
            raw = stack.enter_context(path.open("rb"))
            is_gzipped = raw.peek(2)[:2] == b"\x1f\x8b"
        yield stack.enter_context(gzip.open(raw)) if is_gzipped else raw


@contextmanager
def open_member(archive: zipfile.ZipFile, name: str) -> Iterator[BufferedIOBase]:
    """Open a file in a zip; buffered, because reading lines from a zip is slow."""
    with archive.open(name) as stream:
        yield BufferedReader(stream)  # type: ignore[type-var]  # it needs `readinto` alone


def read_lines(name: str, stream: BufferedIOBase) -> Iterator[str | BadLineError]:
    """Yield the lines of a text; for a line that cannot be read, yield the error.

    A leading byte order mark is dropped.

    Args:
        name: the name of the text, for errors.
        stream: its bytes.

    Raises:
        DataError: if it cannot be read, or an archive is cut off or damaged.
    """
    number = 0
    try:
        for number, raw in enumerate(_bounded_lines(stream), start=1):
            if len(raw) > LONGEST_LINE:
                yield BadLineError(f"a line of more than {LONGEST_LINE >> 20} MB")
                continue
            try:
                yield decode_line(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
            except BadLineError as error:
                yield error
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno:  # OSErrors of gzip and bzip2 have no number
            raise DataError(f"{name}: cannot be read: {error.strerror}") from error
        raise DataError(
            f"{name}: truncated or damaged after line {number} ({error}). Download it again"
        ) from error


def _bounded_lines(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the lines; of a line that is too long, one byte more than is allowed."""
    while raw := stream.readline(LONGEST_LINE + 1):
        yield raw
        while len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
            raw = stream.readline(LONGEST_LINE + 1)


# Characters that would end a column or a line of a TSV file, or make the line unreadable.
_NOT_IN_TSV = str.maketrans({"\t": " ", "\n": " ", "\r": " ", "\0": "\N{REPLACEMENT CHARACTER}"})


def tsv_cell(text: str) -> str:
    """Return a text for a cell of a TSV file, without tabs, line breaks and NUL."""
    return text.translate(_NOT_IN_TSV)


def about(count: float) -> int:
    """Return an estimate with two significant digits."""
    return int(float(f"{count:.2g}"))


def estimated_lines(path: Path) -> int | None:
    """Return an estimate of the lines of a text file, gzipped or not, from its first megabyte.

    It is None if the file cannot be read, or cannot be read twice, such as a pipe.
    """
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as raw:
            sample, size = raw.read(SAMPLED_BYTES), os.fstat(raw.fileno()).st_size
    except OSError:
        return None
    is_whole = len(sample) >= size
    text = _unpacked(sample, is_whole) if sample.startswith(b"\x1f\x8b") else sample
    if text is None:
        return None
    lines = text.count(b"\n")
    if is_whole:
        return lines + (not text.endswith(b"\n") if text else 0)
    return about(lines * size / len(sample))


def _unpacked(packed: bytes, is_whole: bool) -> bytes | None:
    """Return the content of the first part of a gzip file; None if it is damaged."""
    parts = []
    while packed:  # a file may have several members
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(packed))
        except zlib.error:
            return None
        if not member.eof:
            return None if is_whole else b"".join(parts)
        packed = member.unused_data
    return b"".join(parts)
