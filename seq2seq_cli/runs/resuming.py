"""The config of resumed training, which may differ from that of the run in a few keys only."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from seq2seq_cli.config import Config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.run import Run

# Keys that may differ in resumed training, because they do not change the result. They are not
# stored: they hold for one process.
_FREE = {
    "training.device",
    "training.strategy",
    "training.trackers",
    "training.wait_seconds",
}
# Keys that may differ for the same reason, and are stored.
_NEUTRAL = {
    "training.keep_checkpoints",
    "training.keep_best_checkpoints",
    "training.checkpoint_minutes",
}
# Tables and keys that must not differ. The checkpoints or the vocabulary would not fit, or the key
# acts only at the start of training.
_FITTING = {"tokenizer", "model"}
REGULARISATION = {
    "dropout",
    "attention_dropout",
    "inner_dropout",
    "variational_dropout",
    "encoder_layer_drop",
    "activation_penalty",
    "sampling_alpha",
}
"""Keys of these tables that may differ all the same: they act only in training."""
_BEGINNING = {
    f"training.{key}" for key in ("optimizer", "optimizer_states", "ema", "freeze", "initial_run")
}
_LIMITS = ("epochs", "steps", "budget_seconds", "patience")  # of [training]


def resumed_config(
    run: Run, *layers: Overrides, raising: bool = False, accepting: bool = False
) -> Config:
    """Return the config of a run with the values of `layers`.

    The values may repeat those of the run, but not change them, except as follows.

    Args:
        run: the run.
        layers: values of options.
        raising: whether they may raise a limit of training.
        accepting: whether they may change all keys that the run's checkpoints do not depend on.

    Raises:
        UsageError: if other values differ. The error names the keys with both values.
    """
    before = run.config()
    kinds = [layer["model.kind"] for layer in layers if "model.kind" in layer]
    if kinds and kinds[-1] != before.model.kind:  # another kind of model has other keys
        now, changed = before, {"model.kind": (before.model.kind, kinds[-1])}
    else:
        now = run.config(_default_device(layers), *layers)
        changed = changes(before, now)
    if raising:
        raised = raised_limits(before, now)
        changed = {key: both for key, both in changed.items() if key not in raised}
    refused = {key: both for key, both in changed.items() if not accepting or not _can_change(key)}
    if refused:
        raise UsageError(_refusal(run, refused, raising, accepting))
    return now


def changes(before: Config, now: Config) -> dict[str, tuple[Any, Any]]:
    """Return the keys that differ in two configs and may change the result, with (before, now).

    If the models are of different kinds, return only the kind.
    """
    if before.model.kind != now.model.kind:
        return {"model.kind": (before.model.kind, now.model.kind)}
    old, new = before.flat(), now.flat()
    return {
        key: (value, new[key])
        for key, value in old.items()
        if value != new[key]
        if key not in _FREE | _NEUTRAL
    }


def _default_device(layers: Sequence[Overrides]) -> Overrides:
    """Return the default device if the strategy in `layers` excludes the stored one."""
    given = Overrides()
    for layer in layers:
        given.set_all(layer)
    default = Overrides()
    if given.get("training.strategy") == "mirrored":
        default.set("training.device", "auto", "--strategy")
    return default


def stored_config(before: Config, now: Config) -> Config:
    """Return the config that resumed training stores.

    Args:
        before: the config of the run.
        now: the config of this process.
    """
    free = {key.removeprefix("training.") for key in _FREE}
    try:
        return _with_training(now, before.training.model_dump(include=free))
    except ValidationError:  # another key has changed, and excludes the strategy of the run
        return _with_training(now, before.training.model_dump(include=free - {"strategy"}))


def _with_training(config: Config, values: dict[str, Any]) -> Config:
    """Return the config with other values of `[training]`, validated."""
    training = config.training.model_dump() | values
    return Config.model_validate(config.model_dump() | {"training": training})


def _can_change(key: str) -> bool:
    """Return whether training can continue from the checkpoints of a run if a key changes."""
    table, _, name = key.partition(".")
    return key not in _BEGINNING and (table not in _FITTING or name in REGULARISATION)


def _refusal(run: Run, changed: dict[str, tuple[Any, Any]], raising: bool, accepting: bool) -> str:
    """Return the error message for changed keys."""
    lines = [f"  {key}: {old!r} there, {new!r} now" for key, (old, new) in changed.items()]
    limits = any(key == f"training.{limit}" for key in changed for limit in _LIMITS)
    hint = "A limit can be raised, but not lowered or added. " if raising and limits else ""
    remedy = "Leave these out to continue, or leave out --resume to start a new run"
    if accepting:
        hint = "The run's checkpoints do not fit these. "
    elif raising and all(map(_can_change, changed)):
        remedy += ". --accept-changes continues with them, but the result is then not exact"
    return "\n".join(
        [f"--resume: {run.path} was started with another config:", *lines, f"{hint}{remedy}"]
    )


def raised_limits(before: Config, now: Config) -> dict[str, tuple[float, float]]:
    """Return the limits of training that are higher now, by key, with (before, now)."""
    raised = {}
    for limit in _LIMITS:
        attribute = "epoch_limit" if limit == "epochs" else limit
        old, new = (getattr(config.training, attribute) for config in (before, now))
        if old is not None and new is not None and new > old:
            raised[f"training.{limit}"] = old, new
    return raised
