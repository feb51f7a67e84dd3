"""Computes the attention of a trained run in sentences."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.attention.maps import Attention, RunnerUp
from seq2seq_cli.attention.tokens import Tokens
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.tokenizer import Tokenizer
from seq2seq_cli.decoding.alignment import align, word_indices
from seq2seq_cli.decoding.constraints import exclude_special_tokens
from seq2seq_cli.decoding.encoding import (
    batches,
    cut_sides,
    encode_sentences,
    memory_errors,
    padded,
)
from seq2seq_cli.decoding.translator import COMPILED_FROM, Translation
from seq2seq_cli.errors import UsageError
from seq2seq_cli.special_tokens import BOS, EOS

if TYPE_CHECKING:
    from seq2seq_cli.decoding.loading import LoadedRun


class _Pair(NamedTuple):
    """A source and a translation as int32 ids, `source` and `target`."""

    texts: tuple[str, str]
    source: np.ndarray
    target: np.ndarray
    cut: tuple[str, ...]


class AttentionReader:
    """Lets a run's model read sentences with their translations, and returns its attention.

    If no translation is given, the model first translates, as in `s2s translate`. Then it reads
    source and translation (teacher forcing) in float32, which gives all maps at once.

    Args:
        loaded: the run, or several as an ensemble.
        decoding: search options and maximum lengths; None for the run's `[decoding]`.
        runners_up: number of less probable tokens to return for each target token.
        reverse: the run of `decoding.rerank`, if it is loaded already.

    Raises:
        UsageError: if the members of an ensemble have different source vocabularies, or if the
            model has no attention.
    """

    def __init__(
        self,
        loaded: "LoadedRun",
        decoding: DecodingConfig | None = None,
        runners_up: int = 0,
        reverse: "LoadedRun | None" = None,
    ):
        if loaded.member_tokenizers:
            raise UsageError(
                "the source vocabularies of these runs differ, so they do not attend to the same "
                "tokens. Load one run"
            )
        if not loaded.model.has_attention:
            raise UsageError(
                f"{loaded.name} has no attention to show: it was trained with model.attention = "
                "'none'"
            )
        self._loaded = loaded
        self._decoding = decoding or loaded.decoding
        self._runners_up = runners_up
        self._reverse = reverse

    def read(
        self,
        pairs: Sequence[tuple[str, str | None]],
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Attention | None]:
        """Return the attention of each (source, translation), and None if the source is blank.

        Args:
            pairs: the texts. A translation of None is the model's own.
            progress: called with the number of sentences that are done, as it grows.
        """
        encoded = self._encoded(pairs)
        lengths = {i: max(len(pair.source), len(pair.target)) for i, pair in encoded.items()}
        found: list[Attention | None] = [None] * len(pairs)
        done = len(pairs) - len(encoded)
        for chosen in batches(lengths, self._decoding):
            with memory_errors(len(chosen), lengths[chosen[0]], self._decoding):
                read = self._read([encoded[i] for i in chosen])
            for i, attention in zip(chosen, read, strict=True):
                found[i] = attention
            done += len(chosen)
            progress(done)
        return found

    def _encoded(self, pairs: Sequence[tuple[str, str | None]]) -> dict[int, _Pair]:
        """Return the pairs whose sources are not blank, by their indices."""
        wanted = [i for i, (source, _) in enumerate(pairs) if source.strip()]
        tokenizers, config = self._loaded.tokenizers, self._decoding
        sources = encode_sentences([tokenizers.source], [pairs[i][0] for i in wanted], config)
        given = [i for i in wanted if pairs[i][1] is not None]
        texts = [pairs[i][1] or "" for i in given]
        targets = dict(
            zip(given, encode_sentences([tokenizers.target], texts, config), strict=True)
        )
        free = [i for i in wanted if i not in targets]
        own: dict[int, Translation] = {}
        if free:
            # The others are blank. So each sentence keeps its number, which determines its samples.
            texts = [""] * len(pairs)
            for i in free:
                texts[i] = pairs[i][0]
            translator = self._loaded.translator(
                config, self._reverse, compiled=len(free) >= COMPILED_FROM
            )
            own = dict(enumerate(translator.translate(texts)))
        encoded = {}
        for i, source in zip(wanted, sources, strict=True):
            if i not in targets:
                text, ids, target_cut = own[i].text, own[i].ids or (EOS,), False
                target = np.array(ids, np.int32)
            else:
                text, target, target_cut = pairs[i][1] or "", targets[i].ids[0], targets[i].cut
            cut = cut_sides(source.cut, target_cut)
            encoded[i] = _Pair((pairs[i][0], text), source.ids[0], target, cut)
        return encoded

    def _read(self, batch: Sequence[_Pair]) -> list[Attention]:
        source_BS = padded([pair.source for pair in batch])
        inputs = [np.array([BOS, *pair.target[:-1]], np.int32) for pair in batch]
        logits_BTV, maps = self._loaded.model.attention_maps(
            tf.constant(source_BS), tf.constant(padded(inputs))
        )
        arrays = {kind: [layer.numpy() for layer in layers] for kind, layers in maps.items()}
        logits_RV = tf.reshape(logits_BTV, [-1, logits_BTV.shape[2]])
        free_BTV = exclude_special_tokens(logits_RV, self._loaded.model.target_tags)
        logs_BTV = tf.reshape(tf.nn.log_softmax(free_BTV), tf.shape(logits_BTV)).numpy()
        return [
            self._attention(pair, logs_BTV[b], _of_pair(arrays, b, pair, source_BS.shape[1]))
            for b, pair in enumerate(batch)
        ]

    def _attention(
        self, pair: _Pair, logs_TV: np.ndarray, maps: dict[str, np.ndarray]
    ) -> Attention:
        tokenizers = self._loaded.tokenizers
        target = pair.target.tolist()
        logs_TV = logs_TV[: len(target)]
        attention = Attention(
            *pair.texts,
            tokens_of(tokenizers.source, pair.source.tolist()),
            tokens_of(tokenizers.target, target),
            tokens_of(tokenizers.target, [BOS, *target[:-1]]),
            np.array([logs[i] for logs, i in zip(logs_TV, target, strict=True)], np.float64),
            maps,
            words=[],
            cut=pair.cut,
            runners_up=tuple(
                self._others(logs, i) for logs, i in zip(logs_TV, target, strict=True)
            ),
        )
        aligned = align(tokenizers, pair.source.tolist(), target, attention.weights)
        return replace(attention, words=aligned.words)

    def _others(self, logs_V: np.ndarray, chosen: int) -> tuple[RunnerUp, ...]:
        """Return the most probable tokens except the chosen one."""
        best = np.argsort(-logs_V, kind="stable")[: self._runners_up + 1]
        ids = [int(i) for i in best if i != chosen][: self._runners_up]
        pieces = self._loaded.tokenizers.target.pieces(ids)
        return tuple(
            RunnerUp(piece, float(np.exp(logs_V[i]))) for piece, i in zip(pieces, ids, strict=True)
        )


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int]) -> Tokens:
    """Return tokens with the words that they form. BOS, EOS and tags are separate words.

    Each word has a token: words that end inside a token are joined to the word in which it ends.
    """
    before = [*itertools.takewhile(lambda i: i == BOS or tokenizer.is_tag(i), ids)]
    inner = [i for i in ids[len(before) :] if i != EOS]
    after = ids[len(before) + len(inner) :]
    indices, words = word_indices(tokenizer, inner)
    if inner and not words:  # spaces alone
        words = ["".join(tokenizer.pieces(inner))]
    indices, words = _with_tokens(indices, words)
    first, last = tokenizer.pieces(before), tokenizer.pieces(after)
    word_of = [
        *range(len(before)),
        *(len(before) + index for index in indices),
        *range(len(before) + len(words), len(before) + len(words) + len(after)),
    ]
    return Tokens(tokenizer.pieces(ids), [*first, *words, *last], word_of)


def _with_tokens(indices: Sequence[int], words: Sequence[str]) -> tuple[list[int], list[str]]:
    """Join each word in which no token ends to the next one in which a token does."""
    ends = sorted({*indices})
    joined, start = [], 0
    for end in ends:
        joined.append(" ".join(words[start : end + 1]))
        start = end + 1
    return [ends.index(index) for index in indices], joined


def _of_pair(
    arrays: dict[str, list[np.ndarray]], b: int, pair: _Pair, width: int
) -> dict[str, np.ndarray]:
    """Return the maps of one pair of a batch, [layers, heads, queries, keys] without padding."""
    source, target = np.arange(len(pair.source)), np.arange(len(pair.target))
    both = np.concatenate([source, width + target])
    sides: dict[str, Any] = {
        "cross": (target, source),
        "encoder": (source, source),
        "decoder": (target, target),
        "stack": (both, both),
    }
    return {
        kind: np.stack([layer[b][:, sides[kind][0]][:, :, sides[kind][1]] for layer in layers])
        for kind, layers in arrays.items()
    }
