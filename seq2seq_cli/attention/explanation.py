"""Explains a translation: probabilities, alternatives, the search, similar training pairs."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seq2seq_cli.attention.maps import Attention, RunnerUp
from seq2seq_cli.attention.neighbours import MOST_PAIRS, Index, Neighbour
from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pairs import Pairs, PairsInMemory, spread
from seq2seq_cli.decoding.beam_tree import BeamTree
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.errors import DataError, DiskError, os_reason
from seq2seq_cli.work import ShowWork, Warn, show_nothing

if TYPE_CHECKING:
    from seq2seq_cli.config.decoding import DecodingConfig
    from seq2seq_cli.decoding.loading import LoadedRun

RUNNERS_UP = 5
NEAREST = 5
_LOOKED_AT = 3


class ExplainedPiece(NamedTuple):
    """A token of the translation: its probability, and the most probable alternatives."""

    piece: str
    probability: float
    runners_up: tuple[RunnerUp, ...]


class ExplainedWord(NamedTuple):
    """A word of the translation.

    Attributes:
        looked_at: the source words with most of its attention, and their shares.
    """

    word: str
    probability: float
    looked_at: list[tuple[str, float]]
    pieces: list[ExplainedPiece]


class Hypothesis(NamedTuple):
    """A node of the tree of a beam search; see `beam_tree.Node`. `text` is that of its token."""

    parent: int | None
    text: str
    total: float
    score: float
    fate: str


class Explanation(NamedTuple):
    """The explanation of a translation.

    Attributes:
        words: of the translation.
        search: the tree of the beam, the parents first; empty for greedy decoding, samples, minimum
            Bayes risk, re-ranking, and given translations.
        nearest: the training pairs most similar to the source.
        unseen: words of the source that occur in no training source that is indexed.
        never_together: pairs of words of the source that are indexed, but not from one training
            source.
        indexed_pairs, training_pairs: how many of how many training pairs are indexed; 0 if none
            are.
    """

    attention: Attention
    words: list[ExplainedWord]
    search: list[Hypothesis]
    nearest: list[Neighbour]
    unseen: list[str]
    never_together: list[tuple[str, str]]
    indexed_pairs: int = 0
    training_pairs: int = 0

    @property
    def training_sources(self) -> str:
        """The sources in which words were searched, for "Not in …"."""
        if self.indexed_pairs == self.training_pairs:
            return "any training source"
        return f"{self.indexed_pairs:,} of the {self.training_pairs:,} training sources"

    def record(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        words = [
            {
                "word": word.word,
                "probability": word.probability,
                "looked_at": [{"word": key, "weight": weight} for key, weight in word.looked_at],
                "pieces": [
                    {
                        "piece": piece.piece,
                        "probability": piece.probability,
                        "runners_up": [other._asdict() for other in piece.runners_up],
                    }
                    for piece in word.pieces
                ],
            }
            for word in self.words
        ]
        return {
            "words": words,
            "search": [hypothesis._asdict() for hypothesis in self.search],
            "nearest": [
                {**neighbour._asdict(), "parts": [part._asdict() for part in neighbour.parts]}
                for neighbour in self.nearest
            ],
            "unseen": self.unseen,
            "never_together": [list(pair) for pair in self.never_together],
            "indexed_pairs": self.indexed_pairs,
            "training_pairs": self.training_pairs,
            "training_sources": self.training_sources,
        }


class Explainer:
    """Explains the translations of a run.

    Args:
        loaded: the run.
        decoding: the options of the search.
        index: of the training pairs; None to leave out the parts that need it.
    """

    def __init__(self, loaded: "LoadedRun", decoding: "DecodingConfig", index: Index | None):
        self._loaded = loaded
        self._decoding = decoding
        self._index = index
        self._reader = AttentionReader(loaded, decoding, runners_up=RUNNERS_UP)

    def explain(
        self,
        pairs: Sequence[tuple[str, str | None]],
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Explanation | None]:
        """Explain the translation of each pair; None if the source is blank.

        Args:
            pairs: sources, with given translations or None for the model's own.
            progress: see AttentionReader.read.
        """
        attentions = self._reader.read(pairs, progress)
        return [
            self._explained(attention, is_own=given is None) if attention else None
            for attention, (_, given) in zip(attentions, pairs, strict=True)
        ]

    def _explained(self, attention: Attention, is_own: bool) -> Explanation:
        index, source = self._index, attention.source
        config = self._decoding
        has_tree = is_own and config.beam > 1 and not (config.sample or config.mbr or config.rerank)
        return Explanation(
            attention,
            explained_words(attention),
            self._tree(source) if has_tree else [],
            index.nearest(source, NEAREST) if index else [],
            index.unseen(source) if index else [],
            index.never_together(source) if index else [],
            index.pairs if index else 0,
            index.total if index else 0,
        )

    def _tree(self, source: str) -> list[Hypothesis]:
        tree = BeamTree(self._decoding)
        search = Search(self._loaded.model, self._decoding, compiled=False, on_step=tree.record)
        self._loaded.translator(self._decoding, search=search).translate([source])
        pieces = self._loaded.tokenizers.target.pieces([node.token for node in tree.nodes])
        return [
            Hypothesis(node.parent, piece, node.total, node.score, node.fate)
            for node, piece in zip(tree.nodes, pieces, strict=True)
        ]


def explained_words(attention: Attention) -> list[ExplainedWord]:
    """Return the probability, source words and alternatives of each target word."""
    by_word: list[list[ExplainedPiece]] = [[] for _ in attention.target_words]
    probabilities = np.exp(attention.log_probabilities).tolist()
    for word, piece, probability, others in zip(
        attention.target_side.word_of,
        attention.target_tokens,
        probabilities,
        attention.runners_up,
        strict=True,
    ):
        by_word[word].append(ExplainedPiece(piece, probability, others))
    rows = attention.word_weights
    return [
        ExplainedWord(word, probability, _most(attention.source_words, row), pieces)
        for word, probability, row, pieces in zip(
            attention.target_words, attention.probabilities, rows, by_word, strict=True
        )
    ]


def training_index(
    data: DataConfig,
    fingerprint: str,
    folder: Path,
    warn: Warn,
    show: ShowWork = show_nothing,
    to: str | None = None,
) -> Index | None:
    """Return the index of a run's training pairs; it is built once, and stored in a folder.

    Args:
        data: the run's `[data]`.
        fingerprint: of the corpus that the run was trained on.
        folder: the folder of the indexes.
        warn: called with the reason if there is no index, or it cannot be stored.
        show: shows the number of pairs that have been read and indexed.
        to: the language to translate into; None for the run's default.
    """
    languages = data.languages_to(to)
    split = (data.split_seed, data.dev_pairs, data.test_pairs)
    kinds = [corpus.model_dump(exclude={"corpus", "weight"}) for corpus in data.mixture]
    beyond_fingerprint = hashlib.sha256(json.dumps([split, kinds]).encode()).hexdigest()[:16]
    path = folder / f"{fingerprint[:32]}-{'-'.join(languages)}-{beyond_fingerprint}.npz"
    index = Index.load(path)
    if index is not None:
        return index
    try:
        corpus = read_corpus(data, show)
        if corpus.fingerprint != fingerprint:
            raise DataError(f"{corpus.description}: is not the corpus of the run")
    except (DataError, DiskError) as error:
        warn(f"there are no nearest training pairs: {error}")
        return None
    pairs: Pairs = corpus.train
    total = len(pairs)
    if languages[0] != data.source_language:
        sides = pairs.take(spread(range(len(pairs)), MOST_PAIRS))
        pairs = PairsInMemory(*sides[::-1])
    index = Index.build(
        pairs, lambda done: show("Indexing", "pairs", done, min(total, MOST_PAIRS)), total
    )
    try:
        index.save(path)
    except OSError as error:
        warn(f"{path}: cannot be written, so the next call indexes again: {os_reason(error)}")
    return index


def _most(words: Sequence[str], row: np.ndarray) -> list[tuple[str, float]]:
    """Return the words with the highest weights, with these weights, if above 1 %."""
    best = np.argsort(-row, kind="stable")[:_LOOKED_AT]
    return [(words[i], float(row[i])) for i in best if row[i] >= 0.01]
