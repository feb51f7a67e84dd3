"""Ending a training in good order when a signal comes."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from seq2seq_cli.errors import RunInterruptedError


class StopRequest:
    """Whether a signal has come.

    Attributes:
        signal_number: of the signal, or 0.
    """

    signal_number = 0


@contextmanager
def stop_requested(warn: Callable[[str], None]) -> Iterator[StopRequest]:
    """Note SIGINT and SIGTERM, so that the loop can end after its update.

    A second signal ends the process at once. Only the main thread receives signals; in any other
    thread this does nothing.

    Args:
        warn: receives a sentence when the first signal comes.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def note(number: int, frame: FrameType | None) -> None:
        request.signal_number = number
        for each, handler in before.items():
            signal.signal(each, handler)
        warn("Saving a checkpoint before ending; a second signal ends at once")

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupted(signal_number: int, updates: int, run: Path) -> RunInterruptedError:
    """Return the error that ends a training after its state has been saved.

    Args:
        signal_number: the signal that came.
        updates: how many were made.
        run: the run's folder.
    """
    return RunInterruptedError(
        f"Stopped by {signal.Signals(signal_number).name} at step {updates}, which is saved. "
        f"Continue with: s2s train --resume --run {run}",
        signal_number,
    )
