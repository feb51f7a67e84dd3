"""A connection between two workers, over which they send messages in JSON."""

import json
import select
import socket
import threading
import time
from contextlib import suppress
from typing import Any

SILENCE = 30.0
"""Seconds without a message after which a worker counts as lost. Heartbeats come every second."""

Message = dict[str, Any]


class Channel:
    """A connection between two workers.

    Args:
        connection: a TCP connection; the channel closes it.
        peer: the name of the worker at the other end, for messages.
    """

    def __init__(self, connection: socket.socket, peer: str = ""):
        connection.settimeout(SILENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = peer
        self._connection = connection
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._sending = threading.Lock()
        self._received = b""

    def send(self, **message: Any) -> None:
        """Send a message.

        Raises:
            OSError: if the connection is broken, or the other end reads nothing for `SILENCE`.
        """
        line = json.dumps(message).encode() + b"\n"
        with self._sending:
            self._connection.sendall(line)

    def beat(self, signal_number: int) -> None:
        """Send a heartbeat, unless a message is being sent.

        Args:
            signal_number: the signal that this worker has received, or 0.

        Raises:
            OSError: if the connection is broken.
        """
        if self._sending.acquire(blocking=False):
            try:
                self._connection.sendall(json.dumps({"beat": signal_number}).encode() + b"\n")
            finally:
                self._sending.release()

    def read(self, seconds: float) -> Message | None:
        """Return the next message, or None if none arrives in time.

        Raises:
            OSError: if the connection is broken or closed.
            ValueError: if the received bytes are not a message.
        """
        until = time.monotonic() + seconds
        while b"\n" not in self._received:
            left = max(0.0, until - time.monotonic())
            if not self._poll.poll(1000 * left):
                return None
            received = self._connection.recv(1 << 16)
            if not received:
                raise ConnectionResetError("the connection is closed")
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError(f"{message!r} is not a message")
        return message

    def is_open(self) -> bool:
        """Return whether the connection is still open, without reading from it."""
        try:
            return not self._poll.poll(0) or bool(self._connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def finish(self) -> None:
        """Close the sending side of the connection."""
        self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection. A `read` in another thread raises an error."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
