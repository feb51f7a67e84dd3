"""Ends training in good order when a signal comes."""

import shlex
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from seq2seq_cli.errors import RunInterruptedError
from seq2seq_cli.work import Warn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Whether a signal has come.

    Attributes:
        signal_number: of the signal, or 0.
    """

    signal_number = 0


@contextmanager
def stop_requested(warn: Warn) -> Iterator[StopRequest]:
    """Record SIGINT, SIGTERM and SIGHUP, so that the loop can end after its update.

    A second signal ends the process at once, without cleaning up. Only the main thread receives
    signals; in any other thread this does nothing.

    Args:
        warn: receives a sentence when the first signal comes.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def note(number: int, frame: FrameType | None) -> None:
        request.signal_number = number
        _end_at_once(before)
        with suppress(RuntimeError):  # the signal came while the same stream was written
            warn("Saving a checkpoint before ending; a second signal ends at once")

    before = _handlers()
    for number in before:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interruption_errors() -> Iterator[None]:
    """Turn the first signal in the block into an error, unless `stop_requested` records it.

    A second signal ends the process at once. Outside the main thread this does nothing.

    Raises:
        RunInterruptedError: if SIGINT, SIGTERM or SIGHUP came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        _end_at_once(before)
        raise _Stop(number)

    before = _handlers()
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    except _Stop as stopped:
        name = signal.Signals(stopped.number).name
        text = f"Stopped by {name} between updates; earlier checkpoints are kept"
        raise RunInterruptedError(text, stopped.number) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Stop(KeyboardInterrupt):
    """Ends the current operation. It is not an Exception, which other code might catch."""

    def __init__(self, number: int):
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number
        self.exit_code = 128 + number  # which other workers get


def _handlers() -> dict[int, Any]:
    """Return the handlers of the signals that end training; under nohup, SIGHUP is ignored."""
    found: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    if found[signal.SIGHUP] is signal.SIG_IGN:
        del found[signal.SIGHUP]
    return found


def _end_at_once(numbers: Iterable[int]) -> None:
    """Restore the system's handler, which ends the process."""
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)


def interrupted(signal_number: int, updates: int, run: Path) -> RunInterruptedError:
    """Return the error that ends training after its state has been saved.

    Args:
        signal_number: the signal that came.
        updates: the number that were made.
        run: the run's folder.
    """
    return RunInterruptedError(
        f"Stopped by {signal.Signals(signal_number).name} at step {updates}, which is saved. "
        f"Continue with: s2s train --resume --run {shlex.quote(str(run))}",
        signal_number,
    )
