"""What changes when training continues with a higher limit."""

from seq2seq_cli.config import Config
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runs.resuming import raised_limits
from seq2seq_cli.runs.state import Position
from seq2seq_cli.training.schedule import Schedule


def extension(before: Config, now: Config, updates_per_epoch: int, position: Position) -> str:
    """Return a text that names the limits that are higher now, and the consequences.

    Args:
        before: the config until now.
        now: the config from now on.
        updates_per_epoch: updates in an epoch.
        position: where training continues.

    Returns:
        The text, empty if no limit is higher.
    """
    raised = raised_limits(before, now)
    if not raised:
        return ""
    limits = ", ".join(
        f"{key} is {_written(new)} and was {_written(old)}" for key, (old, new) in raised.items()
    )
    if position.validations_since_best >= now.training.patience:
        return (
            f"{limits}. Training ends again at once, because dev BLEU has not risen in "
            f"{now.training.patience} validations. Also raise training.patience, such as by "
            f"--set training.patience={2 * now.training.patience}"
        )
    if raised.keys() == {"training.patience"} and before.training.budget_seconds:
        return f"{limits}. The learning rate continues on its course"
    schedules = [Schedule(config.training, updates_per_epoch) for config in (before, now)]
    # With a time budget, the times of the updates cannot be repeated.
    is_timed = before.training.budget_seconds or now.training.budget_seconds
    if not is_timed and _have_same_rates(schedules, now.training, updates_per_epoch, position):
        every = now.training.validate_every_steps or updates_per_epoch
        if schedules[0].share_done(position) < 1 or position.step % every == 0:
            return (
                f"{limits}. The learning rate so far does not depend on the limit, so the result "
                "is that of a run with this limit from the start"
            )
        return (
            f"{limits}. The learning rate so far does not depend on the limit. But a run with this "
            f"limit from the start would not have validated after {position.step:,} updates, so "
            "its best checkpoint, or its end by training.patience, may differ"
        )
    old, new = (each.learning_rate(position) for each in schedules)
    return (
        f"{limits}. The learning rate continues at {new:.2g}, on its course to the new end "
        f'(training.schedule = "{now.training.schedule}"); before, it was {old:.2g}. The '
        "result differs from that of a run with this limit from the start"
    )


def _written(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _have_same_rates(
    schedules: list[Schedule], config: TrainingConfig, updates_per_epoch: int, position: Position
) -> bool:
    """Return whether both schedules give all updates so far the same learning rate."""
    old, new = schedules
    past = Position.at_start()
    for step in range(position.step):
        epoch, update = divmod(step, updates_per_epoch)
        past.step, past.epoch, past.batch = step, epoch, update * config.parts
        if old.learning_rate(past) != new.learning_rate(past):
            return False
    return True
