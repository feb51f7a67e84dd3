"""Leaving in good order when a signal asks for it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Caught:
    """The number of the signal that came, or 0."""

    number = 0


@contextmanager
def stop_requested(report: Callable[[str], None]) -> Iterator[Caught]:
    """Note SIGINT and SIGTERM, for the loop to end at its next step; a second one ends at once.

    `report` is told of the first. Outside the main thread, which alone receives signals, this does
    nothing.
    """
    caught = Caught()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def note(number: int, frame: FrameType | None) -> None:
        caught.number = number
        for each, handler in before.items():
            signal.signal(each, handler)
        report("Saving a checkpoint before leaving; once more leaves at once")

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, note)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
