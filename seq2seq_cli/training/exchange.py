"""The exchange between the workers of a training run: the sums of their gradients."""

import os
import sys
import threading
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from seq2seq_cli.errors import WorkerError
from seq2seq_cli.runs.saving import Saved
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.joining import unreachable
from seq2seq_cli.runtime.peers import Peers

_CONNECTING = 40.0  # s; all workers have started, and connect at the same time
_GATHERED = 4
"""Number of workers whose values are gathered and added up in the order of `pairwise_sum`. Two
workers have only one order, and more would send too much."""


class Given(Saved, Protocol):
    """The methods of a Keras variable that save and replace its value."""

    shape: Any

    def assign(self, value: np.ndarray) -> object:
        """Replace the value."""


class Exchange:
    """Sums tensors over all workers, by TensorFlow's MultiWorkerMirroredStrategy.

    Create it before the first operation of TensorFlow.

    Args:
        cluster: the workers; TF_CONFIG must name the same ones.
        peers: know which worker is lost.

    Raises:
        WorkerError: if the workers cannot connect.
    """

    def __init__(self, cluster: Cluster, peers: Peers):
        self._peers = peers
        timer = threading.Timer(_CONNECTING, _give_up, [cluster, peers])
        timer.daemon = True
        timer.start()
        # Without a timeout: it would keep a thread for each sum until it has passed. Peers detects
        # workers that end or no longer answer.
        options = tf.distribute.experimental.CommunicationOptions()
        try:
            strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
        except (tf.errors.OpError, RuntimeError) as error:
            raise peers.loss_after(f"the workers cannot connect: {error}") from error
        finally:
            timer.cancel()

        def reduced(values: tf.Tensor) -> tf.Tensor:
            # The strategy reads the device of its input. The copy is on the replica's device.
            context = tf.distribute.get_replica_context()
            values = tf.identity(values)
            if cluster.size != _GATHERED:
                return context.all_reduce("SUM", values, options)
            gathered = context.all_gather(values[tf.newaxis], 0, options)
            return pairwise_sum(tf.unstack(gathered, num=_GATHERED))

        self._sum = tf.function(
            lambda values: strategy.run(reduced, [values]),
            input_signature=[tf.TensorSpec([None], tf.float32)],
            autograph=False,
        )

    def __call__(self, values: tf.Tensor) -> tf.Tensor:
        """Return the sum of the `values` of all workers, float32 of shape [values].

        All workers must call it equally often, with the same number of values. All get the same
        bits.

        Raises:
            WorkerError: if a worker is lost.
        """
        try:
            return self._sum(values)
        except tf.errors.OpError as error:
            text = f"the workers cannot exchange gradients: {error.message}"
            raise self._peers.loss_after(text) from error

    def give(self, variables: Iterable[Given], gives: bool) -> None:
        """Copy the values of one worker to all workers.

        Args:
            variables: the variables; their number, shapes and dtypes are the same for each worker.
            gives: whether this worker's values are copied; true for exactly one worker.
        """
        for variable in variables:
            values = np.asarray(variable.numpy())
            exact = values.ravel()
            if values.dtype != np.float32:  # float32 represents any 16 bits exactly
                exact = exact.view(np.uint16)
            mine = exact.astype(np.float32) if gives else np.zeros(exact.size, np.float32)
            given = self(tf.constant(mine)).numpy().astype(exact.dtype).view(values.dtype)
            variable.assign(given.reshape(values.shape))


def pairwise_sum(values: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return the sum of tensors: recursively, those at even indices plus those at odd indices.

    If worker w of W sums the tensors w, w + W, w + 2 W, and so on, and then the W sums are summed,
    all in this order, the bits are the same for 1, 2, 4, … workers.
    """
    if len(values) == 1:
        return values[0]
    # Grappler would turn a tree of additions of the same shape into one with another order.
    first, second = (tf.expand_dims(pairwise_sum(half), 0) for half in (values[::2], values[1::2]))
    return tf.squeeze(first + second, 0)


class Share(NamedTuple):
    """The shards of each batch that a worker computes, and the sum over all workers.

    Attributes:
        worker: the index w of the worker.
        workers: the number W of workers. Worker w computes the shards w, w + W, w + 2 W, and so on.
        exchange: sums a tensor over all workers.
    """

    worker: int
    workers: int
    exchange: Exchange


def digest(arrays: Iterable[np.ndarray]) -> int:
    """Return a checksum, which almost certainly differs if a bit of the arrays differs."""
    found = 0
    for array in arrays:
        found = zlib.crc32(array.tobytes(), found)  # bfloat16 has no buffer of its own
    return found


def _give_up(cluster: Cluster, peers: Peers) -> None:
    """End a process that waits inside TensorFlow for others, which nothing else can interrupt."""
    there = unreachable(cluster) or ["each port is open, but TensorFlow does not answer"]
    error = WorkerError(
        f"the workers did not connect within {_CONNECTING:.0f} s: {'; '.join(there)}. Open "
        "the ports of TF_CONFIG between all workers"
    )
    print(f"error: {error}", file=sys.stderr, flush=True)
    peers.end(str(error), error.exit_code)
    os._exit(error.exit_code)
