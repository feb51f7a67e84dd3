"""What a training tells whoever watches it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """What is about to happen, as (label, text)."""

    rows: list[tuple[str, str]]


@dataclass(frozen=True)
class Progress:
    """How training stands.

    Attributes:
        step: updates made.
        epoch: passes over the data begun.
        loss: mean of the last updates, nats per token, with label smoothing.
        learning_rate: of the last update.
        gradient_norm: of the last update, before clipping.
        pairs_per_second: over the last updates, without validation.
        padding_share: part of the batches that holds no token.
        seconds: spent in training so far.
        share_done: from 0 to 1.
        seconds_left: an estimate; None until there is one.
        dev_bleu: of the last validation, if there was one.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    pairs_per_second: float
    padding_share: float
    seconds: float
    share_done: float
    seconds_left: float | None
    dev_bleu: float | None


@dataclass(frozen=True)
class Validation:
    """Scores on the dev split.

    Attributes:
        step, epoch, seconds: as in Progress.
        dev_loss: nats per token, without label smoothing.
        dev_bleu, dev_chrf: greedy, with all references.
        signature: sacreBLEU's, of `dev_bleu`.
        is_best: whether no validation before had as high a BLEU.
        samples: (source, reference, translation) of a few sentences.
    """

    step: int
    epoch: int
    seconds: float
    dev_loss: float
    dev_bleu: float
    dev_chrf: float
    signature: str
    is_best: bool
    samples: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Phase:
    """Work that has begun and may take a while. The next phase, progress or validation ends it.

    Attributes:
        text: what is being done.
        detail: how far it is, or which part of it; may change while `text` stays.
    """

    text: str
    detail: str = ""


@dataclass(frozen=True)
class Notice:
    """Something worth knowing, in a sentence."""

    text: str


@dataclass(frozen=True)
class Result:
    """What a training came to."""

    run: str
    reason: str
    step: int
    seconds: float
    best_step: int | None
    best_dev_bleu: float | None


Event = Summary | Phase | Progress | Validation | Notice
