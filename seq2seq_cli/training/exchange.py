"""What the workers of a training exchange: the sums of their gradients."""

import os
import sys
import threading
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from seq2seq_cli.errors import WorkerError
from seq2seq_cli.runs.saving import Saved
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.joining import unreachable
from seq2seq_cli.runtime.peers import Peers

_CONNECTING = 40.0  # s; all workers are there, and connect at the same time
_LONGEST = 600.0  # s; more than an update takes. Lost workers are noticed sooner; see Peers


class Given(Saved, Protocol):
    """What a Keras variable offers to be saved and replaced."""

    shape: Any

    def assign(self, value: np.ndarray) -> object:
        """Replace the value."""


class Exchange:
    """Adds up tensors of all workers, by TensorFlow's MultiWorkerMirroredStrategy.

    Make it before the first operation of TensorFlow.

    Args:
        cluster: the workers; TF_CONFIG names the same ones.
        peers: know who is lost.

    Raises:
        WorkerError: if the workers do not reach each other.
    """

    def __init__(self, cluster: Cluster, peers: Peers):
        self._peers = peers
        timer = threading.Timer(_CONNECTING, _give_up, [cluster, peers])
        timer.daemon = True
        timer.start()
        options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=_LONGEST)
        try:
            strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
        except (tf.errors.OpError, RuntimeError) as error:
            raise peers.loss_after(f"the workers cannot connect: {error}") from error
        finally:
            timer.cancel()

        def reduced(values: tf.Tensor) -> tf.Tensor:
            # The copy is on the replica's device, of which the strategy asks the name.
            context = tf.distribute.get_replica_context()
            return context.all_reduce("SUM", tf.identity(values), options)

        self._sum = tf.function(
            lambda values: strategy.run(reduced, [values]),
            input_signature=[tf.TensorSpec([None], tf.float32)],
            autograph=False,
        )

    def __call__(self, values: tf.Tensor) -> tf.Tensor:
        """Return the sum of the `values` of all workers, float32 of shape [values].

        All workers must call it as often, with as many values. All get the same bits.

        Raises:
            WorkerError: if a worker is lost.
        """
        try:
            return self._sum(values)
        except tf.errors.OpError as error:
            text = f"the workers cannot exchange gradients: {error.message}"
            raise self._peers.loss_after(text) from error

    def give(self, variables: Iterable[Given], gives: bool) -> None:
        """Give all workers the values of one.

        Args:
            variables: as many, of the same shapes and dtypes, for each worker.
            gives: whether this worker's values are given; true for one of them.
        """
        for variable in variables:
            values = np.asarray(variable.numpy())
            exact = values.ravel()
            if values.dtype != np.float32:  # float32 holds 16 bits of anything else
                exact = exact.view(np.uint16)
            mine = exact.astype(np.float32) if gives else np.zeros(exact.size, np.float32)
            given = self(tf.constant(mine)).numpy().astype(exact.dtype).view(values.dtype)
            variable.assign(given.reshape(values.shape))


class Share(NamedTuple):
    """Which shards of each batch a worker computes, and how the gradients of all are added.

    worker: its number w.
    workers: how many there are, W. Worker w computes the shards w, w + W, w + 2 W, and so on.
    exchange: adds up a tensor of all workers.
    """

    worker: int
    workers: int
    exchange: Exchange


def digest(arrays: Iterable[np.ndarray]) -> int:
    """Return a number that differs, almost certainly, if one bit of the arrays does."""
    found = 0
    for array in arrays:
        found = zlib.crc32(np.ascontiguousarray(array).data, found)
    return found


def _give_up(cluster: Cluster, peers: Peers) -> None:
    """End a process that waits inside TensorFlow for others, where nothing else can."""
    there = unreachable(cluster) or ["each port takes connections, but TensorFlow does not answer"]
    error = WorkerError(
        f"the workers do not reach each other within {_CONNECTING:.0f} s: {'; '.join(there)}. Open "
        "the ports of TF_CONFIG between all workers"
    )
    print(f"error: {error}", file=sys.stderr, flush=True)
    peers.end(str(error), error.exit_code)
    os._exit(error.exit_code)
