"""When a training ends, and its learning rate until then."""

import math

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runs.checkpoints import Position


class Schedule:
    """When training ends, and its learning rate until then.

    The share of the training that is done grows from 0 to 1. It is 1 as soon as one of the limits
    (epochs, updates, time) is reached. In the warm-up the learning rate rises along a straight
    line. It then falls to 0 at the end along half a cosine (Loshchilov and Hutter 2017, equation 5,
    without restarts).

    Args:
        config: limits, patience, peak learning rate and warm-up.
        updates_per_epoch: batches in a pass over the data.

    Attributes:
        total_updates: updates after which training ends, or infinity.
    """

    WARMUP_SHARE = 0.1

    def __init__(self, config: TrainingConfig, updates_per_epoch: int):
        self._config = config
        self._budget_seconds = config.budget_seconds or math.inf
        epochs = config.epoch_limit
        self.total_updates = min(
            config.steps or math.inf, epochs * updates_per_epoch if epochs else math.inf
        )

    def share_done(self, updates: int, seconds: float) -> float:
        """Return the share of the training that is done, at most 1.

        Args:
            updates: made so far.
            seconds: spent in training so far.
        """
        return min(1.0, max(updates / self.total_updates, seconds / self._budget_seconds))

    def learning_rate(self, updates: int, seconds: float) -> float:
        """Return the learning rate of the next update, after so many updates and seconds."""
        done = self.share_done(updates, seconds)
        # A short training has a short warm-up.
        warm = max((updates + 1) / max(self._config.warmup_steps, 1), done / self.WARMUP_SHARE)
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        return self._config.peak_learning_rate * min(1.0, warm) * cosine

    def reason_to_end(self, position: Position) -> str:
        """Return why training ends at a position, as a clause; empty where it continues."""
        if position.validations_since_best >= self._config.patience:
            return f"dev BLEU has not risen in {self._config.patience} validations"
        if position.step and self.share_done(position.step, position.seconds) >= 1:
            return "the training is complete"
        return ""
