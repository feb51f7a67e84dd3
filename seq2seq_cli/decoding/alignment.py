"""Aligns the words of a translation and its source by attention."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seq2seq_cli.data.lines import canonical
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.data.tokenizers.tokenizer import SPECIAL_PIECES
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.special_tokens import EOS, UNK


@dataclass(frozen=True)
class Alignment:
    """An alignment of a translation to its source.

    Attributes:
        words: (source word, target word) for each target word, counted from 0; words are separated
            by spaces. With tokenizer.kind = "words", an unknown word is a separate word, even if
            there is no space before it.
        source_tokens, target_tokens: the tokens as written, </s> included.
        weights: for each target token, the attention to each source token.
    """

    words: list[tuple[int, int]]
    source_tokens: list[str]
    target_tokens: list[str]
    weights: list[list[float]]

    def __str__(self) -> str:
        """Return the alignment of the words in the Pharaoh format."""
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
    source_indices, source_words = word_indices(tokenizers.source, _without_eos(source))
    target_indices, target_words = word_indices(tokenizers.target, _without_eos(target))
    by_word = np.zeros((len(target_indices), len(source_indices)))  # no more words than tokens
    tags = sum(map(tokenizers.source.is_tag, source))  # they are not words, and come first
    for j, row in zip(target_indices, weights, strict=False):
        for i, weight in zip(source_indices[tags:], row[tags:], strict=False):
            by_word[j, i] += weight
    by_word = by_word[: len(target_words), : len(source_words)]
    words = [(int(row.argmax()), j) for j, row in enumerate(by_word) if row.size]
    return Alignment(
        words,
        tokenizers.source.pieces(source),
        tokenizers.target.pieces(target),
        [[round(float(weight), 5) for weight in row] for row in weights],
    )


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
        sentence: the source. If it was cut, the weights end at the cut.
        text: the translation, in which unknown words are "<unk>".
        ids: its ids.
        weights: for each of these a row of weights over the source's tags, words and EOS.
    """
    assert isinstance(tokenizers.source, Words)
    words = tokenizers.source.words(canonical(sentence))
    unknown = SPECIAL_PIECES[UNK]
    parts = text.split(unknown)
    rows = weights[:, len(tokenizers.source.leading) : -1]
    copied = [words[row.argmax()] for i, row in zip(ids, rows, strict=True) if i == UNK]
    if len(parts) != len(copied) + 1:  # the text has "<unk>" of its own
        return text
    return "".join(part + word for part, word in zip(parts, [*copied, ""], strict=True))


def word_indices(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[int], list[str]]:
    """Return for each token the index of the word in which it ends; and the words.

    A token of spaces only belongs to the previous word. If there are only such tokens, there is no
    word, and the indices are 0.

    Args:
        tokenizer: of the language.
        ids: of a text, without EOS.
    """
    beginnings = tokenizer.detokenize([ids[: i + 1] for i in range(len(ids))])
    splits = [beginning.split() for beginning in beginnings]
    words = max(reversed(splits), key=len, default=[])
    return [max(0, len(split) - 1) for split in splits], words


def _without_eos(ids: Sequence[int]) -> list[int]:
    return [int(i) for i in ids if i != EOS]
