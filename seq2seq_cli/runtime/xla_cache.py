"""The folder where XLA keeps what it compiled."""

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs

_CACHE_ROOM = 100_000_000  # bytes; a training's first start may add about half of them


def _xla_cache() -> Path:
    """Return the folder where XLA keeps what it compiled.

    A training step that was compiled once is there at the next start of this TensorFlow on this
    processor with these flags.
    """
    try:
        processor = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
        described = [x for x in processor.split("\n") if x.startswith(("model name", "flags"))]
    except OSError:
        described = [platform.platform(), platform.processor()]
    described += [importlib.metadata.version("tensorflow"), os.environ.get("XLA_FLAGS", "")]
    key = hashlib.sha256("\n".join(described).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("s2s") / "xla" / key


def _why_no_cache(folder: Path) -> str:
    """Return why nothing can be kept in a folder, or an empty text; make it if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"cannot be written ({error.strerror})"
    return "" if free >= _CACHE_ROOM else f"has only {free / 1e6:.0f} MB of free space"


def limit_xla_cache() -> None:
    """Delete the oldest of what XLA compiled where there is much of it: half a gigabyte."""
    shrink(_xla_cache().parent, 500_000_000)


def shrink(folder: Path, most: int) -> None:
    """Delete the oldest files in a folder, those in its folders included, until `most` bytes stay.

    What cannot be deleted, and what others delete meanwhile, is left alone.
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
