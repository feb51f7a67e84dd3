"""This machine: its cores, its processor and its memory, on Linux and on macOS.

Features that only Linux has are used here and in `memory`, each with its replacement elsewhere.
"""

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")  # of Linux
SYSCTL = "/usr/sbin/sysctl"  # of macOS


OWN_GROUPS = Path("/proc/self/cgroup")  # of Linux
GROUPS = Path("/sys/fs/cgroup")
NVIDIA = Path("/proc/driver/nvidia/gpus")


def cores() -> int:
    """Return the number of cores that this process may use; limits of time are rounded up."""
    found = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    for folder in control_groups("cpu"):
        with suppress(OSError, ValueError):  # without a limit, "max"
            quota, period = map(int, (folder / "cpu.max").read_text().split())
            found = min(found, max(1, -(-quota // period)))
        with suppress(OSError, ValueError):  # without a limit, -1
            quota, period = (
                int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period")
            )
            found = min(found, max(1, -(-quota // period))) if quota > 0 else found
    return found


def control_groups(controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups that can limit this process, the innermost first.

    A container sees its own group as the root, so the path of a group may not exist there.

    Args:
        controller: what is limited, as version 1 names it: "memory" or "cpu".
    """
    with suppress(OSError):
        for line in OWN_GROUPS.read_text().split("\n"):
            number, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if number == "0" or controller in controllers.split(","):
                root = GROUPS if number == "0" else GROUPS / controller
                parts = [part for part in path.split("/") if part not in ("", "..")]
                for length in range(len(parts), -1, -1):
                    yield root.joinpath(*parts[:length])


def share_of_cores(index: int, shares: int) -> set[int]:
    """Return the cores for one of several processes; none if this is not Linux.

    If there are more processes than cores, each gets one core, which it shares with others.
    """
    if not hasattr(os, "sched_getaffinity"):
        return set()
    found = sorted(os.sched_getaffinity(0))
    if shares > len(found):
        return {found[index % len(found)]}
    return set(found[index * len(found) // shares : (index + 1) * len(found) // shares])


def run_on(process: int, cores: set[int]) -> None:
    """Pin a process that has not started any threads to these cores, if the system allows it."""
    with suppress(OSError, AttributeError):
        os.sched_setaffinity(process, cores)


def processor_name() -> str:
    """Return the processor's name, or its architecture if it has no name."""
    for line in _first_core():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return _sysctl("machdep.cpu.brand_string") or platform.machine()


def processor_features() -> list[str]:
    """Return the processor's name and instructions, on which compiled code depends."""
    lines = [line for line in _first_core() if line.startswith(("model name", "flags"))]
    return lines or [platform.platform(), processor_name()]


def graphics_processors() -> list[str]:
    """Return the models of the NVIDIA GPUs, in the order of their addresses; on Linux only."""
    found = []
    for path in sorted(NVIDIA.glob("*/information")):
        with suppress(OSError):
            lines = path.read_text(encoding="utf-8").split("\n")
            found += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return found


def physical_memory() -> int | None:
    """Return the machine's memory in bytes, or None if it is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        size = _sysctl("hw.memsize")
        return int(size) if size.isdecimal() else None


def _first_core() -> list[str]:
    """Return the lines of /proc/cpuinfo about the first core; none without that file."""
    try:
        return CPU_INFO.read_text(encoding="utf-8").split("\n\n")[0].split("\n")
    except OSError:
        return []


def _sysctl(name: str) -> str:
    """Return a value from macOS's kernel, or an empty text."""
    try:
        done = subprocess.run([SYSCTL, "-n", name], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
