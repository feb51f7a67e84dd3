"""Problems of training, detected from its metrics.

A detector is a function of the metrics in metrics.jsonl. It returns a sentence with the likely
cause and a remedy, or None. Each detector reports at most once per run.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from seq2seq_cli.runs.metrics_log import DIAGNOSIS, TRAINING, VALIDATION
from seq2seq_cli.training.entries import Entry

UPDATES = 500
"""Number of updates after which outputs, attention and loss are checked."""

_MOST_SAME = 0.9  # share of the dev sentences with the same output
_MOST_UNKNOWN = 0.5  # share of outputs with unknown tokens only
_MOST_COPIED = 0.3  # share of outputs that are their source
_FLAT = 0.97  # entropy of attention, as a share of the maximum
_STILL = 0.9  # share of sentences in which attention stays on one position
_EXPLODING = 10.0  # times the usual gradient norm
_PADDING = 0.3
_UNTRAINED = 0.25  # share of the pieces
_SLOW = 0.5  # of the usual speed
_WINDOW = 300  # entries that determine the usual norm and speed


@dataclass(frozen=True)
class Diagnosis:
    """A problem of training.

    Attributes:
        step: updates made when it was found.
        name: of the detector.
        text: what is wrong, the likely cause, and a remedy.
    """

    step: int
    name: str
    text: str


@dataclass
class History:
    """The metrics of training so far, in order.

    Attributes:
        progress: the entries of kind "training".
        validations: the entries of kind "validation".
        resumed: number of entries of `progress` that an earlier process made.
    """

    progress: list[Entry] = field(default_factory=list)
    validations: list[Entry] = field(default_factory=list)
    resumed: int = 0

    def add(self, entry: Entry) -> None:
        """Add an entry of metrics.jsonl; those of other kinds are left out."""
        if entry.get("kind") == TRAINING:
            self.progress.append(entry)
        elif entry.get("kind") == VALIDATION:
            self.validations.append(entry)


class Diagnostician:
    """Looks at each new entry of metrics.jsonl.

    Args:
        earlier: the entries that exist when training continues.
    """

    def __init__(self, earlier: Iterable[Entry] = ()):
        self._history = History()
        self._told: set[str] = set()
        for entry in earlier:
            self._history.add(entry)
            if entry.get("kind") == DIAGNOSIS:
                self._told.add(str(entry.get("name")))
        self._history.resumed = len(self._history.progress)

    def look_at(self, entry: Entry) -> list[Diagnosis]:
        """Add an entry, and return the problems that it reveals."""
        self._history.add(entry)
        found = []
        for name, detect in DETECTORS.items():
            text = None if name in self._told else detect(self._history)
            if text:
                self._told.add(name)
                found.append(Diagnosis(int(entry["step"]), name, text))
        return found


def same_output(history: History) -> str | None:
    """Detect one output for nearly every source."""
    share = _judged(history, "same_share")
    if share is None or share < _MOST_SAME:
        return None
    return (
        f"{share:.0%} of the dev sentences get the same translation. The decoder does not use the "
        "source: the learning rate may be too high, or the two sides of the corpus may be "
        "misaligned. Lower training.peak_learning_rate, and run s2s data check on the corpus"
    )


def unknown_output(history: History) -> str | None:
    """Detect outputs that consist of unknown tokens only."""
    share = _judged(history, "unknown_share")
    if share is None or share < _MOST_UNKNOWN:
        return None
    return (
        f"{share:.0%} of the translations are unknown tokens only. The vocabulary lacks most words "
        "of the target language. Raise tokenizer.vocabulary_size, or set tokenizer.kind to "
        "'unigram', which has no unknown words"
    )


def copied_output(history: History) -> str | None:
    """Detect outputs that are their source."""
    share = _judged(history, "copied_share")
    if share is None or share < _MOST_COPIED:
        return None
    return (
        f"{share:.0%} of the translations are copies of their source. Many training pairs may have "
        "the same text on both sides, or be in the wrong language. Find them with s2s data check"
    )


def flat_attention(history: History) -> str | None:
    """Detect attention that is the same on all source positions."""
    entropy = _judged(history, "attention_entropy")
    if entropy is None or entropy < _FLAT:
        return None
    return (
        f"Attention is spread evenly over the source (entropy {entropy:.0%} of the maximum). "
        "The decoder has learned to ignore the source. Lower training.peak_learning_rate, "
        "raise training.warmup_steps, or try another model.attention"
    )


def still_attention(history: History) -> str | None:
    """Detect attention that does not move while the decoder writes."""
    share = _judged(history, "attention_still_share")
    if share is None or share < _STILL:
        return None
    return (
        f"In {share:.0%} of the sentences attention stays on one source position. The decoder has "
        "not learned to align. Lower training.peak_learning_rate, or raise training.warmup_steps"
    )


def unigram_loss(history: History) -> str | None:
    """Detect a dev loss that the token frequencies alone would give."""
    unigram, loss = _judged(history, "unigram_loss"), _judged(history, "dev_loss")
    if unigram is None or loss is None or loss < unigram:
        return None
    return (
        f"After {_last(history)['step']:,} updates the dev loss, {loss:.2f}, is no lower than that "
        f"of the token frequencies, {unigram:.2f}. The model has learned nothing else: the "
        "learning rate may be far too high or too low. Change training.peak_learning_rate by a "
        "factor of 10"
    )


def exploding_gradient(history: History) -> str | None:
    """Detect a gradient norm that is many times the usual one, repeatedly."""
    norms = [entry["gradient_norm"] for entry in history.progress[-_WINDOW:]]
    recent, usual = norms[-5:], norms[:-5]
    if len(usual) < 20:
        return None
    limit = _EXPLODING * statistics.median(usual)
    if sum(norm > limit for norm in recent) < 3:
        return None
    return (
        f"The gradient norm was usually {statistics.median(usual):.2g}, and is now up to "
        f"{max(recent):.2g}. Training is about to diverge. Lower training.peak_learning_rate "
        "or training.gradient_clip_norm; with Muon, raise training.weight_decay"
    )


def overfitting(history: History) -> str | None:
    """Detect a dev loss that rises while the training loss falls."""
    validations = history.validations
    losses = [entry["dev_loss"] for entry in validations]
    if len(losses) < 4:
        return None
    best = min(range(len(losses)), key=losses.__getitem__)
    rising = losses[-4] < losses[-3] < losses[-2] < losses[-1]
    if len(losses) - 1 - best < 3 or not rising or losses[-1] < 1.05 * losses[best]:
        return None
    lowest = validations[best]
    before = [e["loss"] for e in history.progress if e["step"] <= lowest["step"]][-10:]
    after = [e["loss"] for e in history.progress if e["step"] > lowest["step"]][-10:]
    if not before or not after or statistics.mean(after) >= statistics.mean(before):
        return None
    return (
        f"The dev loss was lowest in epoch {lowest['epoch']} (update {lowest['step']:,}), and has "
        f"risen from {losses[best]:.2f} to {losses[-1]:.2f} while the training loss falls. The "
        "model memorises the training pairs. Raise model.dropout, train a smaller model, or stop "
        "earlier with training.patience; the checkpoint with the best dev BLEU is kept"
    )


def no_bleu(history: History) -> str | None:
    """Detect a dev BLEU of zero although the loss falls."""
    last = history.validations[-3:]
    if _judged(history, "dev_bleu") is None or len(last) < 3:
        return None
    if last[-1]["dev_loss"] >= last[0]["dev_loss"]:
        return None
    if max(entry["dev_bleu"] for entry in last) >= 0.5:
        return None
    return (
        "Dev BLEU stays at zero although the dev loss falls. The search may not suit the model, or "
        "the references may have another form than the training side. Check the samples, "
        "decoding.max_length, decoding.no_repeat_ngram and data.dev"
    )


def padding(history: History) -> str | None:
    """Detect batches with much padding."""
    share = history.progress[-1]["padding_share"] if history.progress else 0.0
    if share <= _PADDING:
        return None
    return (
        f"{share:.0%} of the positions in the batches are padding, which wastes computation. "
        "The lengths of the pairs differ widely within a batch. Raise training.batch_tokens, or "
        "leave out the longest pairs with training.max_source_tokens and max_target_tokens"
    )


def untrained_pieces(history: History) -> str | None:
    """Detect a vocabulary with many pieces that never occur in training."""
    share = history.validations[-1].get("untrained_share") if history.validations else None
    if share is None or share < _UNTRAINED:
        return None
    return (
        f"{share:.0%} of the vocabulary's pieces did not occur in an epoch of training. Their "
        "embeddings stay random. Lower tokenizer.vocabulary_size, or learn the vocabulary from "
        "this corpus"
    )


def falling_speed(history: History) -> str | None:
    """Detect that training has become much slower."""
    # The first updates of a process are slower than the others.
    first = max(history.resumed + 2, len(history.progress) - _WINDOW)
    rates = [entry["pairs_per_second"] for entry in history.progress[first:]]
    usual, recent = rates[:-10], rates[-10:]
    if len(usual) < 20:
        return None
    before, now = statistics.median(usual), statistics.median(recent)
    if now >= _SLOW * before:
        return None
    return (
        f"The speed fell from {before:,.0f} to {now:,.0f} pairs per second. Another process may be "
        "using this machine. Look for it, for example with top"
    )


DETECTORS: dict[str, Callable[[History], str | None]] = {
    detect.__name__: detect
    for detect in (
        same_output,
        unknown_output,
        copied_output,
        flat_attention,
        still_attention,
        unigram_loss,
        exploding_gradient,
        overfitting,
        no_bleu,
        padding,
        untrained_pieces,
        falling_speed,
    )
}
"""The detectors, by name."""


def _last(history: History) -> Entry:
    return history.validations[-1]


def _judged(history: History, key: str) -> float | None:
    """Return a metric of the last validation, after the warm-up and UPDATES updates."""
    if not history.validations or _last(history)["step"] < UPDATES or _is_warming_up(history):
        return None
    value = _last(history).get(key)
    return None if value is None else float(value)


def _is_warming_up(history: History) -> bool:
    rates: Sequence[float] = [entry["learning_rate"] for entry in history.progress[-2:]]
    return len(rates) == 2 and rates[1] > rates[0]
