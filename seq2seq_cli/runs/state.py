"""Where a training stands, and what a checkpoint says of it."""

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

STRICT = ConfigDict(strict=True, extra="forbid")
_FINITE = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


@dataclass(config=_FINITE)
class Position:
    """Where a training stands.

    Attributes:
        step: updates made.
        epoch: passes over the data completed.
        batch: batches taken from the current pass.
        seconds: spent in training.
        last_dev_bleu: of the last validation, if there was one.
        best_dev_bleu, best_step: of the best validation, if there was one.
        validations_since_best: how many came after it.
    """

    step: int
    epoch: int
    batch: int
    seconds: float
    last_dev_bleu: float | None
    best_dev_bleu: float | None
    best_step: int | None
    validations_since_best: int

    @classmethod
    def at_start(cls) -> "Position":
        """Return where a new training stands."""
        return cls(0, 0, 0, 0.0, None, None, None, 0)


@dataclass(config=_FINITE)
class State:
    """What `state.json` holds.

    Attributes:
        step: updates made.
        position: where the training stands.
        dev_bleu: of the model in this checkpoint, if it was validated.
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
