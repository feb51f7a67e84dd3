"""The file operations of checkpoints and of the other files of a run.

All code in `runs/` that must survive a fault uses only these functions, called as
`files.rename(...)`. The tests replace them by a simulated disk, which can fail in any of them.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

Data = bytes | memoryview
_BLOCK = 1 << 20  # bytes


def make_folder(path: Path) -> None:
    """Create a folder. Its parent must exist.

    Raises:
        FileExistsError: if the name is in use.
    """
    path.mkdir()


def write(path: Path, parts: Iterable[Data]) -> None:
    """Write a file, and replace an existing one. It is on the disk only after `sync`."""
    with path.open("wb") as file:
        for part in parts:
            file.write(part)


def append(path: Path, data: bytes) -> None:
    """Write at the end of a file. A missing file is created."""
    with path.open("ab") as file:
        file.write(data)


def truncate(path: Path, size: int) -> None:
    """Keep the first `size` bytes of a file."""
    os.truncate(path, size)


def reserve(path: Path, size: int) -> None:
    """Create a file with `size` reserved bytes on the disk."""
    with path.open("wb") as file:
        file.write(b"\0")
        file.flush()
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
            return
        for written in range(1, size, _BLOCK):  # macOS lacks posix_fallocate
            file.write(bytes(min(_BLOCK, size - written)))


def sync(path: Path) -> None:
    """Flush the content of a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(old: Path, new: Path) -> None:
    """Rename a file or a folder. A file with the new name is replaced."""
    os.replace(old, new)


def remove(path: Path) -> None:
    """Remove a file or a link."""
    path.unlink()


def remove_folder(path: Path) -> None:
    """Remove an empty folder."""
    path.rmdir()


def exists(path: Path) -> bool:
    """Return whether a file, a folder or a link has this path."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, or a link to one."""
    return os.path.isdir(path)


def is_link(path: Path) -> bool:
    """Return whether a path is a symbolic link."""
    return os.path.islink(path)


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; an empty list if the folder does not exist."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def size(path: Path) -> int:
    """Return the size of a regular file in bytes.

    Raises:
        OSError: if it is not a regular file. A device or a pipe may have no end.
    """
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file")
    return found.st_size


def free(folder: Path) -> int:
    """Return the number of free bytes on the disk of a folder."""
    return shutil.disk_usage(folder).free


def read(path: Path) -> bytes:
    """Return the content of a file."""
    return path.read_bytes()


def blocks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file in blocks of 1 MiB."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
