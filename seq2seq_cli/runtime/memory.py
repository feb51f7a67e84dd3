"""Process memory: how much this process uses, and how much it may use."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2seq_cli.errors import UsageError

_GROUP_LIMITS = (  # of control groups, versions 2 and 1
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def resident_memory() -> int:
    """Return this process' resident memory, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def peak_memory() -> int:
    """Return the maximum of this process' resident memory so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def most_memory() -> int:
    """Return the maximum memory that this process can have, in bytes.

    That is the machine's memory, or the limit of the process or of its container, if it is less.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += [x for x in resource.getrlimit(resource.RLIMIT_AS) if x != resource.RLIM_INFINITY]
    for path in _GROUP_LIMITS:
        with suppress(OSError, ValueError):  # there is no such group, or its limit is "max"
            limits.append(int(path.read_text()))
    return min(limits)


@contextmanager
def memory_errors(message: str) -> Iterator[None]:
    """Raise a UsageError with `message` if the block runs out of memory."""
    import tensorflow as tf

    try:
        yield
    except (MemoryError, tf.errors.ResourceExhaustedError) as error:
        raise UsageError(message) from error
    except tf.errors.InternalError as error:
        # CUDA and XLA report some failed allocations as internal errors.
        if "out of memory" not in str(error).lower():
            raise
        raise UsageError(message) from error
