"""What a training needs of the machine, checked before it begins."""

from contextlib import AbstractContextManager

import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.errors import UsageError
from seq2seq_cli.models import build_model, count_weights
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime import memory
from seq2seq_cli.runtime.parallel import cores
from seq2seq_cli.vocabularies import Vocabularies

_FLOAT = 4  # bytes
_COPIES = 4  # of each weight: itself, its gradient and Adam's two moments
_SHARDS_PER_CORE = 4


def build_trainable(config: Config, tokenizers: Tokenizers) -> Seq2Seq:
    """Build the model that a config describes, unless its training cannot fit in memory.

    Raises:
        UsageError: if it cannot, with what to lower.
    """
    check_memory(config, tokenizers.vocabularies)
    with memory_errors(config):
        return build_model(config.model, tokenizers.vocabularies, config.training.seed)


def check_memory(config: Config, vocabularies: Vocabularies) -> None:
    """Refuse a training that needs more memory than there is.

    What counts are the weights with what belongs to each, and the logits of a batch. A training
    needs more than that. A GPU's memory is not known beforehand; there nothing is refused.

    Raises:
        UsageError: if it is refused, with what to lower.
    """
    if tf.config.get_visible_devices("GPU"):
        return
    available = memory.most_memory()
    logits = _FLOAT * config.training.batch_tokens * vocabularies.target
    if config.training.batch_pairs:
        logits = _FLOAT * config.training.batch_pairs * vocabularies.target
    if logits + _FLOAT * _COPIES * _most_weights(config, vocabularies) <= available:
        return
    weights = count_weights(config.model, vocabularies)
    needed = logits + _FLOAT * _COPIES * weights
    if needed > available:
        raise UsageError(
            f"this training needs at least {needed / 1e9:,.1f} GB of memory, and "
            f"{available / 1e9:,.1f} GB are available. {weights:,} weights with their gradients "
            f"and Adam's moments need {_FLOAT * _COPIES * weights / 1e9:,.1f} GB, and the logits "
            f"of a batch {logits / 1e9:,.1f} GB. {_remedy(config)}"
        )


def check_shards(config: TrainingConfig, most_rows: int) -> None:
    """Refuse more parts of a batch than it has rows, or than the cores can gain by.

    Args:
        config: may give the number of parts.
        most_rows: of any batch.

    Raises:
        UsageError: if `training.shards` is too large.
    """
    if config.shards is None:
        return
    if config.shards > most_rows:
        size = "batch_pairs" if config.batch_pairs else "batch_tokens"
        raise UsageError(
            f"training.shards ({config.shards}) is more than the rows of the largest batch "
            f"({most_rows}). Lower it, or raise training.{size} ({getattr(config, size)})"
        )
    if config.shards > _SHARDS_PER_CORE * cores():
        raise UsageError(
            f"training.shards ({config.shards}) is more than {_SHARDS_PER_CORE} for each of the "
            f"{cores()} cores, which slows a training down. Lower it to "
            f"{_SHARDS_PER_CORE * cores()} or less, or leave it out"
        )


def memory_errors(config: Config) -> AbstractContextManager[None]:
    """Turn a want of memory in a training into an error that says what to lower."""
    return memory.memory_errors(f"the training does not fit in memory. {_remedy(config)}")


def _most_weights(config: Config, vocabularies: Vocabularies) -> int:
    """Return a number that the model's weights do not exceed.

    It spares most trainings the count, which takes as long as building the model.
    """
    values = config.model.model_dump()
    width = 2 * max(value for key, value in values.items() if key.endswith("units"))
    layers = sum(value for key, value in values.items() if key.endswith("layers"))
    ids = vocabularies.source + vocabularies.target + values.get("max_positions", 0)
    return 8 * (layers + 2) * width * (width + 1) + 2 * ids * width


def _remedy(config: Config) -> str:
    """Return which keys to lower, with their values."""
    training = config.training
    keys = ["batch_pairs" if training.batch_pairs else "batch_tokens"]
    keys += ["max_source_tokens", "max_target_tokens"]
    keys += ["shards"] if training.shards else []
    lowered = {f"training.{key}": getattr(training, key) for key in keys}
    for key, value in config.model.model_dump().items():
        if key.endswith(("units", "layers")):
            lowered[f"model.{key}"] = value
    lowered["tokenizer.vocabulary_size"] = config.tokenizer.vocabulary_size
    return f"Lower one of {', '.join(f'{key} ({value})' for key, value in lowered.items())}"
