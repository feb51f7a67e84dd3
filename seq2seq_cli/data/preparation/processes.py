"""Worker processes that run functions in parallel and keep the results in order."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from seq2seq_cli.errors import WorkerError

_IGNORE_INTERRUPTS = (signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C


class Processes:
    """Runs functions in other processes, and keeps their results in order.

    Args:
        count: number of processes. At most twice as many calls wait or run at a time.
    """

    def __init__(self, count: int):
        self._capacity = 2 * count
        self._executor = ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), signal.signal, _IGNORE_INTERRUPTS
        )
        self._pending: deque[Future[Any]] = deque()
        self._results: list[Any] = []

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call; first wait until there are not too many unfinished calls.

        Raises:
            WorkerError: if a process was killed.
        """
        with _killed_processes():
            if len(self._pending) == self._capacity:
                self._results.append(self._pending.popleft().result())
            self._pending.append(self._executor.submit(function, *arguments))

    def results(self) -> list[Any]:
        """Wait for all calls, and return their results in the order of submission.

        Raises:
            WorkerError: if a process was killed.
        """
        with _killed_processes():
            done = [*self._results, *(future.result() for future in self._pending)]
        self._pending.clear()
        self._results = []
        return done


@contextmanager
def _killed_processes() -> Iterator[None]:
    """Turn the error for a killed process into a WorkerError."""
    try:
        yield
    except BrokenProcessPool:
        raise WorkerError("a worker process was killed, perhaps for lack of memory") from None
