r"""Lines of UTF-8 text. Only \n ends a line."""

import gzip
import lzma
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from seq2seq_cli.data.files import readable
from seq2seq_cli.errors import DataError


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
        raise BadLineError("a NUL character, which no text has")
    return text


def canonical(text: str) -> str:
    """Return a sentence in canonical form: in Unicode's NFC, without outer spaces.

    So é is always one character, even if it was written as e and an accent.
    """
    return unicodedata.normalize("NFC", text.strip())


@contextmanager
def open_text(path: Path) -> Iterator[Iterable[bytes]]:
    """Open a text file, gzipped or not, whatever its name."""
    with ExitStack() as stack:
        with readable(str(path)):
            raw = stack.enter_context(path.open("rb"))
            is_gzipped = raw.peek(2)[:2] == b"\x1f\x8b"
        yield stack.enter_context(gzip.open(raw)) if is_gzipped else raw


def read_lines(name: str, stream: Iterable[bytes]) -> Iterator[str | BadLineError]:
    """Yield the lines of a text; for a line that cannot be read, yield the error.

    A leading byte order mark is dropped.

    Args:
        name: the name of the text, for errors.
        stream: its lines as bytes.

    Raises:
        DataError: if it cannot be read, or an archive is cut off or damaged.
    """
    number = 0
    try:
        for number, raw in enumerate(stream, start=1):
            try:
                yield decode_line(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
            except BadLineError as error:
                yield error
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno:  # OSErrors of gzip and bzip2 have no number
            raise DataError(f"{name}: cannot be read: {error.strerror}") from error
        raise DataError(
            f"{name}: cut off or damaged after line {number} ({error}). Download it again"
        ) from error
