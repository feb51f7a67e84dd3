"""When a training ends, and the learning rate on the way there."""

import math

from seq2seq_cli.config.training import TrainingConfig


class Schedule:
    """When training ends, and the learning rate on the way there.

    Progress runs from 0 to 1 at whichever of the limits (epochs, steps, time) is reached first. The
    rate rises in a straight line in the warm-up and falls along half a cosine to 0 at the end
    (Loshchilov and Hutter 2017, equation 5, without restarts).

    Args:
        config: limits, peak rate and warm-up.
        steps_per_epoch: batches in a pass over the data.
    """

    WARMUP_SHARE = 0.1

    def __init__(self, config: TrainingConfig, steps_per_epoch: int):
        self._peak = config.peak_learning_rate
        self._warmup_steps = config.warmup_steps
        self._budget_seconds = config.budget_seconds or math.inf
        epochs = config.epoch_limit
        self.total_steps = min(
            config.steps or math.inf, epochs * steps_per_epoch if epochs else math.inf
        )

    def progress(self, step: int, seconds: float) -> float:
        """Return how much is done after `step` updates and `seconds` of training, at most 1."""
        return min(1.0, max(step / self.total_steps, seconds / self._budget_seconds))

    def learning_rate(self, step: int, seconds: float) -> float:
        """Return the rate of the update that follows `step` updates."""
        progress = self.progress(step, seconds)
        # A short training does not spend itself on the warm-up.
        warm = max((step + 1) / max(self._warmup_steps, 1), progress / self.WARMUP_SHARE)
        return self._peak * min(1.0, warm) * 0.5 * (1 + math.cos(math.pi * progress))
