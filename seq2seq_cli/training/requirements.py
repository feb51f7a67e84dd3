"""The requirements of training on the machine, checked before it starts."""

import itertools
import shlex
from contextlib import AbstractContextManager
from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.config import NO_DROPOUT, Config
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import count_weights
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime import memory
from seq2seq_cli.runtime.machine import cores
from seq2seq_cli.runtime.parallel import number_of_shards
from seq2seq_cli.vocabularies import Vocabularies

_FLOAT = 4  # bytes
# Minimum number of values that the optimizer keeps for each weight.
_STATES = {"adam": 2, "adamw": 2, "muon": 1, "lion": 1, "adafactor": 0}
_SHARDS_PER_CORE = 4


class MemoryNeeds(NamedTuple):
    """The part of the memory of training that is known beforehand, in bytes.

    Attributes:
        state: of the weights, their gradients and the optimizer's state.
        logits: of the logits of a batch.
    """

    state: int
    logits: int

    @property
    def total(self) -> int:
        """The sum; training needs more than that."""
        return self.state + self.logits


def memory_needs(training: TrainingConfig, target_vocabulary: int, weights: int) -> MemoryNeeds:
    """Return the minimum memory of training.

    Args:
        training: its batches and its optimizer.
        target_vocabulary: number of ids.
        weights: of the model.
    """
    rows = (training.part_pairs or training.part_tokens) * (2 if training.r_drop else 1)
    width = 2 if training.optimizer_states == "bfloat16" else _FLOAT
    accumulates = training.parts > training.parts_at_once(number_of_shards(training))
    trained = 0 if training.freeze else weights  # how many are frozen is not known
    state = _FLOAT * weights * (1 + bool(training.ema))
    state += (_FLOAT * (1 + accumulates) + width * _STATES[training.optimizer]) * trained
    return MemoryNeeds(state, _FLOAT * rows * target_vocabulary)


def check_memory(config: Config, vocabularies: Vocabularies) -> None:
    """Refuse training that needs more memory than there is.

    The memory of a GPU is not known beforehand, so nothing is refused there.

    Raises:
        UsageError: if it is refused; names what to lower.
    """
    if tf.config.get_visible_devices("GPU"):
        return
    available = memory.most_memory()

    def needed(weights: int) -> MemoryNeeds:
        return memory_needs(config.training, vocabularies.target, weights)

    if needed(_most_weights(config, vocabularies)).total <= available:
        return
    weights = count_weights(config.model, vocabularies)
    needs = needed(weights)
    if needs.total > available:
        raise UsageError(
            f"training needs at least {needs.total / 1e9:,.1f} GB of memory, and "
            f"{available / 1e9:,.1f} GB are available. {weights:,} weights with their gradients "
            f"and the optimizer's state need {needs.state / 1e9:,.1f} GB, and the logits of a "
            f"batch {needs.logits / 1e9:,.1f} GB. {remedy(config)}"
        )


def check_r_drop(config: Config) -> None:
    """Refuse R-Drop without dropout. Layer drop is the same in both of its predictions.

    Raises:
        UsageError: if it is refused.
    """
    if config.training.r_drop and not config.has_dropout:
        raise UsageError(NO_DROPOUT.format(config.training.r_drop))


def check_shards(config: TrainingConfig, most_rows: int, workers: int = 1) -> None:
    """Refuse more shards than a batch has rows, or more than four per core.

    Args:
        config: may give the number of shards.
        most_rows: rows of the largest part of a batch.
        workers: number of workers that share the shards, each with as many cores as this one.

    Raises:
        UsageError: if `training.shards` is too large.
    """
    if config.shards is None:
        return
    if config.shards > config.parts * most_rows:
        size = "batch_pairs" if config.batch_pairs else "batch_tokens"
        raise UsageError(
            f"training.shards ({config.shards}) is more than the rows of the largest batch "
            f"({config.parts * most_rows}). Lower it, or raise training.{size} "
            f"({getattr(config, size)})"
        )
    found = cores() * workers
    if config.shards > _SHARDS_PER_CORE * found:
        raise UsageError(
            f"training.shards ({config.shards}) is more than {_SHARDS_PER_CORE} for each of the "
            f"{found} cores, which slows training down. Lower it to "
            f"{_SHARDS_PER_CORE * found} or less, or leave it out"
        )


def check_workers(config: TrainingConfig, shards: int, workers: int) -> None:
    """Refuse more workers than there are shards of a batch.

    Args:
        config: its parts determine the shards of a batch.
        shards: the number of shards of the run.
        workers: the number of workers that share them.

    Raises:
        UsageError: if some workers would have nothing to compute.
    """
    _check_sharing(config, shards, workers, "workers", "Start {} workers or fewer")


def check_devices(config: TrainingConfig, shards: int, devices: int) -> None:
    """Refuse more devices than there are shards of a batch; see `check_workers`."""
    remedy = "Let TensorFlow see {} GPUs or fewer (CUDA_VISIBLE_DEVICES)"
    _check_sharing(config, shards, devices, "devices", remedy)


def _check_sharing(
    config: TrainingConfig, shards: int, number: int, members: str, remedy: str
) -> None:
    def computed(shards: int) -> int:
        at_once = config.parts_at_once(shards)
        return shards // at_once * at_once

    most = computed(shards)
    if number > most:
        enough = next(each for each in itertools.count(number) if computed(each) >= number)
        fewer = remedy.format(most) if most > 1 else "Use --strategy one"
        raise UsageError(
            f"{number} {members} cannot share a batch of {most} shard{'' if most == 1 else 's'} "
            f"(training.shards is {shards}, training.parts {config.parts}). {fewer}. A new run can "
            f"have more shards: --set training.shards={enough}"
        )


def memory_errors(config: Config, run: Run | None = None) -> AbstractContextManager[None]:
    """Turn a lack of memory in the block into an error that names what to lower.

    Args:
        config: of the run.
        run: the run, from whose checkpoints training can continue.
    """
    message = f"training does not fit in memory. {remedy(config)}"
    if run is not None:
        message += ". The saved checkpoints are valid"
        if smaller := _smaller_batches(config.training):
            message += (
                ". Continue with smaller batches: s2s train --resume "
                f"--run {shlex.quote(str(run.path))} --accept-changes --set {smaller}"
            )
    return memory.memory_errors(message)


def _smaller_batches(training: TrainingConfig) -> str:
    """Return the assignment that halves a batch, as far as the longest pair allows.

    It is empty if the batch cannot be smaller.
    """
    key = "batch_pairs" if training.batch_pairs else "batch_tokens"
    longest = max(training.max_source_tokens, training.max_target_tokens)
    least = training.parts if training.batch_pairs else max(64, training.parts * longest)
    size = getattr(training, key)
    return f"training.{key}={max(least, size // 2)}" if size > least else ""


def _most_weights(config: Config, vocabularies: Vocabularies) -> int:
    """Return an upper bound of the number of the model's weights.

    With it, most runs need no exact count, which takes as long as building the model.
    """
    values = config.model.model_dump()
    widths = [value for key, value in values.items() if key.endswith("units") and value]
    widths.append((values.get("head_units") or 0) * values.get("heads", 0))
    width = 2 * max(widths)
    layers = sum(value for key, value in values.items() if key.endswith("layers"))
    ids = vocabularies.source + vocabularies.target
    ids += values.get("max_positions", 0) + values.get("attention_positions", 0)
    return 8 * (layers + 2) * width * (width + 1) + 2 * ids * width


def remedy(config: Config) -> str:
    """Return the advice to lower one of several config keys, with their values."""
    training = config.training
    keys = ["batch_pairs" if training.batch_pairs else "batch_tokens"]
    keys += ["max_source_tokens", "max_target_tokens"]
    keys += ["shards"] if training.shards else []
    lowered = {f"training.{key}": getattr(training, key) for key in keys}
    for key, value in config.model.model_dump().items():
        if key.endswith(("units", "layers")) and value is not None:
            lowered[f"model.{key}"] = value
    lowered["tokenizer.vocabulary_size"] = config.tokenizer.vocabulary_size
    return f"Lower one of {', '.join(f'{key} ({value})' for key, value in lowered.items())}"
