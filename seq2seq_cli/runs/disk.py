"""Writes files completely or not at all, and flushes them to the disk."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2seq_cli.errors import DiskError, os_reason
from seq2seq_cli.runs import files


def write_durably(path: Path, data: bytes) -> None:
    """Write a file completely or not at all, and flush it to the disk."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        files.write(partial, [data])
        publish(partial, path)
    except BaseException:
        with suppress(OSError):
            files.remove(partial)
        raise


def publish(made: Path, path: Path) -> None:
    """Write a complete file or folder to the disk, and give it its final name.

    Even after a power failure, the name refers to the complete new content or to the old one. All
    results of s2s get their names from this function.

    Raises:
        OSError: if it fails.
    """
    _sync_tree(made)
    files.rename(made, path)
    with suppress(PermissionError):  # a writable folder need not be readable
        files.sync(path.parent)


def _sync_tree(path: Path) -> None:
    if files.is_folder(path):
        for name in files.names(path):
            _sync_tree(path / name)
    files.sync(path)


def make_durably(folder: Path) -> None:
    """Create a folder and its missing parents, and flush their names to the disk.

    The name of an existing folder is flushed, too. The process that created it may have been killed
    before that.
    """
    if not files.exists(folder.parent):
        make_durably(folder.parent)
    with suppress(FileExistsError):
        files.make_folder(folder)
    with suppress(PermissionError):  # the parent may be unreadable
        files.sync(folder.parent)


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with its content. Links are removed, not followed."""
    if files.is_link(path) or not files.is_folder(path):
        files.remove(path)
        return
    for name in files.names(path):
        remove_tree(path / name)
    files.remove_folder(path)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError in a block, which writes to `path` or a file in it, into a DiskError."""
    try:
        yield
    except OSError as error:
        raise disk_error(path, "cannot be written", error) from error


def disk_error(path: Path, problem: str, error: OSError) -> DiskError:
    """Return the error for a problem of a file or folder, with its reason and a remedy.

    Args:
        path: the file or folder.
        problem: what is wrong, such as "cannot be written".
        error: the reason.
    """
    remedy = (
        "Free some space and repeat the command; training continues with --resume"
        if error.errno in (errno.ENOSPC, errno.EDQUOT)
        else "Check the folder and its permissions"
    )
    return DiskError(f"{path}: {problem}: {os_reason(error)}. {remedy}")


def check_writable(folder: Path) -> None:
    """Check that files can be created in a folder, which need not exist. No file stays in it.

    Raises:
        DiskError: if they cannot.
    """
    with disk_errors(folder):
        existing = folder.absolute()
        while not os.path.exists(existing):
            existing = existing.parent
        with tempfile.TemporaryFile(dir=existing):
            pass
