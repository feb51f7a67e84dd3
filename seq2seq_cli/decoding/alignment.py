"""Align the words of a translation and of its source by attention."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.data.tokenizers.tokenizer import SPECIAL_PIECES
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.special_tokens import BOS, EOS, UNK


@dataclass(frozen=True)
class Alignment:
    """An alignment of a translation to its source.

    Attributes:
        words: (source word, target word) for each target word, counted from 0; words are separated
            by spaces.
        source_tokens, target_tokens: the tokens as written, </s> included.
        weights: for each target token, the attention to each source token.
    """

    words: list[tuple[int, int]]
    source_tokens: list[str]
    target_tokens: list[str]
    weights: list[list[float]]

    def __str__(self) -> str:
        """Write the words' alignment in the Pharaoh format."""
        return " ".join(f"{i}-{j}" for i, j in self.words)


def align(
    tokenizers: Tokenizers, source: Sequence[int], target: Sequence[int], weights: np.ndarray
) -> Alignment:
    """Align each word of a translation to the source word that its tokens attend to most.

    Args:
        tokenizers: of both languages.
        source: its ids, EOS included.
        target: ids of the translation, EOS included unless it was cut.
        weights: for each of these a row of weights over the source.
    """
    source_words, source_count = _words(tokenizers.source, source)
    target_words, target_count = _words(tokenizers.target, target)
    by_word = np.zeros((len(target_words), len(source_words)))  # no more words than tokens
    for j, row in zip(target_words, weights, strict=False):
        for i, weight in zip(source_words, row, strict=False):
            by_word[j, i] += weight
    by_word = by_word[:target_count, :source_count]
    words = [(int(row.argmax()), j) for j, row in enumerate(by_word) if row.size]
    return Alignment(
        words,
        tokenizers.source.pieces(source),
        tokenizers.target.pieces(target),
        [[round(float(weight), 5) for weight in row] for row in weights],
    )


def forced_attention(model: Seq2Seq, source_S: np.ndarray, target_T: np.ndarray) -> np.ndarray:
    """Return attention_TS (float32) where the decoder reads a given translation (teacher forcing).

    Args:
        model: any Seq2Seq.
        source_S: int32 ids of a source, EOS included.
        target_T: int32 ids of its translation, EOS included.
    """
    memory = model.encode(tf.constant(source_S[np.newaxis], tf.int32))
    state = model.initial_state(memory, len(target_T))
    rows = []
    for token in [BOS, *target_T[:-1]]:
        _, attention_BS, state = model.decode_step(tf.constant([token], tf.int32), state, memory)
        rows.append(attention_BS.numpy()[0])
    return np.array(rows)


def copy_unknown(
    tokenizers: Tokenizers,
    sentence: str,
    text: str,
    ids: Sequence[int] | np.ndarray,
    weights: np.ndarray,
) -> str:
    """Replace each unknown word by the source word with the highest attention.

    Args:
        tokenizers: of words.
        sentence: the source.
        text: the translation, in which an unknown word reads "<unk>".
        ids: its ids.
        weights: for each of these a row of weights over the source's words and EOS.
    """
    assert isinstance(tokenizers.source, Words)
    words = tokenizers.source.words(sentence)
    unknown = SPECIAL_PIECES[UNK]
    parts = text.split(unknown)
    rows = weights[: len(ids)]
    copied = [words[r[: len(words)].argmax()] for i, r in zip(ids, rows, strict=True) if i == UNK]
    if len(parts) != len(copied) + 1:  # the text has "<unk>" of its own
        return text
    return "".join(part + word for part, word in zip(parts, [*copied, ""], strict=True))


def _words(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[int], int]:
    """Return for each token but EOS the index of the word in which it ends; and how many words.

    A token of spaces alone is no word.
    """
    tokens = [int(i) for i in ids if i != EOS]
    beginnings = tokenizer.detokenize([tokens[: i + 1] for i in range(len(tokens))])
    counts = [len(beginning.split()) for beginning in beginnings]
    return [max(0, count - 1) for count in counts], max(counts, default=0)
