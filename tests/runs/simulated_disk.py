"""A disk in memory that knows what was synced, and fails at any operation.

It stands in for the functions of seq2seq_cli/runs/files.py.
"""

import copy
import errno
import inspect
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from simulated_files import File, Folder, Node, crashed

from seq2seq_cli.runs import files

OPERATIONS = [
    name
    for name, function in vars(files).items()
    if inspect.isfunction(function) and function.__module__ == files.__name__
]


class Killed(BaseException):
    """The process is dead: nothing catches this, and no later operation happens."""


class Site(NamedTuple):
    """A line of the code that calls an operation."""

    operation: str
    file: str
    function: str
    line: int


class Fault:
    """Something that goes wrong at an operation.

    Args:
        at: the number of the operation, from 0.
        kind: an errno's name; `short` (a write writes half, then ENOSPC); `late` (it is done, then
            EIO); `lost` (a write writes half and says nothing); `kill`, or `half` (a write writes
            half, then kill).
        lasts: whether it fails from then on.
    """

    def __init__(self, at: int, kind: str, lasts: bool = False):
        self.at, self.kind, self.lasts = at, kind, lasts or kind in ("kill", "half")

    def __repr__(self) -> str:
        return f"{self.kind} at {self.at}{' and on' * self.lasts}"


NO_FAULT = Fault(-1, "EIO")


class SimulatedDisk:
    """What the functions of files.py do, in memory.

    Attributes:
        operations: how many there were since `begin`.
        log: what they were.
        sites: the lines of the code that called `sync` and `rename`.
        left_out: one of them that does nothing.
        unreadable: the name of a folder whose files cannot be read for now.
    """

    def __init__(self) -> None:
        self.root = Folder()
        self.left_out: Site | None = None
        self.unreadable = ""
        self.sites: set[Site] = set()
        self.begin(NO_FAULT)

    def begin(self, fault: Fault = NO_FAULT) -> None:
        """Count operations from now on, and let one of them fail."""
        self.fault, self.operations, self.log = fault, 0, []

    def copy(self) -> "SimulatedDisk":
        return copy.deepcopy(self)

    # The functions of files.py.

    def make_folder(self, path: Path) -> None:
        def make() -> None:
            parent, name = self._parent(path)
            if name in parent.entries:
                raise FileExistsError(errno.EEXIST, "File exists")
            parent.change(**{name: Folder()})

        self._change("make_folder", path, make)

    def write(self, path: Path, parts: Iterable[files.Data]) -> None:
        data = b"".join(bytes(part) for part in parts)

        def write(share: float = 1.0) -> None:
            parent, name = self._parent(path)
            if name in parent.entries:
                parent.entries[name].data = b""
            else:
                parent.change(**{name: File()})
            parent.entries[name].data = data[: int(share * len(data))]

        self._change("write", path, write)

    def append(self, path: Path, data: bytes) -> None:
        def append(share: float = 1.0) -> None:
            parent, name = self._parent(path)
            if name not in parent.entries:
                parent.change(**{name: File()})
            parent.entries[name].data += data[: int(share * len(data))]

        self._change("append", path, append)

    def truncate(self, path: Path, size: int) -> None:
        def truncate() -> None:
            file = self._file(path)
            file.data = file.data[:size]

        self._change("truncate", path, truncate)

    def reserve(self, path: Path, size: int) -> None:
        self.write(path, [bytes(size)])

    def sync(self, path: Path) -> None:
        def sync() -> None:
            node = self._node(path)
            if isinstance(node, File):
                node.synced = node.data
            else:
                node.synced, node.changes = dict(node.entries), []

        self._change("sync", path, sync)

    def rename(self, old: Path, new: Path) -> None:
        def rename() -> None:
            parent, name = self._parent(old)
            node = self._node(old)
            other, new_name = self._parent(new)
            there = parent.entries.get(new_name)
            if isinstance(there, Folder) and there.entries:
                raise OSError(errno.ENOTEMPTY, "Directory not empty")
            if other is parent:
                parent.change(**{name: None, new_name: node})
            else:  # to be careful: it may be there under both names, or under none
                other.change(**{new_name: node})
                parent.change(**{name: None})

        self._change("rename", old, rename)

    def remove(self, path: Path) -> None:
        def remove() -> None:
            parent, name = self._parent(path)
            assert isinstance(self._node(path), File)
            parent.change(**{name: None})

        self._change("remove", path, remove)

    def remove_folder(self, path: Path) -> None:
        def remove() -> None:
            parent, name = self._parent(path)
            if self._node(path).entries:
                raise OSError(errno.ENOTEMPTY, "Directory not empty")
            parent.change(**{name: None})

        self._change("remove_folder", path, remove)

    def exists(self, path: Path) -> bool:
        try:
            self._node(path)
        except FileNotFoundError:
            return False
        return True

    def is_folder(self, path: Path) -> bool:
        return self.exists(path) and isinstance(self._node(path), Folder)

    def names(self, folder: Path) -> list[str]:
        self._check("names", folder)
        return sorted(self._node(folder).entries) if self.is_folder(folder) else []

    def size(self, path: Path) -> int:
        return len(self._file(path).data)

    def read(self, path: Path) -> bytes:
        self._check("read", path)
        return self._file(path).data

    def blocks(self, path: Path) -> Iterator[bytes]:
        self._check("blocks", path)
        yield self._file(path).data

    is_link = staticmethod(lambda path: False)
    free = staticmethod(lambda folder: 1 << 40)

    # What happens to the disk.

    def crash(self, names: str, contents: str, seed: int = 0) -> None:
        """Lose power: of what was not synced, keep only a part.

        Args:
            names: which changes of names are kept: `none`, `all`, or `some`, each by chance.
            contents: what files that were not synced hold: what was `synced`, `zeros` in its
                place, `cut` off, `all` of it, or `mixed` by chance.
            seed: of chance.
        """
        self.root = crashed(self.root, names, contents, random.Random(seed), {})

    def flip(self, path: Path, position: int, mask: int) -> None:
        """Change bits of a file on the disk."""
        changed = bytearray(self._file(path).data)
        changed[position] ^= mask
        self.replace(path, bytes(changed))

    def replace(self, path: Path, data: bytes) -> None:
        """Change a file on the disk."""
        file = self._file(path)
        file.data = file.synced = data

    @contextmanager
    def installed(self) -> Iterator["SimulatedDisk"]:
        """Stand in for the functions of files.py."""
        with mock.patch.multiple(files, **{name: getattr(self, name) for name in OPERATIONS}):
            yield self

    # Inside.

    def _check(self, operation: str, path: Path) -> str | None:
        """Count an operation; fail, or return the kind of fault that the caller has to make."""
        number, fault = self.operations, self.fault
        self.operations += 1
        self.log.append(f"{operation} {path}")
        if operation in ("read", "blocks") and path.parent.name == self.unreadable:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not (number == fault.at or (fault.lasts and number >= fault.at >= 0)):
            return None
        if fault.kind == "kill" or (fault.kind == "half" and number > fault.at):
            raise Killed(f"{operation} {path}")
        if fault.kind.startswith("E"):
            raise OSError(getattr(errno, fault.kind), os.strerror(getattr(errno, fault.kind)))
        return fault.kind

    def _change(self, operation: str, path: Path, change: Callable[..., None]) -> None:
        kind = self._check(operation, path)
        if operation in ("sync", "rename"):
            caller = sys._getframe(2)
            code = caller.f_code
            site = Site(operation, Path(code.co_filename).name, code.co_name, caller.f_lineno)
            self.sites.add(site)
            if site == self.left_out:
                return
        is_write = operation in ("write", "append")
        if kind in ("short", "half", "lost") and is_write:
            change(0.5)
            if kind == "short":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if kind == "half":
                raise Killed(f"{operation} {path}")
            return
        if kind == "half":
            raise Killed(f"{operation} {path}")
        change()
        if kind == "late":
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _node(self, path: Path) -> Node:
        node: Node = self.root
        for part in path.parts:
            if not isinstance(node, Folder) or part not in node.entries:
                raise FileNotFoundError(errno.ENOENT, f"No such file or directory: {path}")
            node = node.entries[part]
        return node

    def _parent(self, path: Path) -> tuple[Folder, str]:
        parent = self._node(path.parent)
        assert isinstance(parent, Folder)
        return parent, path.name

    def _file(self, path: Path) -> File:
        node = self._node(path)
        if not isinstance(node, File):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        return node
