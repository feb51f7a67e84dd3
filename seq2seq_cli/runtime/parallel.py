"""What is computed at once: threads, parts of a batch, batches."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from seq2seq_cli.config.training import MOST_SHARDS, TrainingConfig

_SHARD_TOKENS = 512  # that a shard of a training batch has at least

_SHARD_PAIRS = 32  # the same where batches are counted in pairs

CHEAP_SHAPE = 2000  # see cost_of_a_shape

Item = TypeVar("Item")

Result = TypeVar("Result")


def most_shards(config: TrainingConfig) -> int:
    """Return into how many parts, computed at once, a training's batch is split at most.

    On a CPU the many small operations of a plain graph gain little from several threads each;
    several parts with a thread each do. XLA computes one function at a time, and a GPU is full.
    """
    import tensorflow as tf

    if config.shards is not None:
        return config.shards
    if config.compile == "xla" or tf.config.get_visible_devices("GPU"):
        return 1
    if config.batch_pairs:
        most = config.batch_pairs // _SHARD_PAIRS
    else:
        most = config.batch_tokens // _SHARD_TOKENS
    return max(1, min(cores(), most, MOST_SHARDS))


def cost_of_a_shape(kind: str, config: TrainingConfig) -> int:
    """Return how much padding an epoch has to lose by one more shape of batches, in tokens.

    It is about what is trained on in the time that XLA compiles for a shape, divided among a few
    epochs. The kernels of attention models take a third of a second together, recurrent loops two.

    Args:
        kind: `model.kind`.
        config: says what is compiled.
    """
    import tensorflow as tf

    if config.compile == "xla" or tf.config.get_visible_devices("GPU"):
        return 32_000
    return 8000 if kind == "rnn" and config.compile == "auto" else CHEAP_SHAPE


def share_threads(parts: int) -> None:
    """Share the CPU's threads between so many parts of the work that are computed at once.

    To be called before the first operation; after it, all is computed as it was.
    """
    import tensorflow as tf

    with suppress(RuntimeError):  # the threads are there already
        tf.config.threading.set_intra_op_parallelism_threads(max(1, cores() // parts))


def parts_at_once() -> int:
    """Return how many batches that do not depend on each other to compute at once."""
    import tensorflow as tf

    return 1 if tf.config.get_visible_devices("GPU") else cores()


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield what a function gives for each item, in order; `parts_at_once` are computed at once.

    An error, or an end before the last item, leaves out what has not begun.
    """
    pool = ThreadPoolExecutor(parts_at_once())
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))
