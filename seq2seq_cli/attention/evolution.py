"""How the attention in one dev sentence forms over the validations of a run."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from seq2seq_cli.attention.tokens import Tokens, merged
from seq2seq_cli.runs.attention_history import Side, Snapshot

Item = TypeVar("Item")

MOST_FRAMES = 60
"""Maximum number of validations that are shown, evenly spaced."""


class Frame(NamedTuple):
    """A validation.

    Attributes:
        step: updates made.
        dev_bleu: of the validation.
        weights: float64 [queries, keys]. A row sums to 1.
    """

    step: int
    dev_bleu: float
    weights: np.ndarray

    @property
    def caption(self) -> str:
        """The figures of the validation as text."""
        return f"update {self.step:,}, dev BLEU {self.dev_bleu:.1f}"


class Evolution(NamedTuple):
    """The attention in a sentence at several validations, in their order.

    Attributes:
        source, reference: the texts.
        queries: the words or pieces of the reference, one for each row of the weights.
        keys: those of the source, one for each column.
        frames: the validations.
    """

    source: str
    reference: str
    queries: list[str]
    keys: list[str]
    frames: list[Frame]


def evolutions(snapshots: Sequence[Snapshot], pieces: bool = False) -> list[Evolution]:
    """Return the evolution of each stored sentence.

    Args:
        snapshots: of a run, in order.
        pieces: whether the maps are between tokens; otherwise between words.
    """
    chosen = thinned(snapshots, MOST_FRAMES)
    found = []
    for number, sentence in enumerate(chosen[-1].sentences if chosen else []):
        queries, keys = _tokens(sentence.target_side), _tokens(sentence.source_side)
        frames = []
        for snapshot in chosen:
            weights = np.array(snapshot.sentences[number].weights)
            if not pieces:
                weights = merged(weights, queries, keys)
            frames.append(Frame(snapshot.step, snapshot.dev_bleu, weights))
        names = queries.names(pieces), keys.names(pieces)
        found.append(Evolution(sentence.source, sentence.reference, *names, frames))
    return found


def thinned(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most `most` of the items, evenly spaced, with the first and the last."""
    last = len(items) - 1
    if last < most:
        return list(items)
    return [items[i * last // (most - 1)] for i in range(most)]


def _tokens(side: Side) -> Tokens:
    return Tokens(side.pieces, side.words, side.word_of)
