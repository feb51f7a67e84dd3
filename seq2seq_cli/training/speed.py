"""How fast a model trains, and where the time of an update goes."""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.models.operations import forward_operations
from seq2seq_cli.runtime.computation import choose_computation
from seq2seq_cli.runtime.memory import peak_memory
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.training.events import OnEvent, Phase, ignore
from seq2seq_cli.training.setup import Setup, set_up
from seq2seq_cli.training.step import Updater

_RATE = 1e-6  # a learning rate so low that the same updates can be repeated

_PEAK_SIZE = 2048  # rows and columns of the matrices that `peak_operations` multiplies


@dataclass(frozen=True)
class TrainingSpeed:
    """The time of the same updates in several trials.

    Attributes:
        steps: updates in each trial: the first of an epoch, or all.
        pairs, target_tokens: in a trial; EOS included, BOS not.
        padding_share: share of the positions in its batches that holds no token.
        shapes: number of different shapes of batches.
        precision: dtype of matrix products.
        shards: number of shards of a batch that are computed at once.
        first_step_seconds: from reading the corpus to the end of the first update.
        warm_up_seconds: of the first trial, which compiles for every shape and is not counted.
        seconds: the median of the other trials.
        fastest_seconds, slowest_seconds: of the other trials.
        pairs_per_second, target_tokens_per_second: at the median.
        step_ms: of an update and the wait for its batch, at the median.
        input_ms: of the wait for the batch.
        forward_ms: of the loss alone, computed by its own graph.
        backward_ms: of the gradient, without the loss.
        optimizer_ms: of the rest of an update, without gradient, loss and wait.
        operations_per_second: floating-point operations of matrix products, padding included. The
            gradient counts as twice as many as the loss, however it is computed.
        peak_operations_per_second: of large matrix products in the same precision, as many at
            once as there are shards.
        utilisation: `operations_per_second` divided by `peak_operations_per_second`.
        peak_memory_mb: the maximum of the process' resident memory, in 10^6 bytes.
    """

    steps: int
    pairs: int
    target_tokens: int
    padding_share: float
    shapes: int
    precision: str
    shards: int
    first_step_seconds: float
    warm_up_seconds: float
    seconds: float
    fastest_seconds: float
    slowest_seconds: float
    pairs_per_second: float
    target_tokens_per_second: float
    step_ms: float
    input_ms: float
    forward_ms: float
    backward_ms: float
    optimizer_ms: float
    operations_per_second: float
    peak_operations_per_second: float
    utilisation: float
    peak_memory_mb: float


@dataclass(frozen=True)
class _Times:
    """Measured times, in seconds.

    Attributes:
        first_update: from reading the corpus to the end of the first update.
        warm_up: of all updates, the first time.
        trials: of all updates, in each trial.
        waits: of each trial, waiting for batches.
        loss, gradient: of computing these alone for all batches.
    """

    first_update: float
    warm_up: float
    trials: list[float]
    waits: list[float]
    loss: float
    gradient: float


def measure_training(
    config: Config,
    steps: int,
    trials: int,
    progress: Callable[[str], None],
    on_event: OnEvent = ignore,
) -> TrainingSpeed:
    """Repeat the first updates of training.

    Args:
        config: of the training.
        steps: updates in each trial.
        trials: at least 1, after one to warm up.
        progress: receives a line with each time.
        on_event: receives a Phase as each part of the preparation begins.
    """
    began = time.perf_counter()
    setup = set_up(config, on_event)
    updater = setup.updater(choose_computation(config.training, setup.model))
    on_event(Phase("Making the first update"))

    def updates(most: int) -> Iterator[list[Batch]]:
        """Yield the batches of each of the first updates."""
        batches = setup.data.batches(epoch=0)
        together = config.training.parts
        return itertools.islice(iter(lambda: list(itertools.islice(batches, together)), []), most)

    _trial(updater, updates(1))
    first_update = time.perf_counter() - began
    progress(f"first update: after {first_update:.1f} s")
    warm_up, _ = _trial(updater, updates(steps))
    progress(f"warm-up: {warm_up:.2f} s")
    seconds, waits = [], []
    for number in range(1, trials + 1):
        taken, waited = _trial(updater, updates(steps))
        seconds.append(taken)
        waits.append(waited)
        progress(f"trial {number}: {taken:.2f} s")

    kept = list(updates(steps))
    loss = _seconds_of(updater, updater.objective.loss, kept)
    progress(f"loss alone: {loss:.2f} s")
    gradient = _seconds_of(updater, updater.objective.gradients, kept)
    progress(f"gradient alone: {gradient:.2f} s")
    times = _Times(first_update, warm_up, seconds, waits, loss, gradient)
    return _speed(updater, kept, times, _operations(setup, kept))


def _trial(updater: Updater, updates: Iterator[list[Batch]]) -> tuple[float, float]:
    """Return the seconds of all updates, and the part of them spent waiting for batches."""
    batches = next(updates, None)  # not counted: the first of an epoch takes longer
    start, waited, number = time.perf_counter(), 0.0, 0
    while batches is not None:
        updater.update(batches, number, _RATE)
        asked = time.perf_counter()
        batches = next(updates, None)
        waited += time.perf_counter() - asked
        number += 1
    tf.test.experimental.sync_devices()
    return time.perf_counter() - start, waited


def _speed(
    updater: Updater, updates: Sequence[list[Batch]], times: _Times, operations: int
) -> TrainingSpeed:
    """Return the figures of trials with these updates, given the operations to their logits."""
    batches = list(itertools.chain(*updates))
    seconds = statistics.median(times.trials)
    waited = statistics.median(times.waits)
    # A gradient takes twice as many operations as a forward pass.
    operations_per_second = 3 * operations / seconds
    peak = peak_operations(updater.precision, updater.shards)
    pairs = sum(int(batch.pairs) for batch in batches)
    source_tokens = sum(int(tf.math.count_nonzero(b.source_BS)) for b in batches)
    target_tokens = sum(int(tf.math.count_nonzero(b.target_BT[:, 1:])) for b in batches)
    positions = sum(int(tf.size(b.source_BS)) + int(tf.size(b.target_BT[:, 1:])) for b in batches)
    ms_per_update = 1000 / len(updates)  # of one second in each trial
    return TrainingSpeed(
        steps=len(updates),
        pairs=pairs,
        target_tokens=target_tokens,
        padding_share=1 - (source_tokens + target_tokens) / positions,
        shapes=len(set(map(_shape, batches))),
        precision=updater.precision,
        shards=updater.shards,
        first_step_seconds=times.first_update,
        warm_up_seconds=times.warm_up,
        seconds=seconds,
        fastest_seconds=min(times.trials),
        slowest_seconds=max(times.trials),
        pairs_per_second=pairs / seconds,
        target_tokens_per_second=target_tokens / seconds,
        step_ms=seconds * ms_per_update,
        input_ms=waited * ms_per_update,
        forward_ms=times.loss * ms_per_update,
        backward_ms=(times.gradient - times.loss) * ms_per_update,
        optimizer_ms=(seconds - waited - times.gradient) * ms_per_update,
        operations_per_second=operations_per_second,
        peak_operations_per_second=peak,
        utilisation=operations_per_second / peak,
        peak_memory_mb=peak_memory() / 1e6,
    )


def peak_operations(precision: str, at_once: int = 1) -> float:
    """Return the floating-point operations per second that large matrix products reach.

    Args:
        precision: dtype of the products.
        at_once: the number that are computed at the same time.
    """
    shape = (_PEAK_SIZE, _PEAK_SIZE)
    a, b = (tf.cast(tf.random.stateless_normal(shape, [0, i]), precision) for i in range(2))
    times = []
    for _ in range(10):
        began = time.perf_counter()
        list(in_parallel(lambda _: tf.matmul(a, b), range(at_once)))
        tf.test.experimental.sync_devices()
        times.append(time.perf_counter() - began)
    return at_once * 2 * _PEAK_SIZE**3 / min(times)


def _seconds_of(updater: Updater, part: Callable, updates: Sequence[list[Batch]]) -> float:
    """Return the seconds that a part of an update takes for all batches, compiled and warm."""
    calls = [ids for batches in updates for ids in updater.groups(batches)]
    compiled = updater.compiled(part)
    for ids in calls:
        compiled(*ids)
    tf.test.experimental.sync_devices()
    began = time.perf_counter()
    for ids in calls:
        compiled(*ids)
    tf.test.experimental.sync_devices()
    return time.perf_counter() - began


def _shape(batch: Batch) -> tuple[int, ...]:
    return (*batch.source_BS.shape, *batch.target_BT.shape)


def _operations(setup: Setup, updates: Sequence[list[Batch]]) -> int:
    """Return the floating-point operations of the matrix products from batches to logits."""
    vocabulary, operations = setup.tokenizers.target.vocabulary_size, 0
    predictions = 2 if setup.config.training.r_drop else 1  # of each pair
    for batch in itertools.chain(*updates):
        (rows, source), target = batch.source_BS.shape, batch.target_BT.shape[1] - 1
        model = setup.config.model
        operations += predictions * forward_operations(model, vocabulary, rows, source, target)
    return operations
