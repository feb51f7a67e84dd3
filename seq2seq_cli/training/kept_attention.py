"""The attention in a few dev sentences, whose maps are stored at each validation."""

from collections.abc import Sequence

import numpy as np

from seq2seq_cli.attention.reader import tokens_of
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.pairs import spread
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.tokenizers.tokenizer import Tokenizer
from seq2seq_cli.decoding.encoding import padded, token_ids
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.attention_history import SentenceAttention, Side
from seq2seq_cli.training.attention_figures import reference_attention

_DIGITS = 4  # of a weight in a file


class KeptAttention:
    """Always reads the same pairs, so that the axes of their maps stay the same.

    Args:
        tokenizers: of both languages.
        pairs: a few of them are chosen, except those that are too long for training.
        config: has their number and the maximum lengths.
    """

    def __init__(self, tokenizers: Tokenizers, pairs: Sequence[Pair], config: TrainingConfig):
        # Only a few are examined, since the dev split may be large.
        some = spread(pairs, 8 * config.keep_attention_history)
        sources = token_ids(tokenizers.source, [source for source, _ in some])
        targets = token_ids(tokenizers.target, [target for _, target in some])
        fitting = [
            i
            for i, (source, target) in enumerate(zip(sources, targets, strict=True))
            if len(source) <= config.max_source_tokens and len(target) <= config.max_target_tokens
        ]
        chosen = spread(fitting, config.keep_attention_history)
        self._pairs = [some[i] for i in chosen]
        self._ids = [sources[i] for i in chosen], [targets[i] for i in chosen]
        self._sides = [
            (_side(tokenizers.source, sources[i]), _side(tokenizers.target, targets[i]))
            for i in chosen
        ]

    def read(self, model: Seq2Seq) -> list[SentenceAttention]:
        """Return the attention of a model, with its current weights, in each pair."""
        if not self._pairs:
            return []
        source_BS, target_BT = map(padded, self._ids)
        weights_BTS = reference_attention(model, source_BS, target_BT).astype(np.float64)
        return [
            SentenceAttention(
                *pair,
                *sides,
                weights_TS[: len(sides[1].pieces), : len(sides[0].pieces)].round(_DIGITS).tolist(),
            )
            for pair, sides, weights_TS in zip(self._pairs, self._sides, weights_BTS, strict=True)
        ]


def _side(tokenizer: Tokenizer, ids: np.ndarray) -> Side:
    tokens = tokens_of(tokenizer, ids.tolist())
    return Side(tokens.pieces, tokens.words, tokens.word_of)
