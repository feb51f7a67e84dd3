"""The attention of one sentence in every layer and head, and views of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from seq2seq_cli.attention.notebook import table_html
from seq2seq_cli.attention.tokens import Tokens, merged
from seq2seq_cli.errors import UsageError

MEAN, MAX = "mean", "max"
KIND_NAMES = {
    "cross": "cross-attention",
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "stack": "self-attention of the stack",
}


class View(NamedTuple):
    """One map to show.

    Attributes:
        queries: the words or pieces that attend, one for each row of `weights`.
        keys: the words or pieces that are attended to, one for each column.
        weights: float64 [queries, keys]. A row sums to 1, unless it is a maximum over heads.
        title: a description of the map.
    """

    queries: list[str]
    keys: list[str]
    weights: np.ndarray
    title: str


class RunnerUp(NamedTuple):
    """A token that the model found less probable than another, and its probability."""

    piece: str
    probability: float


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of a model that reads a source and a translation.

    Attributes:
        axes: the attributes that name the rows and the columns of `weights`.
        word_axes: the attributes that name the rows and the columns of `word_weights`.
        map_axes: the meaning of the axes of each array of `maps`.
        source: the sentence.
        translation: its translation.
        source_side: the tokens of the source, </s> included.
        target_side: the same of the translation; without </s> if the search stopped it at the
            maximum length.
        input_side: the tokens that the decoder reads: <s> and the translation without its last
            token.
        log_probabilities: float64 [target tokens], of each given the source and those before it,
            in nats.
        maps: for each kind of attention float32 [layers, heads, queries, keys]. Kinds: `cross`, the
            translation over the source; `encoder`, the source over itself; `decoder`, the
            translation over what the decoder has read; `stack`, source and translation over
            both, of a decoder-only model.
        words: (source word, target word) for each target word, counted from 0. Words are separated
            by spaces.
        cut: the sides, "source" and "translation", that were longer than
            `decoding.max_source_tokens` and were cut.
        runners_up: for each target token the most probable others, the best first, if requested.
    """

    axes: ClassVar[tuple[str, str]] = ("target_tokens", "source_tokens")
    word_axes: ClassVar[tuple[str, str]] = ("target_words", "source_words")
    map_axes: ClassVar[tuple[str, str, str, str]] = ("layer", "head", "query", "key")

    source: str
    translation: str
    source_side: Tokens
    target_side: Tokens
    input_side: Tokens
    log_probabilities: np.ndarray
    maps: dict[str, np.ndarray]
    words: list[tuple[int, int]]
    cut: tuple[str, ...] = ()
    runners_up: tuple[tuple[RunnerUp, ...], ...] = ()

    @property
    def source_tokens(self) -> list[str]:
        """The tokens of the source as written, </s> included; ▁ is a space."""
        return self.source_side.pieces

    @property
    def target_tokens(self) -> list[str]:
        """The tokens of the translation as written."""
        return self.target_side.pieces

    @property
    def source_words(self) -> list[str]:
        """The words of the source, and </s>."""
        return self.source_side.words

    @property
    def target_words(self) -> list[str]:
        """The words of the translation, and </s> unless the search stopped it."""
        return self.target_side.words

    @property
    def kinds(self) -> list[str]:
        """The kinds that `view` accepts, the one for alignment first."""
        return ["cross", *(kind for kind in self.maps if kind != "cross")]

    @cached_property
    def weights(self) -> np.ndarray:
        """The model's attention to the source: float64 [target tokens, source tokens].

        A row sums to 1. It is the mean over the heads of the last layer.
        """
        return self.view(pieces=True).weights

    @cached_property
    def word_weights(self) -> np.ndarray:
        """The same merged to words: float64 [target words, source words]. A row sums to 1."""
        return self.view().weights

    @property
    def log_probability(self) -> float:
        """The log-probability of the translation in nats, </s> included."""
        return float(self.log_probabilities.sum())

    @property
    def confidence(self) -> float:
        """The geometric mean of the tokens' probabilities, from 0 to 1."""
        return float(np.exp(self.log_probabilities.mean()))

    @property
    def probabilities(self) -> list[float]:
        """The probability of each target word: the product of those of its tokens."""
        return np.exp(self.target_side.sums(self.log_probabilities)).tolist()

    def shape(self, kind: str) -> tuple[int, int]:
        """Return the numbers of layers and heads of a kind.

        Raises:
            UsageError: if the model has no such attention.
        """
        if kind not in self.kinds:
            raise UsageError(
                f"kind {kind}: this model has no such attention. It has {', '.join(self.kinds)}"
            )
        layers, heads, _, _ = self._source_of(kind).shape
        return layers, heads

    def sides(self, kind: str) -> tuple[Tokens, Tokens]:
        """Return the tokens that attend, and those that are attended to."""
        if kind == "encoder":
            return self.source_side, self.source_side
        if kind == "decoder":
            return self.target_side, self.input_side
        if kind == "stack":
            return self.source_side + self.target_side, self.source_side + self.input_side
        return self.target_side, self.source_side

    def view(
        self,
        kind: str = "cross",
        layer: int | None = None,
        head: int | str = MEAN,
        pieces: bool = False,
    ) -> View:
        """Return one map.

        The maximum over heads is that of the heads' word maps. The `cross` of a decoder-only model
        is the part of the stack's map over the source; each row is divided by its sum, unless it
        is a maximum.

        Args:
            kind: one of `kinds`.
            layer: counted from 1; None for the last.
            head: counted from 1, `mean` or `max`.
            pieces: whether the map is between tokens; otherwise between words.

        Raises:
            UsageError: if there is no such kind, layer or head.
        """
        layers, heads = self.shape(kind)
        layer = layers if layer is None else layer
        if not 1 <= layer <= layers:
            raise UsageError(f"layer {layer}: the layers of {kind} are 1 to {layers}")
        if head not in (MEAN, MAX) and head not in range(1, heads + 1):
            raise UsageError(f"head {head}: the heads of {kind} are 1 to {heads}, mean and max")
        queries, keys = self.sides(kind)
        by_head = self._source_of(kind)[layer - 1].astype(np.float64)
        if head == MAX:
            weights = (by_head if pieces else merged(by_head, queries, keys)).max(axis=0)
        else:
            weights = by_head.mean(axis=0) if head == MEAN else by_head[int(head) - 1]
            if kind not in self.maps:  # as AttentionMaps.to_source, but in float64, for any head
                weights = _scaled_to_one(weights)
            weights = weights if pieces else merged(weights, queries, keys)
        title = view_title(kind, (layer, layers), (head, heads))
        return View(queries.names(pieces), keys.names(pieces), weights, title)

    def _repr_html_(self) -> str:
        """Return the word map as a table for notebooks."""
        view = self.view()
        caption = f"{self.source} → {self.translation} ({view.title})"
        return table_html(caption, view.queries, view.keys, view.weights)

    def _source_of(self, kind: str) -> np.ndarray:
        """Return the map of a kind; a decoder-only model has its cross-attention in the stack."""
        if kind in self.maps:
            return self.maps[kind]
        length = len(self.source_side.pieces)
        return self.maps["stack"][:, :, length:, :length]


class ReadRun(NamedTuple):
    """The attention of a run's model in sentences.

    Attributes:
        name: of the run.
        description: of its model, in one line.
        attentions: one for each sentence; None if it is blank.
        explanations: the results of `Explanation.record` for each sentence; or nothing.
    """

    name: str
    description: str
    attentions: Sequence[Attention | None]
    explanations: Sequence[dict[str, Any] | None] = ()


def view_title(kind: str, layer: tuple[int, int], head: tuple[int | str, int]) -> str:
    """Return a description of a view; `layer` and `head` are pairs of an index and a total."""
    parts = [KIND_NAMES[kind]]
    if layer[1] > 1:
        parts.append(f"layer {layer[0]} of {layer[1]}")
    if head[1] > 1:
        names = {MEAN: f"mean of {head[1]} heads", MAX: f"maximum of {head[1]} heads"}
        parts.append(names.get(str(head[0]), f"head {head[0]} of {head[1]}"))
    return ", ".join(parts)


def _scaled_to_one(weights: np.ndarray) -> np.ndarray:
    """Divide each row by its sum, if the sum is above 0."""
    totals = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
