"""When training ends, and its learning rate until then."""

import math

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runs.state import Position


class Schedule:
    """When training ends, and its learning rate until then.

    The share of training that is done grows from 0 to 1. It is 1 as soon as one of the limits
    (epochs, updates, time) is reached. In the warm-up the learning rate rises linearly. Then, with
    d for the share that is done and u for the progress in units of the warm-up, it is the peak
    times

        cosine                (1 + cos(pi d)) / 2     Loshchilov and Hutter (2017), equation 5,
                                                      without restarts
        linear                1 - d
        inverse_sqrt          1 / sqrt(u)             Vaswani et al. (2017), equation 3
        constant              1
        warmup_stable_decay   min(1, (1 - d) / decay_share)     Hu et al. (2024), "MiniCPM",
                                                      section 4, with a linear decay

    Cosine and linear also fall during the warm-up, so they are slightly below the peak at its end.
    Only the warm-up leaves out the time that each process takes before its first update. A time
    budget, and so d, includes it.

    Args:
        config: limits, patience, peak learning rate, schedule and warm-up.
        updates_per_epoch: updates in an epoch.
    """

    def __init__(self, config: TrainingConfig, updates_per_epoch: int):
        self._config = config
        self._updates_per_epoch = updates_per_epoch
        self._steps = config.steps or math.inf
        self._updates_of_epochs = (config.epoch_limit or math.inf) * updates_per_epoch
        self._budget_seconds = config.budget_seconds or math.inf

    def updates_left(self, position: Position) -> float:
        """Return how many updates are left at a position; infinity if only time limits them."""
        in_epochs = self._updates_of_epochs - self._updates_in_epochs(position)
        return max(0.0, min(self._steps - position.step, in_epochs))

    def share_done(self, position: Position) -> float:
        """Return the share of training that is done at a position, at most 1."""
        return min(1.0, max(self._share_of_updates(position), self._share_of_time(position)))

    def learning_rate(self, position: Position) -> float:
        """Return the learning rate of the next update."""
        warm = self._warm(position)
        factor = _factor(self._config, self.share_done(position), warm)
        return self._config.peak_learning_rate * min(1.0, warm) * factor

    def is_warming_up(self, position: Position) -> bool:
        """Return whether the next update is before the end of the warm-up."""
        return self._warm(position) < 1

    def reason_to_end(self, position: Position) -> str:
        """Return why training ends at a position, as a clause; empty if it continues."""
        if position.validations_since_best >= self._config.patience:
            return f"dev BLEU has not risen in {self._config.patience} validations"
        if position.step and self.share_done(position) >= 1:
            return "the training is complete"
        return ""

    def _warm(self, position: Position) -> float:
        """Return the progress in units of the warm-up."""
        config = self._config
        # A short run has a short warm-up. The time before updates does not shorten it.
        begun = max(
            self._share_of_updates(position),
            self._share_of_time(position, position.seconds_before_updates),
        )
        return max((position.step + 1) / max(config.warmup_steps, 1), begun / config.warmup_share)

    def _updates_in_epochs(self, position: Position) -> int:
        """Return the number of updates of the epochs so far, if their batches were those of now."""
        # An epoch that began with smaller batches may have had more than an epoch has now.
        of_this_epoch = min(-(-position.batch // self._config.parts), self._updates_per_epoch)
        return position.epoch * self._updates_per_epoch + of_this_epoch

    def _share_of_updates(self, position: Position) -> float:
        in_epochs = self._updates_in_epochs(position) / self._updates_of_epochs
        return max(position.step / self._steps, in_epochs)

    def _share_of_time(self, position: Position, after: float = 0.0) -> float:
        """Return the share of the time budget after `after` seconds that is over."""
        left = max(self._budget_seconds - after, 1e-9)
        return max(0.0, position.seconds - after) / left


def _factor(config: TrainingConfig, done: float, warm: float) -> float:
    """Return the factor by which a schedule multiplies the peak, apart from the warm-up.

    Args:
        config: names the schedule.
        done: share of training that is done.
        warm: the progress in units of the warm-up.
    """
    match config.schedule:
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
        case "linear":
            return 1 - done
        case "inverse_sqrt":
            return max(1.0, warm) ** -0.5
        case "warmup_stable_decay":
            return min(1.0, (1 - done) / config.decay_share)
        case _:
            return 1.0
