"""The checks of `s2s doctor`: versions, processor, device, memory and disk."""

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seq2seq_cli.errors import S2SError, os_reason
from seq2seq_cli.runtime.devices import use_device, why_no_gpu
from seq2seq_cli.runtime.machine import cores, processor_features, processor_name
from seq2seq_cli.runtime.memory import available_memory, most_memory
from seq2seq_cli.runtime.tensorflow import import_tensorflow
from seq2seq_cli.runtime.xla_cache import cache_problem, xla_cache_folder

_PACKAGES = ("s2s", "tensorflow", "keras", "tensorflow-text", "sentencepiece", "safetensors")
_INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16")
_LEAST_MEMORY = 2e9  # bytes
_LEAST_DISK = 1e9
_PCI_DEVICES = Path("/sys/bus/pci/devices")  # of Linux
_NVIDIA = "0x10de"


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Attributes:
        name: of the check.
        value: the result.
        remedy: what to do; empty if there is no problem.
    """

    name: str
    value: str
    remedy: str = ""


def examine(folder: Path, device: str) -> Iterator[Finding]:
    """Yield the findings one by one. Computation then uses the device.

    Args:
        folder: the folder of the runs.
        device: the value of --device.
    """
    yield Finding("Python", f"{platform.python_version()}, {platform.platform()}")
    yield _versions()
    yield _processor()
    yield _device(device)
    yield _memory()
    yield _disk(folder)
    cache = xla_cache_folder()
    problem = cache_problem(cache)
    remedy = "Set XDG_CACHE_HOME to a writable folder" if problem else ""
    yield Finding("cache", f"{cache}{': ' * bool(problem)}{problem}", remedy)


def _versions() -> Finding:
    found, missing = [], []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    remedy = f"Install what is missing: pip install {' '.join(missing)}" if missing else ""
    return Finding("versions", ", ".join(found), remedy)


def _processor() -> Finding:
    flags = " ".join(processor_features()).split()
    found = [name for name in _INSTRUCTIONS if name in flags]
    known = f" with {', '.join(found)}" if found else ""
    is_slow = platform.machine() == "x86_64" and "avx2" not in found
    remedy = "Training is slow without AVX2. Use a machine that has it" if is_slow else ""
    return Finding("processor", f"{processor_name()}, {cores()} cores{known}", remedy)


def _device(device: str) -> Finding:
    try:
        import_tensorflow()
        used = use_device(device)
    except S2SError as error:
        return Finding("device", f"{device} cannot be used", str(error))
    except ImportError as error:
        remedy = "Install s2s again in a new environment: pip install ."
        return Finding("device", f"TensorFlow cannot be imported: {error}", remedy)
    if used.startswith("GPU") or device == "cpu":
        return Finding("device", used)
    reason = why_no_gpu()
    if _has_nvidia():
        return Finding("device", f"{used}, although there is an NVIDIA GPU", reason)
    return Finding("device", f"{used}; no GPU is used: {reason}")


def _has_nvidia() -> bool:
    """Return whether there is an NVIDIA graphics device; False if that is not known."""
    for folder in _PCI_DEVICES.glob("*"):
        with suppress(OSError):
            is_graphics = (folder / "class").read_text().startswith("0x03")
            if is_graphics and (folder / "vendor").read_text().strip() == _NVIDIA:
                return True
    return False


def _memory() -> Finding:
    most = most_memory()
    free = min(most, available_memory() or most)
    remedy = ""
    if free < _LEAST_MEMORY:
        remedy = "End other programs, or train with a lower training.batch_tokens"
    return Finding("memory", f"{free / 1e9:.1f} of {most / 1e9:.1f} GB are free", remedy)


def _disk(folder: Path) -> Finding:
    existing = folder.absolute()
    while not os.path.exists(existing):
        existing = existing.parent
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return Finding("disk", f"{existing}: {os_reason(error)}", "Change to another folder")
    value = f"{free / 1e9:.1f} GB are free for {folder.absolute()}"
    if not os.access(existing, os.W_OK):
        return Finding("disk", f"{existing} cannot be written", "Change to another folder")
    return Finding("disk", value, "Free some space" if free < _LEAST_DISK else "")
