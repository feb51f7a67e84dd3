"""Ends training whose loss, gradient or weights are not finite, with the likely cause."""

import math
import statistics
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.errors import DivergedError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.saving import Saved

_SHOWN_PAIRS = 3
_SHOWN_CHARACTERS = 60  # of a sentence
_WINDOW = 100  # updates whose gradient norms are the usual ones
_EXPLODING = 10.0  # times the usual gradient norm
_LEAST_EPSILON = 1e-37  # smaller ones are 0 in float32


class Update(NamedTuple):
    """The figures of an update.

    Attributes:
        loss: the mean of its tokens, in nats.
        norm: of the gradient, before clipping.
        pairs: number of pairs in its batch.
        learning_rate: of the update.
        epoch: number of epochs before that of the update.
        first_part: number of parts of batches of this epoch before the update.
        parts: number of parts of its batch.
    """

    loss: Any
    norm: Any
    pairs: int
    learning_rate: float
    epoch: int = 0
    first_part: int = 0
    parts: int = 1


class HasBatches(Protocol):
    """An object that knows the pairs of each batch, such as TrainingData."""

    def pairs_of(self, epoch: int, first_part: int, parts: int = 1) -> list[Pair]:
        """Return the pairs of some parts of batches of an epoch."""


class DivergenceCheck:
    """Raises an error as soon as a figure of training is not finite.

    Args:
        config: has the learning rate and other possible causes.
        data: the pairs of each batch.
        run: contains the earlier checkpoints.
        precision: of the matrix products.
    """

    def __init__(self, config: TrainingConfig, data: HasBatches, run: Run, precision: str):
        self._config = config
        self._data = data
        self._run = run
        self._precision = precision
        self._norms: deque[float] = deque(maxlen=_WINDOW)

    def check_updates(self, last: int, updates: Sequence[Update]) -> None:
        """Check the loss and the gradient's norm of updates, the last of which is number `last`.

        Raises:
            DivergedError: naming the first update in which one is not finite.
        """
        for step, update in enumerate(updates, last - len(updates) + 1):
            if math.isfinite(update.loss) and math.isfinite(update.norm):
                self._norms.append(update.norm)
                continue
            if math.isfinite(update.loss):
                what = f"the gradient's norm is {update.norm} (loss {update.loss:.4g})"
            else:
                what = f"the loss is {update.loss}"
            raise self._error(
                f"{what} at step {step}, {self._described(update)}\n"
                f"Likely cause: {self._cause(step, update)}"
            )

    def check_weights(self, step: int, variables: Iterable[Saved]) -> None:
        """Check the weights and the optimizer's state after an update, before they are saved.

        Raises:
            DivergedError: naming the first variable that has a value that is not finite.
        """
        for variable in variables:
            if not np.isfinite(variable.numpy()).all():
                raise self._error(
                    f"{variable.path} has values that are not finite after step {step}, although "
                    f"loss and gradient are finite\nLikely cause: {self._cause_in_the_optimizer()}"
                )

    def check_dev_loss(self, step: int, loss: float) -> None:
        """Check the loss on the dev split.

        Raises:
            DivergedError: if it is not finite.
        """
        if not math.isfinite(loss):
            raise self._error(
                f"the dev loss is {loss} after step {step}, although the weights are finite\n"
                f"Likely cause: {self._cause_in_the_optimizer()}"
            )

    def _described(self, update: Update) -> str:
        """Return the position of the update's pairs, and the first of them."""
        pairs = self._data.pairs_of(update.epoch, update.first_part, update.parts)
        shown = [f"  {_shown(source)} → {_shown(target)}" for source, target in pairs]
        if len(pairs) > _SHOWN_PAIRS:
            shown[_SHOWN_PAIRS:] = [f"  and {len(pairs) - _SHOWN_PAIRS} more"]
        batch = update.first_part // self._config.parts + 1
        where = f"in epoch {update.epoch + 1}, batch {batch}"
        return "\n".join([f"{where}, with these pairs:", *shown])

    def _cause(self, step: int, update: Update) -> str:
        config = self._config
        if not self._norms:
            if step == 1 and config.initial_run:
                return f"the weights of training.initial_run ({config.initial_run})"
            if step == 1:
                return "the initial weights: the sizes in [model] give numbers that are too large"
            return self._cause_in_the_optimizer()
        usual = statistics.median(self._norms)
        if self._norms[-1] > _EXPLODING * usual:
            return (
                f"the learning rate, {update.learning_rate:.3g} at this step, is too high: the "
                f"gradient's norm was usually {usual:.3g}, and finally {self._norms[-1]:.3g}"
            )
        return self._cause_in_the_optimizer()

    def _cause_in_the_optimizer(self) -> str:
        config = self._config
        if config.epsilon < _LEAST_EPSILON:
            return f"training.epsilon ({config.epsilon}) is 0 in float32, so Adam divides by 0"
        rate = f"training.peak_learning_rate ({config.peak_learning_rate}) is too high"
        if self._precision == "bfloat16":
            rate += ", or bfloat16 is not precise enough (training.precision)"
        return rate

    def _error(self, what: str) -> DivergedError:
        stored = checkpoints.checkpoint_folders(self._run.checkpoints)
        kept = (
            f"the newest checkpoint is {stored[0].name}" if stored else "there is no checkpoint yet"
        )
        return DivergedError(
            f"{what}\nThis state was not saved; {kept}. The same config would diverge again. "
            "Lower training.peak_learning_rate or training.gradient_clip_norm, or remove the "
            "cause named above, and train again"
        )


def _shown(text: str) -> str:
    """Return a sentence in quotes, without control characters, and shortened."""
    quoted = repr(text)
    return quoted if len(quoted) <= _SHOWN_CHARACTERS else f"{quoted[:_SHOWN_CHARACTERS]}…"
