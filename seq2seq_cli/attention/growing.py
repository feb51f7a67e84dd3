"""A translation that grows token by token, with its alternatives and its map."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.attention.maps import View
from seq2seq_cli.attention.reader import tokens_of
from seq2seq_cli.attention.tokens import merged
from seq2seq_cli.decoding.constraints import exclude_special_tokens
from seq2seq_cli.decoding.encoding import encode_sentences, length_limits
from seq2seq_cli.special_tokens import BOS, EOS

if TYPE_CHECKING:
    from seq2seq_cli.decoding.loading import LoadedRun

ALTERNATIVES = 6


class Alternative(NamedTuple):
    """A possible token at a position: its id, its written form and its probability."""

    token: int
    piece: str
    probability: float


class Growth(NamedTuple):
    """A partial translation.

    Attributes:
        text: the text of the tokens.
        chosen: its tokens.
        alternatives: for each of them the most probable tokens at its position, the best first.
        view: the attention of its words to those of the source.
        cut: whether the source was longer than `decoding.max_source_tokens` and was cut.
    """

    text: str
    chosen: list[Alternative]
    alternatives: list[list[Alternative]]
    view: View
    cut: bool = False


class Grower:
    """Translates greedily, one token at a time, with the probabilities of the model.

    Of the options of the search, it uses only the maximum lengths.

    Args:
        loaded: the run.
    """

    def __init__(self, loaded: "LoadedRun"):
        self._loaded = loaded
        self._step = loaded.model.make_step()

    @property
    def name(self) -> str:
        """The run's name."""
        return self._loaded.paths[0].name

    def grow(self, sentence: str, prefix: Sequence[int] = ()) -> Generator[Growth, None, None]:
        """Yield the translation after each token that follows the prefix.

        Args:
            sentence: the source, which is not blank.
            prefix: ids that the translation begins with.
        """
        tokenizers, config = self._loaded.tokenizers, self._loaded.decoding
        ((source,), cut) = encode_sentences([tokenizers.source], [sentence], config)[0]
        limits = config.model_copy(update={"min_length": 0, "min_length_ratio": 0.0})
        longest = int(length_limits(np.array(len(source)), limits, len(prefix))[0])
        memory = self._loaded.model.encode(tf.constant(source[np.newaxis]))
        state = self._loaded.model.initial_state(memory, longest)
        chosen: list[Alternative] = []
        alternatives: list[list[Alternative]] = []
        rows: list[np.ndarray] = []
        token = BOS
        while len(chosen) < longest and token != EOS:
            logits_BV, attention_BS, state = self._step(tf.constant([token]), state, memory)
            free_BV = exclude_special_tokens(logits_BV, self._loaded.model.target_tags)
            logs_V = tf.nn.log_softmax(free_BV)[0].numpy()
            token = prefix[len(chosen)] if len(chosen) < len(prefix) else int(logs_V.argmax())
            best = np.argsort(-logs_V, kind="stable")[:ALTERNATIVES].tolist()
            alternatives.append(self._named(best, logs_V))
            chosen += self._named([token], logs_V)
            rows.append(attention_BS[0].numpy())
            if len(chosen) > len(prefix) or token == EOS:
                ids = [each.token for each in chosen]
                text = tokenizers.target.detokenize([ids])[0]
                view = self._view(source.tolist(), ids, np.array(rows, np.float64))
                yield Growth(text, list(chosen), list(alternatives), view, cut)

    def _named(self, ids: Sequence[int], logs_V: np.ndarray) -> list[Alternative]:
        pieces = self._loaded.tokenizers.target.pieces(ids)
        return [
            Alternative(i, piece, float(np.exp(logs_V[i])))
            for i, piece in zip(ids, pieces, strict=True)
        ]

    def _view(self, source: list[int], target: list[int], weights: np.ndarray) -> View:
        tokenizers = self._loaded.tokenizers
        keys, queries = tokens_of(tokenizers.source, source), tokens_of(tokenizers.target, target)
        return View(queries.words, keys.words, merged(weights, queries, keys), "")
