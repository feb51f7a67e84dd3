"""Process memory: the amount that this process uses, and the amount that it may use."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2seq_cli.errors import OutOfMemoryError
from seq2seq_cli.runtime.machine import control_groups, physical_memory

_STATUS = Path("/proc/self/statm")  # of Linux
_MEMORY = Path("/proc/meminfo")  # of Linux
_GROUP_LIMITS = ("memory.max", "memory.limit_in_bytes")  # of control groups, versions 2 and 1


def resident_memory() -> int:
    """Return this process' resident memory, in bytes."""
    with suppress(OSError):
        return int(_STATUS.read_text().split()[1]) * resource.getpagesize()
    command = ["ps", "-o", "rss=", "-p", str(os.getpid())]
    with suppress(OSError, subprocess.CalledProcessError, ValueError):
        return int(subprocess.run(command, capture_output=True, check=True).stdout) * 1024
    return peak_memory()


def peak_memory() -> int:
    """Return the maximum of this process' resident memory so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux kibibytes


def most_memory() -> int:
    """Return the maximum memory that this process can have, in bytes.

    That is the machine's memory, or the limit of the process or of its container, if it is less.
    If none of them is known, it is the size of the address space.
    """
    limits = [physical_memory() or sys.maxsize]
    limits += [x for x in resource.getrlimit(resource.RLIMIT_AS) if x != resource.RLIM_INFINITY]
    for folder in control_groups("memory"):
        for name in _GROUP_LIMITS:
            with suppress(OSError, ValueError):  # there is no such file, or it says "max"
                limits.append(int((folder / name).read_text()))
    return min(limits)


def available_memory() -> int | None:
    """Return the memory that no process uses now, in bytes, or None if unknown."""
    with suppress(OSError, ValueError, IndexError):
        lines = _MEMORY.read_text().split("\n")
        (line,) = (line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    return None


@contextmanager
def memory_errors(message: str) -> Iterator[None]:
    """Raise an OutOfMemoryError with `message` if the block runs out of memory."""
    import tensorflow as tf

    try:
        yield
    except (MemoryError, tf.errors.ResourceExhaustedError) as error:
        raise OutOfMemoryError(message) from error
    except tf.errors.InternalError as error:
        # CUDA and XLA report some failed allocations as internal errors.
        if "out of memory" not in str(error).lower():
            raise
        raise OutOfMemoryError(message) from error
