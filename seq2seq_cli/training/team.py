"""The processes of a training run: one process alone, or a chief with other workers.

The chief controls the training: it announces each update with its learning rate, validates, saves,
and decides when to end. The other workers make the same updates to the same weights. Each of them
computes a share of the gradient; see `follower`.
"""

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.peers import Peers
from seq2seq_cli.training.events import Event, Notice, OnEvent
from seq2seq_cli.training.exchange import Exchange, Given, Share, digest
from seq2seq_cli.training.requirements import check_workers
from seq2seq_cli.training.setup import Setup
from seq2seq_cli.work import Warn

ComputeShare = Callable[[int, int], list[Any]]
"""Computes the items w, w + W, w + 2W, … of a list, given a worker w and the number of workers W.
The items can be written as JSON."""


class Team(ABC):
    """The workers of a training run, from the point of view of the chief.

    Attributes:
        share: the part of each batch that this worker computes; None for the whole batch.
        size: number of workers.
    """

    share: Share | None = None
    size: int = 1

    @abstractmethod
    def connect(self) -> None:
        """Connect TensorFlow to the other workers, before its first operation."""

    @abstractmethod
    def watched(self, on_event: OnEvent) -> OnEvent:
        """Return a handler that forwards events, and raises an error if a worker is lost."""

    @abstractmethod
    def begin(self, setup: Setup, computation: Computation, run: Run, position: Position) -> None:
        """Let the others prepare a run that starts or continues at a position."""

    @abstractmethod
    def start(self, saved: Sequence[Given]) -> None:
        """Wait until all workers are prepared, and send them the state of the training."""

    @abstractmethod
    def announce(self, batches: Sequence[Batch], number: int, learning_rate: float) -> None:
        """Let the others make the update that this worker makes next."""

    @abstractmethod
    def compare(self, saved: Sequence[Given], warn: Warn) -> None:
        """Make sure that all workers have the same state."""

    @abstractmethod
    def compute(self, name: str, averaged: bool, compute_share: ComputeShare) -> list[Any]:
        """Compute a list on all workers; each computes every `size`-th item.

        Args:
            name: of the function in `Validator.shares` by which the others compute their shares.
            averaged: whether they use the averages of the weights, as this worker does.
            compute_share: computes the share of this worker.
        """

    @abstractmethod
    def signal(self, warn: Warn) -> int:
        """Return the signal that another worker has received, or 0; warn of the first one."""


class Alone(Team):
    """A process that trains alone."""

    def connect(self) -> None:
        """Do nothing."""

    def watched(self, on_event: OnEvent) -> OnEvent:
        """Return the same handler."""
        return on_event

    def begin(self, setup: Setup, computation: Computation, run: Run, position: Position) -> None:
        """Do nothing."""

    def start(self, saved: Sequence[Given]) -> None:
        """Do nothing."""

    def announce(self, batches: Sequence[Batch], number: int, learning_rate: float) -> None:
        """Do nothing."""

    def compare(self, saved: Sequence[Given], warn: Warn) -> None:
        """Do nothing."""

    def compute(self, name: str, averaged: bool, compute_share: ComputeShare) -> list[Any]:
        """Compute all items here."""
        return compute_share(0, 1)

    def signal(self, warn: Warn) -> int:
        """Return 0."""
        return 0


ALONE = Alone()


class Chief(Team):
    """The chief of several workers.

    Each method raises a WorkerError if another worker is lost.

    Args:
        cluster: the workers.
        peers: the connections with them.
    """

    def __init__(self, cluster: Cluster, peers: Peers):
        self._cluster, self._peers = cluster, peers
        self.size = cluster.size
        self._warned = False

    def connect(self) -> None:
        """Connect TensorFlow to the other workers, before its first operation.

        Raises:
            WorkerError: if the workers cannot connect.
        """
        self._exchange = Exchange(self._cluster, self._peers)
        self.share = Share(0, self.size, self._exchange)

    def watched(self, on_event: OnEvent) -> OnEvent:
        """Return a handler that forwards events, and raises an error if a worker is lost."""

        def watching(event: Event) -> None:
            on_event(event)
            if not isinstance(event, Notice):  # a signal handler may send a Notice at any time
                self._peers.check()

        return watching

    def begin(self, setup: Setup, computation: Computation, run: Run, position: Position) -> None:
        """Send the others everything that they need besides config and corpus.

        Raises:
            UsageError: if there are more workers than shards.
        """
        check_workers(setup.config.training, computation.shards, self.size)
        files = setup.tokenizers.files()
        self._peers.tell(
            fingerprint=setup.corpus.fingerprint,
            tokenizer={name: base64.b64encode(text).decode() for name, text in files.items()},
            precision=computation.precision,
            shards=computation.shards,
            shape_cost=setup.data.shape_cost,
            run=str(run.path),
            position=asdict(position),
        )

    def start(self, saved: Sequence[Given]) -> None:
        """Wait until all workers are prepared, and send them the state of the training."""
        self._peers.receive()
        self._peers.tell(start=True)
        self._exchange.give(saved, gives=True)

    def announce(self, batches: Sequence[Batch], number: int, learning_rate: float) -> None:
        """Let the others make an update, and check that they use the same batches."""
        self._peers.tell(update=number, learning_rate=learning_rate, batches=digest_of(batches))

    def compare(self, saved: Sequence[Given], warn: Warn) -> None:
        """Send all workers the state of this one, if the state of any worker differs."""
        self._peers.tell(compare=True)
        mine = digest(variable.numpy() for variable in saved)
        digests = [message["state"] for message in self._peers.receive()]
        others = [
            channel.peer
            for channel, theirs in zip(self._peers.channels, digests, strict=True)
            if theirs != mine
        ]
        self._peers.tell(take=bool(others))
        if others:
            self._exchange.give(saved, gives=True)
            warn(
                f"{' and '.join(others)}: had different weights, and takes those of the chief. Its "
                "processor rounds differently; on equal machines all results would be exact"
            )

    def compute(self, name: str, averaged: bool, compute_share: ComputeShare) -> list[Any]:
        """Let each worker compute its share of a list; return all items in order."""
        self._peers.tell(compute=name, averaged=averaged)
        shares = [compute_share(0, self.size)]
        shares += [message["items"] for message in self._peers.receive()]
        items = [None] * sum(map(len, shares))
        for worker, share in enumerate(shares):
            items[worker :: self.size] = share
        return items

    def signal(self, warn: Warn) -> int:
        """Return the signal that another worker has received, or 0; warn of the first one."""
        if self._peers.signal_number and not self._warned:
            self._warned = True
            warn(f"{self._peers.signalled} received a signal: saving a checkpoint, then all end")
        return self._peers.signal_number


def digest_of(batches: Sequence[Batch]) -> int:
    """Return a checksum by which workers check that they have the same batches."""
    return digest(ids.numpy() for batch in batches for ids in batch[:2])
