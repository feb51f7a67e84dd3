"""Training that starts from the weights of another run."""

from collections.abc import Sequence
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.model import AttentionStackConfig, ModelConfig, RNNConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.resuming import REGULARISATION
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import TO
from seq2seq_cli.work import Warn

_VOCABULARY_KEYS = ("kind", "vocabulary_size", "vocabularies", "model", "target_model")


def initial_tokenizers(config: Config, tags: Sequence[str] = ()) -> Tokenizers:
    """Return the tokenizers of `training.initial_run`.

    Args:
        config: names the run.
        tags: those that training needs.

    Raises:
        CheckpointError: if there is no such run.
        UsageError: if `[tokenizer]` describes another vocabulary, or a tag is missing in it.
    """
    run = _initial_run(config)
    before, now = run.config().tokenizer, config.tokenizer
    differences = [
        f"tokenizer.{key}: {getattr(before, key)!r} there, {getattr(now, key)!r} here"
        for key in _VOCABULARY_KEYS
        if getattr(before, key) != getattr(now, key)
    ]
    if differences:
        raise UsageError(
            f"training.initial_run: {run.path} has another vocabulary, which its weights need: "
            f"{'; '.join(differences)}. Use the values of that run"
        )
    tokenizers = Tokenizers.load(run.tokenizer)
    usual = [TO + config.data.target_language] if tokenizers.source.languages else []
    needed = dict.fromkeys([*tags, *usual])
    missing = [f"<{tag}>" for tag in needed if tag not in tokenizers.source.tags]
    if missing:
        raise UsageError(
            f"training.initial_run: the vocabulary of {run.path} has no tag {' '.join(missing)}. "
            "Start from a run that has the same tags, or leave out the tags (data.both_directions, "
            "tag in data.sources)"
        )
    return tokenizers


def load_initial_weights(config: Config, model: Seq2Seq, warn: Warn) -> None:
    """Give a model the weights of `training.initial_run`, at its best checkpoint.

    Raises:
        CheckpointError: if there is no such run, or it has no valid checkpoint.
        UsageError: if it is another model. Regularisation may differ, and so may keys without
            effect.
    """
    run = _initial_run(config)
    checkpoint = run.best_checkpoint(warn)
    before, now = (_effective(each.model) for each in (run.config(), config))
    differences = [
        f"model.{key}: {value!r} there, {now[key]!r} here"
        for key, value in before.items()
        if key in now and value != now[key]
    ]
    if differences:
        raise UsageError(
            f"training.initial_run: {run.path} has another model: {'; '.join(differences)}. Use "
            "the values of that run"
        )
    checkpoint.restore(checkpoint.weights, model.trainable_variables)


def _effective(model: ModelConfig) -> dict[str, Any]:
    """Return the values that determine a model, by key, with the defaults of keys that are None."""
    values = model.model_dump(exclude=REGULARISATION)
    has_effect: dict[str, bool] = {}
    if isinstance(model, AttentionStackConfig):
        values["head_units"] = model.head_width
        values["key_value_heads"] = model.key_value_heads or model.heads
        has_effect = {"max_positions": model.positions == "learned"}
    elif isinstance(model, RNNConfig):
        has_effect = {
            "attention_units": model.attention in ("additive", "concat"),
            "attention_positions": model.attention == "location",
            "attention_window": model.attention_span != "global",
            "input_feeding": model.wiring == "luong" and model.has_attention,
        }
    return {key: value for key, value in values.items() if has_effect.get(key, True)}


def _initial_run(config: Config) -> Run:
    try:
        return find_run(config.training.initial_run)
    except CheckpointError as error:
        raise CheckpointError(f"training.initial_run: {error}") from error
