"""What memory this process takes."""

import resource
from pathlib import Path


def resident_memory() -> int:
    """Return this process' resident memory, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def peak_memory() -> int:
    """Return the most resident memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
