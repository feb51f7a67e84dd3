"""How a training goes: the figures of its latest updates."""

import math
import time

import numpy as np
import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.errors import DivergedError
from seq2seq_cli.runs.state import Position
from seq2seq_cli.training.events import Progress
from seq2seq_cli.training.pace import Pace
from seq2seq_cli.training.schedule import Schedule


class ProgressMeter:
    """Gathers the figures of updates, and makes a Progress of them.

    Losses and norms stay tensors until then, so that no update waits for the one before.

    Args:
        config: may limit the time.
        schedule: of the training.
        validate_every: updates between validations.
        padding_share: share of the positions in the batches that holds no token.
    """

    def __init__(
        self,
        config: TrainingConfig,
        schedule: Schedule,
        validate_every: int,
        padding_share: float,
    ):
        self._schedule = schedule
        self._padding_share = padding_share
        self._pace = Pace(schedule.total_updates, config.budget_seconds or math.inf, validate_every)
        self._learning_rate = 0.0
        self._recent: list[tuple[tf.Tensor, tf.Tensor, int]] = []  # loss, norm, pairs of updates
        self._resumed = time.monotonic()

    def resume(self) -> None:
        """Count time from now on; the time since the last Progress was not spent on updates."""
        self._resumed = time.monotonic()

    def updated(self, loss: tf.Tensor, norm: tf.Tensor, pairs: int, learning_rate: float) -> None:
        """Add an update.

        Args:
            loss: its mean, nats per token.
            norm: of the gradient, before clipping.
            pairs: in its batch.
            learning_rate: that it was made with.
        """
        self._recent.append((loss, norm, pairs))
        self._learning_rate = learning_rate

    def validated(self, seconds: float) -> None:
        """Add how long a validation took."""
        self._pace.validated(seconds)

    def progress(self, position: Position) -> Progress:
        """Return the figures of the updates since the last Progress.

        Raises:
            DivergedError: if the loss or the gradient of one of them is not finite.
        """
        losses = [float(loss) for loss, _, _ in self._recent]
        norms = [float(norm) for _, norm, _ in self._recent]
        if not np.isfinite(losses + norms).all():
            raise DivergedError(
                f"the loss or its gradient is not finite at step {position.step} or up to "
                f"{len(losses) - 1} before it; no checkpoint was made of that. Lower "
                "training.peak_learning_rate or training.gradient_clip_norm and train again"
            )
        now = time.monotonic()
        pairs = sum(pairs for _, _, pairs in self._recent)
        seconds = now - self._resumed
        self._pace.updated(len(losses), seconds)
        self._recent, self._resumed = [], now
        return Progress(
            step=position.step,
            epoch=position.epoch + 1,
            loss=float(np.mean(losses)),
            learning_rate=self._learning_rate,
            gradient_norm=norms[-1],
            pairs_per_second=pairs / seconds,
            padding_share=self._padding_share,
            seconds=position.seconds,
            share_done=self._schedule.share_done(position.step, position.seconds),
            seconds_left=self._pace.seconds_left(position.step, position.seconds),
            dev_bleu=position.last_dev_bleu,
        )
