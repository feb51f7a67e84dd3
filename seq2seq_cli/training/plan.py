"""What training would do and need, and how long it would take, without training."""

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.naming import next_path
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position
from seq2seq_cli.runtime.computation import Computation, choose_computation
from seq2seq_cli.runtime.memory import most_memory, resident_memory
from seq2seq_cli.training.events import OnEvent, Phase, Summary
from seq2seq_cli.training.memory import MemoryEstimate, estimate_memory
from seq2seq_cli.training.requirements import memory_errors, remedy
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.setup import Setup, compile_for, set_up
from seq2seq_cli.training.step import Updater

_MEASURED_BATCHES = 4
_TRIALS = 3  # of each measured batch, after one to warm up
_RATE = 1e-6  # a learning rate so low that the weights hardly change


class Times(NamedTuple):
    """Times of the steps of training, in seconds, measured on a few updates.

    Attributes:
        compilation: of all compilation, before the first update.
        update: of an update, on average.
    """

    compilation: float
    update: float


@dataclass(frozen=True)
class Plan:
    """What training would do and need.

    Attributes:
        summary: as training would show it; its run is the folder that would be created.
        updates: the maximum number of updates; None if only the time is limited.
        validations: the maximum number of validations; None if only the time is limited.
        times: estimates of the times.
        memory: an estimate of what training takes on a CPU, without validation.
        available_memory: bytes that the process can have; None on a GPU.
    """

    summary: Summary
    updates: int | None
    validations: int | None
    times: Times
    memory: MemoryEstimate
    available_memory: int | None

    @property
    def seconds(self) -> float:
        """An estimate of the time to the limit that comes first, without validations."""
        budget = self.summary.config.training.budget_seconds or math.inf
        if self.updates is None:
            return budget
        return min(budget, self.times.compilation + self.updates * self.times.update)


def plan(
    config: Config,
    on_event: OnEvent,
    name: str | None = None,
    device: str = "",
    workers: int = 1,
) -> Plan:
    """Set training up like `train`, and measure a few updates, but make no run.

    Args:
        config: everything that determines the result.
        on_event: receives a Phase as each part begins.
        name: of the run; None for the next number.
        device: a description of it, for the summary.
        workers: number of workers that share the shards.

    Raises:
        UsageError: see `set_up`.
        DataError: if the corpus cannot be used.
    """
    setup = set_up(config, on_event, workers=workers)
    on_event(Phase("Choosing the precision"))
    computation = choose_computation(config.training, setup.model, device)
    summary = setup.summary(Run(next_path(name, config.model.label)), computation)
    schedule = Schedule(config.training, setup.updates_per_epoch)
    updates = schedule.updates_left(Position.at_start())
    validate_every = config.training.validate_every_steps or setup.updates_per_epoch
    memory = memory_of(setup, computation)
    available = None if tf.config.get_visible_devices("GPU") else most_memory()
    if available is not None and memory.total > available:
        raise UsageError(
            f"training needs about {memory.total / 1e9:,.1f} GB of memory, and "
            f"{available / 1e9:,.1f} GB are available. {remedy(config)}"
        )
    with memory_errors(config):
        times = measured_times(setup, setup.updater(computation), on_event)
    return Plan(
        summary,
        None if math.isinf(updates) else int(updates),
        None if math.isinf(updates) else math.ceil(updates / validate_every),
        times,
        memory,
        available,
    )


def memory_of(setup: Setup, computation: Computation) -> MemoryEstimate:
    """Estimate the memory of training, before its optimizer is created."""
    training, vocabularies = setup.config.training, setup.tokenizers.vocabularies
    shapes = setup.data.shapes(training.steps and training.steps * training.parts)
    without_weights = resident_memory() - sum(
        math.prod(weight.shape) * tf.as_dtype(weight.dtype).size
        for weight in setup.model.trainable_variables
    )
    return estimate_memory(setup.config, vocabularies, shapes, computation, without_weights)


def measured_times(setup: Setup, updater: Updater, on_event: OnEvent) -> Times:
    """Compile for a few batches of the first epoch, and measure their updates.

    The batches are evenly spaced among all batches, sorted by length, so that their mean represents
    the mean of all.

    Args:
        setup: of training; its model changes.
        updater: makes the updates.
        on_event: receives a Phase as each part begins.
    """
    training = setup.config.training
    most = training.steps and training.steps * training.parts
    shapes = setup.data.plan(epoch=0).shapes[:most]
    by_length = np.argsort(shapes, kind="stable")
    points = (np.arange(_MEASURED_BATCHES) + 0.5) * len(shapes) / _MEASURED_BATCHES
    batches = [
        next(setup.data.batches(epoch=0, skip=int(number)))
        for number in by_length[points.astype(int)]
    ]
    chosen = {
        (int(rows), int(source), int(target) - 1)
        for (rows, source), (_, target) in (
            (batch.source_BS.shape, batch.target_BT.shape) for batch in batches
        )
    }
    began = time.perf_counter()
    if training.compile != "graph":
        compile_for(sorted(chosen, reverse=True), updater, on_event)
    compilation = (time.perf_counter() - began) * len(np.unique(shapes)) / len(chosen)
    on_event(Phase("Measuring a few updates"))
    seconds = []
    for batch in batches:
        batches_of_update = [batch] * training.parts
        updater.update(batches_of_update, 0, _RATE)
        tf.test.experimental.sync_devices()
        began = time.perf_counter()
        for number in range(_TRIALS):
            updater.update(batches_of_update, number, _RATE)
        tf.test.experimental.sync_devices()
        seconds.append((time.perf_counter() - began) / _TRIALS)
    return Times(compilation, float(np.mean(seconds)))
