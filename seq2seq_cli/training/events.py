"""Events, by which training reports its progress."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seq2seq_cli.config import Config
from seq2seq_cli.work import ShowWork

if TYPE_CHECKING:
    from seq2seq_cli.runtime.computation import Computation  # which imports TensorFlow


@dataclass(frozen=True)
class Summary:
    """The figures of the coming training run.

    Attributes:
        run: path of the run's folder.
        config: everything that determines the result.
        corpus: name and files of the corpus.
        pairs: of the whole corpus.
        train_pairs: in an epoch, repetitions by weight included.
        dev_pairs, test_pairs: of those splits.
        shared_pairs: train pairs that share a sentence with dev or test.
        dropped: pairs left out, by reason.
        vocabulary: size and kind of the vocabularies.
        parameters: trainable weights of the model.
        batches_per_epoch: updates in an epoch.
        padding_share: share of the positions in the batches that holds no token.
        computation: how the updates are computed, and where.
    """

    run: str
    config: Config
    corpus: str
    pairs: int
    train_pairs: int
    dev_pairs: int
    test_pairs: int
    shared_pairs: int
    dropped: dict[str, int]
    vocabulary: str
    parameters: int
    batches_per_epoch: int
    padding_share: float
    computation: "Computation"


@dataclass(frozen=True)
class Progress:
    """The progress of training, and the figures of the updates since the last Progress.

    Attributes:
        step: updates made.
        epoch: epochs started.
        loss: mean of these updates, nats per token, with label smoothing.
        learning_rate: of the last update.
        gradient_norm: of the last update, before clipping.
        pairs_per_second: of these updates, without validation.
        padding_share: as in Summary.
        seconds: spent in training so far.
        share_done: share of training that is done, from 0 to 1.
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
    """Scores on the dev split, with the averaged weights if weights are averaged.

    Attributes:
        step, epoch, seconds: as in Progress.
        dev_loss: nats per token, without label smoothing. Pairs too long for training do not count.
        dev_bleu, dev_chrf: with all references, of the search that `[decoding]` sets.
        signature: sacreBLEU's, of `dev_bleu`.
        is_best: whether every validation before had a lower BLEU.
        samples: (source, reference, translation) of a few sentences.
        raw_dev_loss: `dev_loss` of the weights that are averaged; None if there is no average.
        same_share: share of the sentences that have the most frequent translation.
        unknown_share: share of the translations that have unknown tokens only.
        copied_share: share of the translations that are their source, and no reference is.
        attention_entropy: mean entropy of attention, as a share of the largest possible one.
        attention_still_share: share of sentences in which attention stays on one source position.
        unigram_loss: nats per token, of a model that knows the frequency of each target token.
        untrained_share: share of the pieces that have not occurred in training, after an epoch.
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
    raw_dev_loss: float | None = None
    same_share: float = 0.0
    unknown_share: float = 0.0
    copied_share: float = 0.0
    attention_entropy: float | None = None
    attention_still_share: float | None = None
    unigram_loss: float | None = None
    untrained_share: float | None = None


@dataclass(frozen=True)
class Phase:
    """An operation that may take a while; the next Phase, Progress or Validation ends it.

    Attributes:
        text: the name of the operation.
        unit: what is counted; empty if nothing is.
        done: the number that is done.
        total: the total number, or an estimate; None if it is not known.
    """

    text: str
    unit: str = ""
    done: int = 0
    total: int | None = None


@dataclass(frozen=True)
class Heading:
    """The name of the next of several runs."""

    text: str


@dataclass(frozen=True)
class Notice:
    """A useful fact, in a sentence."""

    text: str


@dataclass(frozen=True)
class Result:
    """The result of training, as `train` returns it.

    Attributes:
        run: path of the run's folder.
        reason: why training ended, as a clause.
        step: updates made.
        seconds: spent in training.
        best_step, best_dev_bleu: of the best validation, if there was one.
    """

    run: str
    reason: str
    step: int
    seconds: float
    best_step: int | None
    best_dev_bleu: float | None


Event = Heading | Summary | Phase | Progress | Validation | Notice

OnEvent = Callable[[Event], None]


def showing_phases(on_event: OnEvent) -> ShowWork:
    """Return a function that turns each stage of an operation into a Phase."""

    def show(stage: str, unit: str = "", done: int = 0, total: int | None = None) -> None:
        on_event(Phase(stage, unit, done, total))

    return show


def ignore(event: Event) -> None:
    """Do nothing with an event."""
