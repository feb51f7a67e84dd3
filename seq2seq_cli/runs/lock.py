"""A lock that lets only one process at a time write to the folder of a run or a recipe."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path

from seq2seq_cli.errors import DiskError, LockedError, os_reason
from seq2seq_cli.runs.disk import disk_errors

LOCK = "lock"
_TRIES, _PAUSE = 10, 0.02  # tries to name the process with the lock; seconds between tries


@contextmanager
def locked(
    folder: Path,
    work: str = "is training here",
    instead: str = "train in another folder with --run",
) -> Iterator[None]:
    """Prevent other processes from working in a folder during a block.

    The operating system releases the lock when the process ends, also after a crash. So there are
    no stale locks.

    Args:
        folder: an existing folder.
        work: what the process with the lock does, for the error message.
        instead: what a user can do instead of waiting, for the error message.

    Raises:
        LockedError: at once, if another process has the lock. The error names the process.
        DiskError: if the folder cannot be locked.
    """
    with _opened(folder, work, instead) as file:
        with disk_errors(folder):
            file.truncate(0)
            file.write(json.dumps(_this_process()).encode())
        try:
            yield
        finally:
            with suppress(OSError):  # the next process must not be mistaken for this one
                file.truncate(0)


def is_locked(folder: Path) -> bool:
    """Return whether another process is working in a folder."""
    try:
        with (folder / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _opened(folder: Path, work: str, instead: str) -> FileIO:
    """Return the lock file. It is locked until it is closed."""
    for remaining in reversed(range(_TRIES)):
        with disk_errors(folder):
            file = (folder / LOCK).open("ab+", buffering=0)  # nothing is left to write at the end
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(file, folder):
                return file
            file.close()  # another process has removed the folder, and may have created a new one
        except BlockingIOError as error:
            with file:
                holder, is_sure = _holder(file, work)
            if is_sure or not remaining:
                raise LockedError(
                    f"{folder}: {holder}. Wait for it, stop it, or {instead}"
                ) from error
            time.sleep(_PAUSE)
        except OSError as error:
            file.close()
            raise DiskError(
                f"{folder}: cannot be locked: {os_reason(error)}. Use a folder on another file "
                "system"
            ) from error
    raise LockedError(f"{folder}: another process is removing it. Wait for it, or {instead}")


def _is_there(file: FileIO, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(folder / LOCK))
    except FileNotFoundError:
        return False


def _this_process() -> dict[str, str | int]:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since}


def _holder(file: FileIO, work: str) -> tuple[str, bool]:
    """Return a description of the process that has locked a file, and whether it is certain.

    It is not certain while that process ends, or before it has written its number.

    Args:
        file: the lock file.
        work: what the process does.
    """
    file.seek(0)
    try:
        holder = json.loads(file.read())
        pid, host, since = holder["pid"], holder["host"], holder["since"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return f"another process {work}", False
    text = f"process {pid} {work}, on {host} since {since}"
    return text, host != socket.gethostname() or _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, TypeError):
        return False
    except PermissionError:
        pass
    return True
