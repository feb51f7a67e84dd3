"""The progress of training: the figures of its latest updates."""

import math
import time

import numpy as np

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.runs.state import Position
from seq2seq_cli.training.divergence import DivergenceCheck, Update
from seq2seq_cli.training.events import Progress
from seq2seq_cli.training.pace import Pace
from seq2seq_cli.training.schedule import Schedule


class ProgressMeter:
    """Gathers the figures of updates, and makes a Progress of them.

    Losses and norms remain tensors until then, so that no update waits for the previous one.

    Args:
        config: may limit the time.
        schedule: of training.
        validate_every: updates between validations.
        padding_share: share of the positions in the batches that holds no token.
        divergence: checks the figures of each update.
    """

    def __init__(
        self,
        config: TrainingConfig,
        schedule: Schedule,
        validate_every: int,
        padding_share: float,
        divergence: DivergenceCheck,
    ):
        self._schedule = schedule
        self._padding_share = padding_share
        self._pace = Pace(config.budget_seconds or math.inf, validate_every)
        self._divergence = divergence
        self._recent: list[Update] = []
        self._resumed = time.monotonic()

    def resume(self) -> None:
        """Count time from now; the time since the last Progress was not spent on updates."""
        self._resumed = time.monotonic()

    @property
    def has_updates(self) -> bool:
        """Whether there were updates since the last Progress."""
        return bool(self._recent)

    def updated(self, update: Update) -> None:
        """Add an update, whose loss and norm are tensors."""
        self._recent.append(update)

    def validated(self, seconds: float) -> None:
        """Add the time that a validation took."""
        self._pace.validated(seconds)

    def progress(self, position: Position) -> Progress:
        """Return the figures of the updates since the last Progress.

        Raises:
            DivergedError: if the loss or the gradient of one of them is not finite.
        """
        recent = [u._replace(loss=float(u.loss), norm=float(u.norm)) for u in self._recent]
        self._divergence.check_updates(position.step, recent)
        now = time.monotonic()
        pairs = sum(update.pairs for update in recent)
        seconds = now - self._resumed
        self._pace.updated(len(recent), seconds)
        self._recent, self._resumed = [], now
        return Progress(
            step=position.step,
            epoch=position.epoch + 1,
            loss=float(np.mean([update.loss for update in recent])),
            learning_rate=recent[-1].learning_rate,
            gradient_norm=recent[-1].norm,
            pairs_per_second=pairs / seconds,
            padding_share=self._padding_share,
            seconds=position.seconds,
            share_done=self._schedule.share_done(position),
            seconds_left=self._pace.seconds_left(
                self._schedule.updates_left(position), position.seconds
            ),
            dev_bleu=position.last_dev_bleu,
        )
