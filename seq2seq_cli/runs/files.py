"""The few operations on files that checkpoints and the records of a run are made of.

Everything in `runs/` that must survive a fault reads and writes by these functions alone, called as
`files.rename(...)`. So the tests can put a simulated disk in their place, which fails at any of
them.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

Data = bytes | memoryview
_BLOCK = 1 << 20  # bytes


def make_folder(path: Path) -> None:
    """Make a folder in one that exists.

    Raises:
        FileExistsError: if there is something of that name.
    """
    path.mkdir()


def write(path: Path, parts: Iterable[Data]) -> None:
    """Write a file anew. It is on the disk after `sync` only."""
    with path.open("wb") as file:
        for part in parts:
            file.write(part)


def append(path: Path, data: bytes) -> None:
    """Write at the end of a file, which is made if it is missing."""
    with path.open("ab") as file:
        file.write(data)


def truncate(path: Path, size: int) -> None:
    """Keep the first `size` bytes of a file."""
    os.truncate(path, size)


def reserve(path: Path, size: int) -> None:
    """Make a file for which the disk has set aside `size` bytes."""
    with path.open("wb") as file:
        file.write(b"\0")
        file.flush()
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
            return
        for written in range(1, size, _BLOCK):  # macOS has no such call
            file.write(bytes(min(_BLOCK, size - written)))


def sync(path: Path) -> None:
    """Have a file's content, or the names in a folder, on the disk before returning."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(old: Path, new: Path) -> None:
    """Rename a file or a folder. A file that has the new name is replaced."""
    os.replace(old, new)


def remove(path: Path) -> None:
    """Remove a file or a link."""
    path.unlink()


def remove_folder(path: Path) -> None:
    """Remove an empty folder."""
    path.rmdir()


def exists(path: Path) -> bool:
    """Return whether there is a file, a folder or a link of that name."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """Return whether it is a folder, or a link to one."""
    return os.path.isdir(path)


def is_link(path: Path) -> bool:
    """Return whether it is a symbolic link."""
    return os.path.islink(path)


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def size(path: Path) -> int:
    """Return the bytes of a regular file.

    Raises:
        OSError: if it is none, but a link, a device or a pipe, which may have no end.
    """
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file")
    return found.st_size


def free(folder: Path) -> int:
    """Return the bytes that can still be written on the disk of a folder."""
    return shutil.disk_usage(folder).free


def read(path: Path) -> bytes:
    """Return a file's content."""
    return path.read_bytes()


def blocks(path: Path) -> Iterator[bytes]:
    """Yield a file's content in blocks of 1 MB."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
