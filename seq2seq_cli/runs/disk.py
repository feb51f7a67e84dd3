"""Writing files so that they are whole and on the disk."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seq2seq_cli.errors import DiskError


def write_durably(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and have it on the disk before returning."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    sync(partial)
    partial.replace(path)
    sync(path.parent)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of writing below `path` into a DiskError."""
    try:
        yield
    except OSError as error:
        remedy = (
            "Free some space and go on with --resume"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "Check the folder and its permissions"
        )
        raise DiskError(f"{path}: cannot be written: {error.strerror}. {remedy}") from error


def sync(path: Path) -> None:
    """Have a file or a folder on the disk before returning."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
