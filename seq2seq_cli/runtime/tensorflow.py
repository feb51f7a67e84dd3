"""Imports TensorFlow without its log lines."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from seq2seq_cli.flags import set_flag
from seq2seq_cli.runtime.xla_cache import cache_problem, xla_cache_folder
from seq2seq_cli.work import Warn


def import_tensorflow(warn: Warn | None = lambda text: None) -> None:
    """Import TensorFlow and tensorflow-text without the log lines of their C++ code.

    If an import fails, the log lines are shown.

    Args:
        warn: called with a warning if XLA cannot cache compiled code for the next process; None if
            this process compiles nothing with XLA.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["KERAS_BACKEND"] = "tensorflow"  # the models need it, whatever the user's default is
    if warn is not None:
        _keep_compiled(warn)
    with _silent_stderr():
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  (registers the tokenizer's operations)

        tf.config.list_physical_devices()  # the search for a GPU also prints


def _keep_compiled(warn: Warn) -> None:
    cache = xla_cache_folder()
    # With a cache folder that is not writable, XLA would not compile at all.
    if reason := cache_problem(cache):
        warn(
            f"{cache}: {reason}. XLA therefore compiles again at each start. To cache the code, "
            "set XDG_CACHE_HOME to a writable folder"
        )
    else:
        quote = "'" if " " in str(cache) else ""  # TensorFlow ends a value at a space
        set_flag("TF_XLA_FLAGS", f"--tf_xla_persistent_cache_directory={quote}{cache}{quote}")


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Hold back the output to file descriptor 2, and show it only if the block fails.

    An interruption by the user does not count as a failure.
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
