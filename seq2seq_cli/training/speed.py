"""How fast a model trains, and where the time of a step goes."""

import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pipeline import Batch, TrainingData
from seq2seq_cli.data.vocabularies import tokenizers_of
from seq2seq_cli.models.ops.products import Count, counted
from seq2seq_cli.runtime.computation import choose_computation
from seq2seq_cli.runtime.memory import peak_memory
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.training.loss import non_padding_indices
from seq2seq_cli.training.requirements import build_trainable, check_shards
from seq2seq_cli.training.step import Updater

_RATE = 1e-6  # at which the same updates can be made again and again

_PEAK_SIZE = 2048  # rows and columns of the matrices whose product is the machine's peak


@dataclass(frozen=True)
class TrainingSpeed:
    """What the same updates took, several times.

    Attributes:
        steps: updates in each trial: the first of an epoch, or all.
        pairs, target_tokens: in a trial; EOS included, BOS not.
        padding_share: part of all places of its batches that holds no token.
        shapes: number of different shapes of batches.
        precision: dtype of matrix products.
        shards: parts of a batch that are computed at once.
        first_step_seconds: from reading the corpus to the end of the first update.
        warm_up_seconds: of the first trial, which compiles for every shape and is not counted.
        seconds: the median of the other trials.
        fastest_seconds, slowest_seconds: of the other trials.
        pairs_per_second, target_tokens_per_second: at the median.
        step_ms: of an update, with its batch, at the median.
        input_ms: of that, waiting for the batch.
        forward_ms: of the loss alone, by a graph of its own.
        backward_ms: what the gradient takes beyond that.
        optimizer_ms: what an update takes beyond the gradient.
        operations_per_second: floating-point operations of matrix products, padding included:
            those of the loss and twice as many for the gradient, however they are computed.
        peak_operations_per_second: of large matrix products in the same precision, as many at
            once as a batch has parts.
        utilisation: the one by the other.
        peak_memory_mb: the process' most resident memory, in 10^6 bytes.
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


def measure_training(
    config: Config, steps: int, trials: int, report: Callable[[str], None]
) -> TrainingSpeed:
    """Make the first updates of a training, again and again.

    Args:
        config: of the training.
        steps: updates in each trial.
        trials: at least 1, after one to warm up.
        report: told of each time.
    """
    began = time.perf_counter()
    corpus = read_corpus(config.data)
    tokenizers = tokenizers_of(corpus, config.tokenizer)
    data = TrainingData.from_config(corpus, tokenizers, config)
    check_shards(config.training, data.most_rows)
    model = build_trainable(config, tokenizers)
    computation = choose_computation(config.training, model)
    updater = Updater(model, config.training, computation.precision, computation.shards)

    def batches() -> Iterable[Batch]:
        return itertools.islice(data.batches(epoch=0), steps)

    def trial() -> tuple[float, float]:
        """Return the seconds of all updates, and those of waiting for batches."""
        iterator = iter(batches())
        batch = next(iterator, None)  # the first of an epoch takes longer, and is one of thousands
        start, waited, number = time.perf_counter(), 0.0, 0
        while batch is not None:
            updater.step(batch, number, _RATE)
            asked = time.perf_counter()
            batch = next(iterator, None)
            waited += time.perf_counter() - asked
            number += 1
        tf.test.experimental.sync_devices()
        return time.perf_counter() - start, waited

    updater.step(next(iter(batches())), 0, _RATE)
    tf.test.experimental.sync_devices()
    first_step_seconds = time.perf_counter() - began
    report(f"first update: after {first_step_seconds:.1f} s")
    warm_up_seconds, _ = trial()
    report(f"warm-up: {warm_up_seconds:.2f} s")
    times, waits = [], []
    for number in range(1, trials + 1):
        seconds, waited = trial()
        times.append(seconds)
        waits.append(waited)
        report(f"trial {number}: {seconds:.2f} s")

    kept = list(batches())
    parts = []
    for name, part in (("loss", updater.loss), ("gradient", updater.gradients)):
        seconds = _seconds_of(updater.compiled(part), kept)
        parts.append(seconds)
        report(f"{name} alone: {seconds:.2f} s")
    seconds = statistics.median(times)
    waited = statistics.median(waits)
    per_second = 3 * _operations(updater, kept) / seconds  # a gradient takes twice a forward pass
    peak = peak_operations(updater.precision, updater.shards)
    pairs = sum(int(batch.pairs) for batch in kept)
    source_tokens = sum(int(tf.math.count_nonzero(b.source_BS)) for b in kept)
    target_tokens = sum(int(tf.math.count_nonzero(b.target_BT[:, 1:])) for b in kept)
    places = sum(2 * int(tf.size(b.source_BS)) for b in kept)
    a_step = 1000 / len(kept)
    return TrainingSpeed(
        steps=len(kept),
        pairs=pairs,
        target_tokens=target_tokens,
        padding_share=1 - (source_tokens + target_tokens) / places,
        shapes=len(set(map(_shape, kept))),
        precision=updater.precision,
        shards=updater.shards,
        first_step_seconds=first_step_seconds,
        warm_up_seconds=warm_up_seconds,
        seconds=seconds,
        fastest_seconds=min(times),
        slowest_seconds=max(times),
        pairs_per_second=pairs / seconds,
        target_tokens_per_second=target_tokens / seconds,
        step_ms=seconds * a_step,
        input_ms=waited * a_step,
        forward_ms=parts[0] * a_step,
        backward_ms=(parts[1] - parts[0]) * a_step,
        optimizer_ms=(seconds - waited - parts[1]) * a_step,
        operations_per_second=per_second,
        peak_operations_per_second=peak,
        utilisation=per_second / peak,
        peak_memory_mb=peak_memory() / 1e6,
    )


def peak_operations(precision: str, at_once: int = 1) -> float:
    """Return how many floating-point operations a second large matrix products reach.

    Args:
        precision: their dtype.
        at_once: how many are computed at the same time.
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


def _seconds_of(part: Callable, batches: Sequence[Batch]) -> float:
    """Return what a compiled part of an update takes for all batches, after a first time."""
    for batch in {_shape(batch): batch for batch in batches}.values():
        part(batch.source_BS, batch.target_BT)
    tf.test.experimental.sync_devices()
    began = time.perf_counter()
    for batch in batches:
        part(batch.source_BS, batch.target_BT)
    tf.test.experimental.sync_devices()
    return time.perf_counter() - began


def _shape(batch: Batch) -> tuple[int, ...]:
    return (*batch.source_BS.shape, *batch.target_BT.shape)


def _operations(updater: Updater, batches: Sequence[Batch]) -> int:
    """Return the operations of the products that lead from batches to their logits."""
    found: dict[tuple, int] = {}
    sizes = []
    for batch in batches:
        sizes.append((*_shape(batch), len(non_padding_indices(batch.target_BT[:, 1:]))))
        if sizes[-1] not in found:
            count = Count()
            with counted(count):
                updater.predictions(batch.source_BS, batch.target_BT)
            found[sizes[-1]] = count.operations
    return sum(found[size] for size in sizes)
