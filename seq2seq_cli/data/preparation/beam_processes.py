"""The worker processes that Beam's local runner starts, and how they end."""

import contextlib
import os
import shlex
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class BeamProcesses:
    """Ends the worker processes at signals, and notices when one ends by itself.

    Beam would wait for a worker until it has done its work, and forever for one that was killed.
    Signals are handled only if the main thread enters this context.

    Args:
        folder: for files with the processes' ids.

    Attributes:
        command: the shell command of a worker. Beam's own one would print log lines.
        lost: whether a worker has ended before its work was done.
    """

    def __init__(self, folder: Path):
        worker = "-m apache_beam.runners.worker.sdk_worker_main"
        self.command = (
            f"echo $$ > {shlex.quote(str(folder))}/$$.pid; "
            f"exec {shlex.quote(sys.executable)} {worker} 2> {os.devnull}"
        )
        self.lost = False
        self._folder = folder
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "BeamProcesses":
        self._hook, threading.excepthook = threading.excepthook, self._ended
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        threading.excepthook = self._hook

    def forget(self) -> None:
        """Forget the processes that have ended."""
        for path in self._folder.glob("*.pid"):
            path.unlink()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        for path in self._folder.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(int(path.stem), signal.SIGKILL)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    def _ended(self, failure: threading.ExceptHookArgs) -> None:
        """Interrupt the main thread if Beam's thread of a worker ends with an error.

        Beam's other threads fail as a consequence, and would print tracebacks.
        """
        worker = failure.thread is not None and failure.thread.name == "run_worker"
        if worker and not self.lost and signal.SIGTERM in self._before:
            self.lost = True
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
