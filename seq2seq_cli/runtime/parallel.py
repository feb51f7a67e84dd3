"""The amount of parallel computation: threads, shards of a batch, batches."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from seq2seq_cli.config.training import MOST_SHARDS, TrainingConfig
from seq2seq_cli.runtime.machine import cores

_SHARD_TOKENS = 512  # the minimum for a shard of a training batch

_SHARD_PAIRS = 32  # the same, where batches are counted in pairs

_LEAST_SHARED, _MOST_SHARED = 4, 8  # shards for any number of workers or devices

CHEAP_SHAPE = 2000  # see cost_of_a_shape

Item = TypeVar("Item")

Result = TypeVar("Result")


def number_of_shards(config: TrainingConfig) -> int:
    """Return the number of shards of a batch that are computed in parallel.

    On a CPU the small operations of a plain graph gain little from several threads each. They gain
    more from several shards with one thread each. This is not measured on the machine: matrix
    products alone say little about the other operations, and the same seed should always train the
    same model. XLA computes one function at a time, and one shard is enough to fill a GPU.

    If several workers or devices share the shards, it does not depend on this machine.
    """
    import tensorflow as tf

    if config.shards is not None:
        return config.shards
    if config.batch_pairs:
        most = config.batch_pairs // _SHARD_PAIRS
    else:
        most = config.batch_tokens // _SHARD_TOKENS
    if config.is_shared:
        return max(_LEAST_SHARED, min(most, _MOST_SHARED))
    if config.compile == "xla" or tf.config.get_visible_devices("GPU"):
        return 1
    return max(1, min(cores(), most, MOST_SHARDS))


def cost_of_a_shape(kind: str, config: TrainingConfig) -> int:
    """Return the padding that one more batch shape must save in an epoch, in tokens.

    XLA compiles for each shape: a third of a second for the kernels of attention models, two
    seconds for recurrent loops. The cost is about the number of tokens that training computes in
    that time, divided by a few epochs.

    Args:
        kind: `model.kind`.
        config: its `compile` determines what XLA compiles.
    """
    import tensorflow as tf

    if config.compile == "xla" or tf.config.get_visible_devices("GPU"):
        return 32_000
    return 8000 if kind == "rnn" and config.compile == "auto" else CHEAP_SHAPE


def share_threads(parts: int) -> None:
    """Divide the CPU's threads among a number of parts that are computed in parallel.

    Call this before the first operation; later calls have no effect.
    """
    import tensorflow as tf

    with suppress(RuntimeError):  # the threads exist already
        tf.config.threading.set_intra_op_parallelism_threads(max(1, cores() // parts))


def parts_at_once() -> int:
    """Return the number of independent batches to compute in parallel."""
    import tensorflow as tf

    return 1 if tf.config.get_visible_devices("GPU") else cores()


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], parts: int | None = None
) -> Iterator[Result]:
    """Yield the function's result for each item, in order.

    After an error, or if the caller stops early, no further item is started.

    Args:
        function: computes an item.
        items: what is computed.
        parts: how many are computed in parallel; None for `parts_at_once`.
    """
    parts = parts or parts_at_once()
    if parts == 1:  # TensorFlow keeps some memory for each thread, even after its end
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(parts)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
