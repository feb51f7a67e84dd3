"""The device that computes, and the reasons why another one cannot."""

import ctypes
import importlib.metadata
import importlib.util
import os
import re
from contextlib import suppress
from typing import Any

from seq2seq_cli.config.training import DEVICE_PATTERN
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runtime.machine import cores, processor_name

LAUNCH_INDEX = "S2S_LAUNCH_INDEX"
"""The environment variable with the number of a process that `s2s launch` has started.

If a GPU is chosen automatically, each of these processes takes another one.
"""

_MIRRORED = 2  # minimum number of devices


def check_name(name: str) -> None:
    """Check the name of a device, before TensorFlow is imported.

    Raises:
        UsageError: if there is no such name.
    """
    if not re.fullmatch(DEVICE_PATTERN, name):
        raise UsageError(f"--device {name}: must be auto, cpu, gpu or gpu:N, such as gpu:0")


def use_device(name: str) -> str:
    """Run all computation on the device `name`, and return its description.

    Call this before the first operation.

    Args:
        name: `auto` (a GPU if there is one), `cpu`, `gpu` or `gpu:N`.

    Raises:
        UsageError: if that device cannot be used, with the reason and what to do.
    """
    check_name(name)
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    kind, _, number = name.partition(":")
    if kind == "cpu" or (kind == "auto" and not gpus):
        if gpus:
            _show_only([], name)
        return f"CPU ({processor_name()}, {cores()} cores)"
    if not gpus:
        raise UsageError(f"--device {name}: {why_no_gpu()}. Or use --device cpu")
    index = int(number) if number else int(os.environ.get(LAUNCH_INDEX, "0")) % len(gpus)
    if index >= len(gpus):
        raise UsageError(
            f"--device {name}: there {'are' if len(gpus) > 1 else 'is'} {len(gpus)} "
            f"GPU{'s' * (len(gpus) > 1)}. The last is gpu:{len(gpus) - 1}"
        )
    gpu = gpus[index]
    _show_only([gpu], name)
    details = tf.config.experimental.get_device_details(gpu)
    return f"GPU {index} ({details.get('device_name', 'unknown model')})"


def use_all_gpus(name: str) -> str:
    """Compute on all GPUs of this machine, and return their description.

    Call it before the first operation.

    Args:
        name: as for `use_device`.

    Raises:
        UsageError: if `name` is one device, or there are fewer than two GPUs.
    """
    import tensorflow as tf

    if name not in ("auto", "gpu"):
        raise UsageError(
            f"--device {name} is one device, and --strategy mirrored uses all GPUs. Leave out one "
            "of them"
        )
    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) < _MIRRORED:
        raise _too_few("GPU", len(gpus), "" if gpus else f"; {why_no_gpu()}")
    _show_only(gpus, "auto")
    return f"{len(gpus)} GPUs"


def mirrored_devices() -> list[str]:
    """Return the names of the devices that share a batch: all GPUs, or all logical CPUs.

    Raises:
        UsageError: if there are fewer than two.
    """
    import tensorflow as tf

    kind = "GPU" if tf.config.get_visible_devices("GPU") else "CPU"
    found = [device.name for device in tf.config.list_logical_devices(kind)]
    if len(found) < _MIRRORED:
        raise _too_few(kind, len(found))
    return found


def _too_few(kind: str, found: int, why: str = "") -> UsageError:
    return UsageError(
        f"--strategy mirrored shares a batch between several {kind}s, but TensorFlow sees {found}"
        f"{why}. Use --strategy one"
    )


def _show_only(gpus: list[Any], name: str) -> None:
    """Let TensorFlow see only these GPUs, and allocate their memory as needed.

    Raises:
        UsageError: if this process has already computed with others.
    """
    import tensorflow as tf

    try:
        tf.config.set_visible_devices(gpus, "GPU")
    except RuntimeError as error:
        raise UsageError(f"--device {name}: chosen too late in this process: {error}") from error
    for gpu in gpus:
        with suppress(RuntimeError, ValueError):  # it is in use already, or divided by the user
            tf.config.experimental.set_memory_growth(gpu, True)


def why_no_gpu() -> str:
    """Return the likely reason why TensorFlow sees no GPU, and the remedy."""
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not build.get("is_cuda_build"):
        return "this build of TensorFlow has no GPU support. On Linux, run pip install 's2s[gpu]'"
    if not _loads("libcuda.so.1"):
        return (
            "no NVIDIA driver is installed (libcuda.so.1 does not load). If this machine has an "
            "NVIDIA GPU, install its driver; `nvidia-smi` must list the GPU"
        )
    if hidden is not None and hidden.strip() in ("", "-1"):
        return f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU. Unset it"
    libraries = ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9")
    missing = [name for name in libraries if not _loads(name)]
    if missing and importlib.util.find_spec("nvidia") is None:
        return (
            f"TensorFlow was built for CUDA {build.get('cuda_version')} and cuDNN "
            f"{build.get('cudnn_version')}, but {', '.join(missing)} do not load. Install them: "
            "pip install 's2s[gpu]'"
        )
    return "TensorFlow sees no GPU. Check that `nvidia-smi` lists one, and that it is free"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
