"""Files and the reasons why they cannot be read or written."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seq2seq_cli.errors import DataError, DiskError


def is_file(path: Path) -> bool:
    """Return whether `path` is a file, or a symbolic link to one.

    Raises:
        DataError: if `path` can never be read as a corpus, because it is a pipe, a device or a
            broken link, or the system refuses to look it up.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: the path has a NUL
        if os.path.islink(path):
            raise DataError(
                f"{path}: is a symbolic link to {os.readlink(path)}, which does not exist"
            ) from None
        return False
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(
            f"{path}: is a pipe or a device, but the file is read several times. Write the content "
            "to a file and give the file"
        )
    return stat.S_ISREG(mode)


@contextmanager
def readable(name: str | Path) -> Iterator[None]:
    """Turn an OSError into a DataError that names the file."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from error


@contextmanager
def writable(name: str | Path) -> Iterator[None]:
    """Turn an OSError into a DiskError that names the file."""
    try:
        yield
    except OSError as error:
        # NumPy's OSError about a full disk has no strerror.
        raise DiskError(f"{name}: cannot be written: {error.strerror or error}") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, which need not fit in memory."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
