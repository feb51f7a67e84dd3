"""What a training would do and need, without training."""

import math
from dataclasses import dataclass

import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.runs.run import Run, next_path
from seq2seq_cli.runtime.computation import choose_computation
from seq2seq_cli.runtime.memory import most_memory
from seq2seq_cli.training.events import OnEvent, Phase, Summary
from seq2seq_cli.training.requirements import MemoryNeeds, memory_needs
from seq2seq_cli.training.schedule import Schedule
from seq2seq_cli.training.setup import set_up


@dataclass(frozen=True)
class Plan:
    """What a training would do and need.

    Attributes:
        summary: as the training would show it; its run is the folder that would be made.
        updates: the maximum number of updates; None if only the time is limited.
        memory: what the training needs at least.
        available_memory: bytes that the process can have; None on a GPU.
    """

    summary: Summary
    updates: int | None
    memory: MemoryNeeds
    available_memory: int | None


def plan(config: Config, on_event: OnEvent, name: str | None = None, device: str = "") -> Plan:
    """Set a training up as `train` does, but make no update and no run.

    Args:
        config: everything that determines the result.
        on_event: receives a Phase as each part begins.
        name: of the run; None for the next number.
        device: a description of it, for the summary.

    Raises:
        UsageError: if the training does not fit in memory, or has too many shards.
        DataError: if the corpus cannot be used.
    """
    setup = set_up(config, on_event)
    on_event(Phase("Measuring what is fastest on this device"))
    computation = choose_computation(config.training, setup.model, device)
    summary = setup.summary(Run(next_path(name, config.model.label)), computation)
    updates = Schedule(config.training, setup.data.steps_per_epoch).total_updates
    vocabulary = setup.tokenizers.vocabularies.target
    return Plan(
        summary,
        None if math.isinf(updates) else int(updates),
        memory_needs(config.training, vocabulary, summary.parameters),
        None if tf.config.get_visible_devices("GPU") else most_memory(),
    )
