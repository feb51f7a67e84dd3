"""The tokens of a sentence and the words that they form, to merge maps of tokens."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tokens:
    """A sequence of tokens.

    Attributes:
        pieces: the tokens as written; ▁ is a space.
        words: the words as written. A special token is a separate word.
        word_of: for each token the index of its word.
    """

    pieces: list[str]
    words: list[str]
    word_of: list[int]

    def __add__(self, other: "Tokens") -> "Tokens":
        """Return both sequences as one."""
        shifted = [len(self.words) + index for index in other.word_of]
        return Tokens(self.pieces + other.pieces, self.words + other.words, self.word_of + shifted)

    def names(self, pieces: bool) -> list[str]:
        """Return the pieces or the words."""
        return self.pieces if pieces else self.words

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum values over the tokens of each word, on the last axis."""
        return values @ np.eye(len(self.words), dtype=values.dtype)[self.word_of]

    def means(self, values: np.ndarray) -> np.ndarray:
        """Average values over the tokens of each word, on the last axis."""
        return self.sums(values) / np.bincount(self.word_of, minlength=len(self.words))


def merged(weights: np.ndarray, queries: Tokens, keys: Tokens) -> np.ndarray:
    """Merge attention between tokens to attention between words.

    A word's attention is the mean over its tokens, and the attention to a word is the sum over its
    tokens. So a row that sums to 1 still does.

    Args:
        weights: [..., queries, keys].
        queries: the tokens that attend.
        keys: the tokens that are attended to.
    """
    to_words = keys.sums(weights)
    return np.swapaxes(queries.means(np.swapaxes(to_words, -1, -2)), -1, -2)
