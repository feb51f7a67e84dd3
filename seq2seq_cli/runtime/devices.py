"""Where computation runs: importing TensorFlow without its log lines, the device, its threads."""

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import platformdirs

from seq2seq_cli.config import MOST_SHARDS, TrainingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.flags import set_flag

_SHARD_TOKENS, _SHARD_PAIRS = 512, 32  # that a shard of a training's batch has at least
_CACHE_ROOM = 100_000_000  # bytes; a training's first start may add about half of them
CHEAP_SHAPE = 2000  # see cost_of_a_shape
Item = TypeVar("Item")
Result = TypeVar("Result")


def import_tensorflow(warn: Callable[[str], None] = lambda text: None) -> None:
    """Import TensorFlow and tensorflow-text, keeping what their C++ parts print to themselves.

    If an import fails, what was printed is shown.

    Args:
        warn: told if XLA cannot keep what it compiles for the next start.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cache = _xla_cache()
    # With a folder that cannot be written, XLA compiles nothing at all.
    if reason := _why_no_cache(cache):
        warn(
            f"{cache}: {reason}. XLA compiles anew at each start. To keep what it compiles, set "
            "XDG_CACHE_HOME to a folder that can be written"
        )
    else:
        set_flag("TF_XLA_FLAGS", f"--tf_xla_persistent_cache_directory={cache}")
    with _silent_stderr():
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  (registers the tokenizer's operations)

        tf.config.list_physical_devices()  # the search for a GPU prints too


def use_device(name: str) -> str:
    """Have all computation run on the device called `name`, and describe it.

    To be called before the first operation.

    Args:
        name: `auto` (a GPU if there is one), `cpu`, `gpu` or `gpu:N`.

    Raises:
        UsageError: if that device cannot be used, with the reason and what to do.
    """
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    kind, _, number = name.partition(":")
    if kind == "cpu" or (kind == "auto" and not gpus):
        if gpus:
            tf.config.set_visible_devices([], "GPU")
        return f"CPU ({_cpu_name()}, {cores()} cores)"
    index = int(number or 0)
    if not gpus:
        raise UsageError(f"--device {name}: {_why_no_gpu()}. Or use --device cpu")
    if index >= len(gpus):
        raise UsageError(
            f"--device {name}: there are {len(gpus)} GPUs, gpu:0 to gpu:{len(gpus) - 1}"
        )
    gpu = gpus[index]
    try:
        tf.config.set_visible_devices([gpu], "GPU")
        tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError as error:
        raise UsageError(f"--device {name}: chosen too late in this process: {error}") from error
    details = tf.config.experimental.get_device_details(gpu)
    return f"GPU {index} ({details.get('device_name', 'unknown model')})"


def most_shards(config: TrainingConfig) -> int:
    """Return into how many parts, computed at once, a training's batch is split at most.

    On a CPU the many small operations of a plain graph gain little from several threads each;
    several parts with a thread each do. XLA computes one function at a time, and a GPU is full.
    """
    import tensorflow as tf

    if config.shards is not None:
        return config.shards
    if config.compile == "xla" or tf.config.get_visible_devices("GPU"):
        return 1
    if config.batch_pairs:
        most = config.batch_pairs // _SHARD_PAIRS
    else:
        most = config.batch_tokens // _SHARD_TOKENS
    return max(1, min(cores(), most, MOST_SHARDS))


def cost_of_a_shape(kind: str, config: TrainingConfig) -> int:
    """Return how much padding an epoch has to lose by one more shape of batches, in tokens.

    It is about what is trained on in the time that XLA compiles for a shape, divided among a few
    epochs. The kernels of attention models take a third of a second together, recurrent loops two.

    Args:
        kind: `model.kind`.
        config: says what is compiled.
    """
    import tensorflow as tf

    if config.compile == "xla" or tf.config.get_visible_devices("GPU"):
        return 32_000
    return 8000 if kind == "rnn" and config.compile == "auto" else CHEAP_SHAPE


def share_threads(parts: int) -> None:
    """Share the CPU's threads between so many parts of the work that are computed at once.

    To be called before the first operation; after it, all is computed as it was.
    """
    import tensorflow as tf

    with suppress(RuntimeError):  # the threads are there already
        tf.config.threading.set_intra_op_parallelism_threads(max(1, cores() // parts))


def parts_at_once() -> int:
    """Return how many batches that do not depend on each other to compute at once."""
    import tensorflow as tf

    return 1 if tf.config.get_visible_devices("GPU") else cores()


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield what a function gives for each item, in order; `parts_at_once` are computed at once.

    An error, or an end before the last item, leaves out what has not begun.
    """
    pool = ThreadPoolExecutor(parts_at_once())
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


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


def _why_no_gpu() -> str:
    """Find out, as far as can be told, what keeps TensorFlow from seeing a GPU."""
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not build.get("is_cuda_build"):
        return (
            "this build of TensorFlow has no GPU support. On Linux, install it by "
            "pip install 's2s[gpu]'"
        )
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
            f"{build.get('cudnn_version')}, and {', '.join(missing)} do not load. Install them by "
            "pip install 's2s[gpu]'"
        )
    return "TensorFlow sees no GPU. Does `nvidia-smi` list one, and is it free to use?"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _cpu_name() -> str:
    return _cpu_info("model name") or platform.machine()


def _cpu_info(key: str) -> str:
    """Return what Linux says of the first core; nothing elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith(key))
    except (OSError, StopIteration):
        return ""


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Hold back what is written to file descriptor 2, and show it only if the block fails.

    An interruption by the user is no failure.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), 2)
        try:
            yield
        except Exception:
            held_back.seek(0)
            os.write(saved, held_back.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)
