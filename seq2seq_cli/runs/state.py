"""The position of training, and the state that a checkpoint stores."""

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

STRICT = ConfigDict(strict=True, extra="forbid")
_FINITE = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


@dataclass(config=_FINITE)
class Position:
    """The position of training.

    Attributes:
        step: updates made.
        epoch: epochs completed.
        batch: parts of batches taken from the current epoch.
        seconds: the duration of training so far.
        last_dev_bleu: of the last validation; None before the first.
        best_dev_bleu, best_step: of the best validation; None before the first.
        validations_since_best: number of validations after it.
        seconds_before_updates: the part of `seconds` that processes took for compilation, before
            their first update in the warm-up.
    """

    step: int
    epoch: int
    batch: int
    seconds: float
    last_dev_bleu: float | None
    best_dev_bleu: float | None
    best_step: int | None
    validations_since_best: int
    seconds_before_updates: float = 0.0

    @classmethod
    def at_start(cls) -> "Position":
        """Return the position of a new training run."""
        return cls(
            step=0,
            epoch=0,
            batch=0,
            seconds=0.0,
            last_dev_bleu=None,
            best_dev_bleu=None,
            best_step=None,
            validations_since_best=0,
        )

    def validated(self, bleu: float) -> bool:
        """Add a validation with this dev BLEU, and return whether it is the best."""
        is_best = self.best_dev_bleu is None or bleu > self.best_dev_bleu
        if is_best:
            self.best_dev_bleu, self.best_step = bleu, self.step
        self.validations_since_best = 0 if is_best else self.validations_since_best + 1
        self.last_dev_bleu = bleu
        return is_best


@dataclass(config=_FINITE)
class State:
    """The content of `state.json`.

    Attributes:
        step: updates made.
        position: of training.
        dev_bleu: of the model in this checkpoint; None if it was not validated.
        data_fingerprint: of the corpus.
        saved_at: the time in UTC, in ISO 8601.
        versions: of s2s and the libraries, by name.
    """

    step: int
    position: Position
    dev_bleu: float | None
    data_fingerprint: str
    saved_at: str
    versions: dict[str, str]
