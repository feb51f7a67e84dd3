"""The folder where XLA caches compiled code."""

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs

from seq2seq_cli.runtime.machine import graphics_processors, processor_features

_LEAST_FREE = 100_000_000  # bytes; the first start of a run may add about half of this


def xla_cache_folder() -> Path:
    """Return the folder where XLA caches compiled code.

    It depends on the processor, the GPUs, the version of TensorFlow and XLA's flags. If these are
    the same, the next process finds the code that this one compiled.
    """
    described = [*processor_features(), *graphics_processors()]
    described += [importlib.metadata.version("tensorflow"), os.environ.get("XLA_FLAGS", "")]
    key = hashlib.sha256("\n".join(described).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("s2s") / "xla" / key


def cache_problem(folder: Path) -> str:
    """Return why a folder cannot be used as a cache, or an empty text. Create it if missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"cannot be written ({error.strerror})"
    return "" if free >= _LEAST_FREE else f"has only {free / 1e6:.0f} MB of free space"


def limit_xla_cache() -> None:
    """Delete the oldest cached files, so that at most half a gigabyte remains."""
    shrink(xla_cache_folder().parent, 500_000_000)


def shrink(folder: Path, most: int) -> None:
    """Delete the oldest files in a folder and its subfolders, until at most `most` bytes remain.

    Files that cannot be deleted, or that other processes delete meanwhile, are ignored.
    """
    files = []
    for path in folder.rglob("*"):
        with suppress(OSError):
            status = path.stat()
            if stat.S_ISREG(status.st_mode):
                files.append((status.st_mtime, status.st_size, path))
    excess = sum(size for _, size, _ in files) - most
    for _, size, path in sorted(files):
        if excess <= 0:
            break
        excess -= size
        with suppress(OSError):
            path.unlink()
