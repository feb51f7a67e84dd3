"""Connects the workers before any of them starts TensorFlow.

TensorFlow itself waits for other workers in C++ code, which signals do not interrupt. So the
workers first connect to the chief's port. These connections stay open.
"""

import importlib.metadata
import socket
import time
from contextlib import suppress

from seq2seq_cli.errors import UsageError, WorkerError
from seq2seq_cli.runtime.channel import Channel, Message
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.peers import Peers
from seq2seq_cli.work import Warn

SAYING = 10.0
"""Seconds between two messages about the workers that are missing."""
_PAUSE = 0.5  # s; the maximum delay of a signal
_ANSWER = 2.0  # s; the timeout of an answer
_PACKAGES = ("s2s", "tensorflow", "keras")


class Wait:
    """Reports the missing workers every `SAYING` seconds, and raises an error after a timeout.

    Args:
        seconds: the timeout.
        warn: receives the message.
    """

    def __init__(self, seconds: float, warn: Warn):
        self._began = self._said = time.monotonic()
        self._seconds, self._warn = seconds, warn

    def __call__(self, whom: str) -> None:
        """Report the missing workers, if it is time to.

        Raises:
            WorkerError: after the timeout; it names the missing workers.
        """
        now = time.monotonic()
        if now - self._began >= self._seconds:
            raise WorkerError(
                f"{whom}: did not start within {self._seconds:.0f} s. Read its messages, check "
                "the addresses in TF_CONFIG, or raise training.wait_seconds"
            )
        if now - self._said >= SAYING:
            self._said = now
            self._warn(f"Waiting for {whom} for {now - self._began:.0f} s")


def join(cluster: Cluster, seconds: float, warn: Warn) -> Peers:
    """Wait until all workers are connected, and return the connections.

    Args:
        cluster: the workers.
        seconds: the maximum time to wait.
        warn: receives messages about missing workers.

    Raises:
        WorkerError: if a worker does not connect.
        UsageError: if this worker's port is in use, or a worker has other versions or addresses.
    """
    with _listening(cluster) as listener:
        if cluster.is_chief:
            return Peers(_gather(cluster, listener, Wait(seconds, warn)))
    return Peers([_reach_chief(cluster, Wait(seconds, warn))])


def unreachable(cluster: Cluster) -> list[str]:
    """Return the names of the other workers whose port accepts no connection."""
    found = []
    for index in range(cluster.size):
        try:
            if index != cluster.index:
                socket.create_connection(cluster.host_and_port(index), _ANSWER).close()
        except OSError as error:
            found.append(f"{cluster.name(index)}: {error.strerror or error}")
    return found


def _listening(cluster: Cluster) -> socket.socket:
    """Return a socket at this worker's port. TensorFlow uses the port after it is closed."""
    _, port = cluster.host_and_port(cluster.index)
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        listener = socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as error:
        raise UsageError(
            f"{cluster.name(cluster.index)}: port {port} of this machine cannot be used: "
            f"{error.strerror}. Stop the program that uses it, or set another port in TF_CONFIG "
            "for all workers"
        ) from error
    listener.settimeout(_PAUSE)
    return listener


def _hello(cluster: Cluster) -> Message:
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"addresses": list(cluster.addresses), "versions": versions}


def _gather(cluster: Cluster, listener: socket.socket, wait: Wait) -> list[Channel]:
    """Return the chief's connections to all other workers, in the order of their indices."""
    channels: dict[int, Channel] = {}
    try:
        while True:
            for index in [i for i, channel in channels.items() if not channel.is_open()]:
                channels.pop(index).close()
            missing = [i for i in range(1, cluster.size) if i not in channels]
            if not missing:
                for channel in channels.values():
                    channel.send(go=True)
                return [channels[index] for index in sorted(channels)]
            wait(" and ".join(cluster.name(index) for index in missing))
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                _welcome(cluster, Channel(connection), channels)
            for channel in channels.values():
                with suppress(OSError):
                    channel.send(missing=[i for i in missing if i not in channels])
    except BaseException as error:
        for channel in channels.values():
            with suppress(OSError):
                channel.send(end=str(error), code=getattr(error, "exit_code", 1))
            channel.close()
        raise


def _welcome(cluster: Cluster, channel: Channel, channels: dict[int, Channel]) -> None:
    """Add a connection, if it comes from a worker.

    Raises:
        UsageError: if it has other addresses or versions.
    """
    try:
        message = channel.read(_ANSWER)
        index = message["worker"] if message else 0
        if type(index) is not int or not 0 < index < cluster.size:
            raise ValueError("not a worker")
        hello = message["hello"] if message else {}
    except (OSError, ValueError, KeyError):  # another program
        channel.close()
        return
    channel.peer = cluster.name(index)
    if (before := channels.pop(index, None)) is not None:
        before.close()  # the worker was restarted
    channels[index] = channel
    for key, mine in _hello(cluster).items():
        if hello.get(key) != mine:
            raise UsageError(
                f"{channel.peer} has different {key}: {hello.get(key)}; the chief has {mine}. "
                "Start all workers with the same"
            )


def _reach_chief(cluster: Cluster, wait: Wait) -> Channel:
    """Return a worker's connection to the chief, as soon as all workers are connected."""
    chief = cluster.name(0)
    whom = chief
    while True:
        wait(whom)
        try:
            channel = Channel(socket.create_connection(cluster.host_and_port(0), _ANSWER), chief)
        except OSError:
            whom = chief
            time.sleep(_PAUSE)
            continue
        try:
            channel.send(worker=cluster.index, hello=_hello(cluster))
            while True:
                wait(whom)
                message = channel.read(_PAUSE)
                if message and "go" in message:
                    return channel
                if message and "end" in message:
                    channel.close()
                    raise WorkerError(f"{chief} has ended: {message['end']}", message["code"])
                if message:
                    others = [i for i in message["missing"] if i != cluster.index]
                    whom = " and ".join(map(cluster.name, others)) or chief
        except (OSError, ValueError, KeyError):
            channel.close()
            whom = f"{chief} (it answers, but does not wait for workers)"
            time.sleep(_PAUSE)
        except BaseException:
            channel.close()
            raise
