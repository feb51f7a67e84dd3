"""With which config a training continues."""

from seq2seq_cli.config import Config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.run import Run

# Keys that may differ when a training continues: they change no result.
_FREE = {"training.device", "training.trackers"}
_LIMITS = ("epochs", "steps", "budget_seconds", "patience")  # of [training]


def resumed_config(run: Run, *layers: Overrides, raising: bool = False) -> Config:
    """Return the run's config, which `layers` may repeat but not change.

    Args:
        run: the run.
        layers: values of options.
        raising: whether they may raise a limit of the training.

    Raises:
        UsageError: naming each key that differs, with both values.
    """
    before = run.config()
    kinds = [layer["model.kind"] for layer in layers if "model.kind" in layer]
    if kinds and kinds[-1] != before.model.kind:  # another kind has other keys: no more to compare
        now, old, new = before, {"model.kind": before.model.kind}, {"model.kind": kinds[-1]}
    else:
        now = run.config(*layers)
        old, new = before.flat(), now.flat()
    free = _FREE | (raised_limits(before, now).keys() if raising else set())
    changed = [key for key in old if old[key] != new[key] and key not in free]
    if changed:
        lines = [f"  {key}: {old[key]!r} there, {new[key]!r} now" for key in changed]
        limits = any(key == f"training.{limit}" for key in changed for limit in _LIMITS)
        hint = "A limit can be raised, but not lowered or added. " if raising and limits else ""
        raise UsageError(
            f"--resume: {run.path} was begun with another config:\n" + "\n".join(lines) + "\n"
            f"{hint}Leave these out to go on, or leave --resume out to begin a new run"
        )
    return now


def raised_limits(before: Config, now: Config) -> dict[str, tuple[float, float]]:
    """Return by key the limits of a training that are higher now, as (before, now)."""
    raised = {}
    for limit in _LIMITS:
        attribute = "epoch_limit" if limit == "epochs" else limit
        old, new = (getattr(config.training, attribute) for config in (before, now))
        if old is not None and new is not None and new > old:
            raised[f"training.{limit}"] = old, new
    return raised
