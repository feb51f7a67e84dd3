"""The connections of a worker to others, and the detection of lost workers."""

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType

from seq2seq_cli.errors import WorkerError
from seq2seq_cli.runtime.channel import SILENCE, Channel, Message

BEAT = 1.0
"""Seconds between two heartbeats."""
LEAVING = 20.0
"""Seconds in which a worker must react to a lost one. After that its process is ended."""
_FIRST_OF_THE_SIGNALS = 128  # larger exit codes are those of signals


class Peers:
    """The connections of a worker: the chief's to all others, or another worker's to the chief.

    As a context manager it tells the other workers how the block ended.

    Args:
        channels: the connections; they are closed at the end.

    Attributes:
        signal_of_this: returns the signal that this worker has received, or 0. It is sent to the
            others.
        signal_number: the first signal that another worker has received, or 0.
        signalled: the name of that worker.
    """

    def __init__(self, channels: Sequence[Channel]):
        self.channels = list(channels)
        self.signal_of_this: Callable[[], int] = lambda: 0
        self.signal_number, self.signalled = 0, ""
        self._received: dict[Channel, queue.Queue[Message | None]] = {
            channel: queue.Queue() for channel in channels
        }
        self._loss, self._code = "", WorkerError("").exit_code
        self._lost, self._noticed, self._closed = (threading.Event() for _ in range(3))
        self._losing = threading.Lock()
        self._done: set[Channel] = set()
        self._threads = [threading.Thread(target=self._beat, daemon=True)]
        for channel in channels:
            self._threads.append(threading.Thread(target=self._read, args=[channel], daemon=True))

    def __enter__(self) -> "Peers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.end("", 0)
        else:
            is_for_users = hasattr(error, "exit_code")
            text = str(error) if is_for_users else f"{type(error).__name__}: {error}"
            self.end(text, getattr(error, "exit_code", 1))

    def tell(self, **message: object) -> None:
        """Send a message to all workers that have not finished.

        Raises:
            WorkerError: if a worker is lost.
        """
        for channel in self.channels:
            if channel in self._done:
                continue
            try:
                channel.send(**message)
            except OSError as error:
                self._lose(channel, f"{channel.peer} has ended ({error})")
                self.check()
                raise WorkerError(self._loss, self._code) from error

    def receive(self) -> list[Message]:
        """Wait for the next message of each worker, and return the messages.

        Raises:
            WorkerError: if a worker is lost.
        """
        found = []
        for channel in self.channels:
            message = self._received[channel].get()
            if message is None:
                self._noticed.set()
                raise WorkerError(self._loss, self._code)
            found.append(message)
        return found

    def check(self) -> None:
        """Raise an error if a worker is lost. It is raised only once.

        Raises:
            WorkerError: if a worker is lost; it names the worker.
        """
        if self._lost.is_set() and not self._noticed.is_set():
            self._noticed.set()
            raise WorkerError(self._loss, self._code)

    def loss_after(self, what: str) -> WorkerError:
        """Return an error that names the lost worker, after an exchange has failed.

        It waits until it is known which worker is lost.

        Args:
            what: a description of the failure, which is used if no worker is lost.
        """
        known = self._lost.wait(SILENCE + 5 * BEAT)
        self._noticed.set()
        return WorkerError(self._loss, self._code) if known else WorkerError(what)

    def end(self, text: str, code: int) -> None:
        """Tell the others that this worker ends, and close the connections.

        Args:
            text: the reason; empty at the end of the training.
            code: the exit code.
        """
        self._noticed.set()
        self._closed.set()
        for channel in self.channels:
            with suppress(OSError):
                channel.send(end=text, code=code)
                channel.finish()
        # Closing a connection with unread data would discard the last messages to the other end.
        until = time.monotonic() + 5 * BEAT
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        for channel in self.channels:
            channel.close()

    def _beat(self) -> None:
        """Send a heartbeat every second, and immediately after a signal."""
        told, last = 0, time.monotonic()
        while not self._closed.wait(BEAT / 10):
            signal_number, now = self.signal_of_this(), time.monotonic()
            if signal_number == told and now - last < BEAT:
                continue
            told, last = signal_number, now
            for channel in self.channels:
                with suppress(OSError):  # the reading thread reports the reason
                    channel.beat(signal_number)

    def _read(self, channel: Channel) -> None:
        """Receive messages until the connection ends."""
        while True:
            try:
                message = channel.read(SILENCE)
            except (OSError, ValueError) as error:
                self._lose(channel, f"{channel.peer} has ended without a message ({error})")
                return
            if message is None:
                self._lose(
                    channel,
                    f"{channel.peer} has not answered for {SILENCE:.0f} s: it hangs, or the "
                    "network is down",
                )
                return
            if "end" in message:
                if message["code"]:
                    self._lose(channel, f"{channel.peer} has ended: {message['end']}", message)
                else:
                    self._done.add(channel)
                    self._received[channel].put(message)
                return
            if "beat" not in message:
                self._received[channel].put(message)
            elif message["beat"] and not self.signal_number:
                self.signalled = channel.peer
                self.signal_number = message["beat"]

    def _lose(self, channel: Channel, text: str, end: Message | None = None) -> None:
        """Record a lost worker, tell the others, and make sure that this process ends."""
        if self._closed.is_set():
            return
        with self._losing:
            first = not self._lost.is_set()
            if first:
                self._loss = text
                self._code = end["code"] if end else self._code
                if self._code >= _FIRST_OF_THE_SIGNALS and end:
                    self._loss = end["end"]
                self._lost.set()
        if first:
            for other in self.channels:
                if other is not channel:
                    with suppress(OSError):
                        other.send(end=text, code=self._code)
        for received in self._received.values():
            received.put(None)
        if first:
            threading.Thread(target=self._leave, daemon=True).start()

    def _leave(self) -> None:
        """End the process if it does not react, such as while it waits inside TensorFlow."""
        if not self._noticed.wait(LEAVING) and not self._closed.is_set():
            print(f"error: {self._loss}", file=sys.stderr, flush=True)
            os._exit(self._code)
