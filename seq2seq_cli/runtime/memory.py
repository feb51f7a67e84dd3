"""What memory this process takes, and how much it may take."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2seq_cli.errors import UsageError

_GROUP_LIMITS = (  # of control groups, version 2 and 1
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def resident_memory() -> int:
    """Return this process' resident memory, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def peak_memory() -> int:
    """Return the most resident memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def most_memory() -> int:
    """Return how much memory this process can have at most, in bytes.

    That is the machine's memory, or less where the process, or the container it is in, is limited.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += [x for x in resource.getrlimit(resource.RLIMIT_AS) if x != resource.RLIM_INFINITY]
    for path in _GROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such group, or no limit: "max"
            limits.append(int(path.read_text()))
    return min(limits)


@contextmanager
def memory_errors(message: str) -> Iterator[None]:
    """Raise a UsageError with `message` where the block runs out of memory."""
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
