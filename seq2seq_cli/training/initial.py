"""Training that starts from the weights of another run."""

from collections.abc import Callable, Sequence

from seq2seq_cli.config import Config
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.naming import find_run
from seq2seq_cli.runs.resuming import REGULARISATION
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import TO

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


def load_initial_weights(config: Config, model: Seq2Seq, warn: Callable[[str], None]) -> None:
    """Give a model the weights of `training.initial_run`, at its best checkpoint.

    Raises:
        CheckpointError: if there is no such run, or it has no valid checkpoint.
        UsageError: if it is another model. Regularisation may differ, and so may `max_positions` if
            there is no table of positions.
    """
    run = _initial_run(config)
    checkpoint = run.best_checkpoint(warn)
    before, now = (each.model.model_dump() for each in (run.config(), config))
    may_differ = {*REGULARISATION}
    if now.get("positions") != "learned":
        may_differ.add("max_positions")
    differences = [
        f"model.{key}: {before.get(key)!r} there, {now.get(key)!r} here"
        for key in {**before, **now}
        if key not in may_differ and before.get(key) != now.get(key)
    ]
    if differences:
        raise UsageError(
            f"training.initial_run: {run.path} has another model: {'; '.join(differences)}. Use "
            "the values of that run"
        )
    checkpoint.restore(checkpoint.weights, model.trainable_variables)


def _initial_run(config: Config) -> Run:
    try:
        return find_run(config.training.initial_run)
    except CheckpointError as error:
        raise CheckpointError(f"training.initial_run: {error}") from error
