"""Workers that find each other, wait, and lose each other, without TensorFlow."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from seq2seq_cli.errors import UsageError, WorkerError
from seq2seq_cli.runtime import joining, peers
from seq2seq_cli.runtime.channel import Channel
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.joining import join, unreachable
from seq2seq_cli.runtime.peers import Peers
from seq2seq_cli.training.interruption import RunInterruptedError, interruption_errors


def clusters(size: int) -> list[Cluster]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(size)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        addresses = tuple(f"127.0.0.1:{each.getsockname()[1]}" for each in sockets)
    return [Cluster(addresses, index) for index in range(size)]


def silent(text: str) -> None:
    """Say nothing."""


@contextmanager
def threads() -> Iterator[Callable[..., Future]]:
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


@contextmanager
def joined(size: int) -> Iterator[list[Peers]]:
    with threads() as start, contextlib.ExitStack() as stack:
        found = [start(join, cluster, 10.0, silent) for cluster in clusters(size)]
        joined = [each.result() for each in found]
        for each in reversed(joined):  # the chief ends first
            stack.enter_context(each)
        yield joined


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """Send heartbeats often, so that connections end fast."""
    monkeypatch.setattr(peers, "BEAT", 0.1)


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Make all that is waited for short."""
    monkeypatch.setattr(joining, "SAYING", 0.1)
    monkeypatch.setattr(joining, "_PAUSE", 0.05)
    monkeypatch.setattr(peers, "SILENCE", 0.6)


def test_messages_reach_all_and_answers_come_in_the_order_of_the_workers():
    with joined(3) as (chief, first, second):
        chief.tell(update=7)
        assert [first.receive(), second.receive()] == [[{"update": 7}]] * 2
        second.tell(answer=2)
        first.tell(answer=1)
        assert chief.receive() == [{"answer": 1}, {"answer": 2}]


def test_the_port_is_free_again_while_the_connections_last():
    all_clusters = clusters(2)
    with threads() as start:
        chief, other = [start(join, cluster, 10.0, silent) for cluster in all_clusters]
        with chief.result() as first, other.result() as second:
            for cluster in all_clusters:
                _, port = cluster.host_and_port(cluster.index)
                socket.create_server(("127.0.0.1", port)).close()
            first.tell(still=True)
            assert second.receive() == [{"still": True}]


def test_a_waiting_worker_names_the_missing_ones_and_gives_up(impatient):
    chief, present, _ = clusters(3)
    said = {0: [], 1: []}
    with threads() as start:
        waiting = [start(join, each, 1.0, said[each.index].append) for each in (chief, present)]
        for each in waiting:
            with pytest.raises(WorkerError, match=rf"worker 2 \({chief.addresses[2]}\): did not"):
                each.result()
    for texts in said.values():
        assert f"Waiting for {chief.name(2)} for" in texts[-1]
        assert len(texts) >= 5


def test_a_late_worker_is_waited_for(impatient):
    chief, other = clusters(2)
    for first, later in ((chief, other), (other, chief)):
        with threads() as start:
            waiting = start(join, first, 10.0, silent)
            time.sleep(0.5)
            late = start(join, later, 10.0, silent)
            for each in (waiting, late):
                with each.result():
                    pass


def test_a_waiting_worker_obeys_a_signal(impatient):
    for cluster in clusters(2):
        timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGTERM])
        timer.start()
        began = time.monotonic()
        with pytest.raises(RunInterruptedError, match="SIGTERM"), interruption_errors():
            join(cluster, 60.0, silent)
        assert time.monotonic() - began < 5
        timer.join()


def test_a_restarted_worker_replaces_the_earlier_one(impatient):
    chief, one, two = clusters(3)
    with threads() as start:
        waiting = start(join, chief, 10.0, silent)
        for _ in range(2):  # it ends before all are there
            with pytest.raises(WorkerError):
                join(one, 0.3, silent)
        found = [start(join, each, 10.0, silent) for each in (one, two)]
        for each in (waiting, *found):
            with each.result():
                pass


def test_a_stranger_at_the_port_is_rejected(impatient):
    chief, other = clusters(2)
    with threads() as start:
        waiting = start(join, chief, 10.0, silent)
        time.sleep(0.2)
        for said in (b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b'{"worker": 7, "hello": {}}\n', b""):
            with socket.create_connection(chief.host_and_port(0)) as stranger:
                stranger.sendall(said)
        found = start(join, other, 10.0, silent)
        with waiting.result(), found.result():
            pass


@contextmanager
def another_program(address: tuple[str, int], delay: float) -> Iterator[None]:
    """Answer each connection to the address after a delay, with what is not a message."""
    ended = threading.Event()
    with socket.create_server(address) as server, ThreadPoolExecutor(1) as pool:
        server.settimeout(0.1)

        def answer() -> None:
            while not ended.is_set():
                with contextlib.suppress(OSError), server.accept()[0] as connection:
                    time.sleep(delay)
                    connection.sendall(b"PRI * HTTP/2.0\r\n")

        pool.submit(answer)
        try:
            yield
        finally:
            ended.set()


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_chief_that_does_not_wait_is_named(impatient, delay):
    """A slow answer must not hide what the earlier ones showed."""
    chief, other = clusters(2)
    with (
        another_program(chief.host_and_port(0), delay),
        pytest.raises(WorkerError, match=r"worker 0 .*answers, but does not wait"),
    ):
        join(other, 3.0, silent)


def test_a_port_that_is_in_use_is_named():
    for cluster in clusters(2):
        host, port = cluster.host_and_port(cluster.index)
        with (
            socket.create_server((host, port)),
            pytest.raises(UsageError, match=rf"worker {cluster.index} .*port {port}"),
        ):
            join(cluster, 1.0, silent)


def test_other_versions_are_refused_at_both_ends(impatient, monkeypatch):
    chief, other = clusters(2)
    monkeypatch.setattr(
        joining, "_hello", lambda cluster: {"versions": {"tensorflow": str(cluster.index)}}
    )
    with threads() as start:
        found = [start(join, cluster, 10.0, silent) for cluster in (chief, other)]
        with pytest.raises(UsageError, match=r"worker 1 .*has different versions"):
            found[0].result()
        with pytest.raises(WorkerError, match=r"the chief.*has different versions"):
            found[1].result()


def test_ports_that_take_no_connection_are_named():
    first, *_ = clusters(3)
    with socket.create_server(first.host_and_port(2)):
        assert [text[:8] for text in unreachable(first)] == ["worker 1"]


def test_a_failed_worker_is_named_to_all_with_the_cause():
    with joined(3) as (chief, first, second):
        first.end("my.tsv: no such file", 3)
        with pytest.raises(WorkerError, match=r"worker 1 .*my.tsv: no such file") as error:
            chief.receive()
        assert error.value.exit_code == 3
        with pytest.raises(WorkerError, match=r"worker 1 .*my.tsv: no such file"):
            second.receive()


def test_a_lost_worker_is_named_to_all():
    with joined(3) as (chief, first, second):
        first.channels[0].close()
        with pytest.raises(WorkerError, match=r"worker 1 .*ended without a message") as error:
            chief.receive()
        assert error.value.exit_code == 8
        with pytest.raises(WorkerError, match=r"worker 1 "):
            second.receive()


def test_a_hanging_worker_is_named(impatient, monkeypatch):
    monkeypatch.setattr(Peers, "_beat", lambda self: None)  # as after SIGSTOP
    with joined(2) as (chief, other):
        with pytest.raises(WorkerError, match=r"worker 1 .*has not answered"):
            chief.receive()
        with pytest.raises(WorkerError, match=r"worker 0 .*the chief"):
            other.receive()


def test_heartbeats_keep_a_connection_and_carry_signals(impatient):
    with joined(2) as (chief, other):
        time.sleep(1.0)
        chief.check()
        other.signal_of_this = lambda: signal.SIGTERM
        time.sleep(0.4)
        assert chief.signal_number == signal.SIGTERM
        assert chief.signalled.startswith("worker 1")


def test_a_lost_worker_is_an_error_only_once():
    with joined(2) as (chief, other):
        other.channels[0].close()
        assert "worker 1" in str(chief.loss_after("the exchange failed"))
        chief.check()  # it is known


def test_a_worker_that_ends_normally_is_not_lost():
    with joined(2) as (chief, other):
        chief.end("", 0)
        assert other.receive() == [{"end": "", "code": 0}]
        other.check()


def test_an_error_in_the_block_is_sent_to_the_others():
    with contextlib.suppress(RunInterruptedError), joined(2) as (chief, other):
        told = RunInterruptedError("Stopped by SIGTERM at step 4, which is saved", signal.SIGTERM)
        chief.__exit__(type(told), told, None)
        with pytest.raises(WorkerError, match=r"^Stopped by SIGTERM at step 4") as error:
            other.receive()
        assert error.value.exit_code == 128 + signal.SIGTERM


def test_an_invalid_message_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        channel = Channel(socket.create_connection(server.getsockname()))
        with server.accept()[0] as theirs:
            theirs.sendall(b"[]\n")
            with pytest.raises(ValueError, match="is not a message"):
                channel.read(1.0)
    channel.close()
