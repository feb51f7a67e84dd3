"""How often each token has occurred in training."""

import numpy as np

from seq2seq_cli.data.pipeline import Batch
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.tokenizers.tokenizer import SPECIAL_PIECES, Bytes, Tokenizer
from seq2seq_cli.special_tokens import BOS, PAD

_TOKENS_PER_PIECE = 20  # of the vocabulary; the entropy is then too low by about 1/40 nat


class TokenCounts:
    """Counts the tokens of batches.

    Args:
        tokenizers: of both languages.
    """

    def __init__(self, tokenizers: Tokenizers):
        self._tokenizers = tokenizers
        self._batches = 0
        self._source = np.zeros(tokenizers.source.vocabulary_size, np.int64)
        self._target = np.zeros(tokenizers.target.vocabulary_size, np.int64)

    def add(self, batch: Batch) -> None:
        """Count the tokens of a batch."""
        self._batches += 1
        for counts, ids in ((self._source, batch.source_BS), (self._target, batch.target_BT)):
            counts += np.bincount(ids.numpy().ravel(), minlength=len(counts))

    def unigram_loss(self) -> float | None:
        """Return the entropy of the target tokens, in nats per token, EOS included.

        This is the loss of a model that knows only the token frequencies. It is None for few
        tokens, whose entropy would be too low.
        """
        counts = self._target.astype(np.float64)
        counts[[PAD, BOS]] = 0
        if counts.sum() < _TOKENS_PER_PIECE * len(counts):
            return None
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def untrained_share(self, batches: int) -> float | None:
        """Return the share of the pieces that occurred in no batch, on either side.

        Special tokens and the bytes of characters without a piece do not count.

        Args:
            batches: of an epoch; with fewer the result is None.
        """
        if self._batches < batches:
            return None
        sides = [(self._tokenizers.source, self._source), (self._tokenizers.target, self._target)]
        if self._tokenizers.joint:
            sides = [(self._tokenizers.source, self._source + self._target)]
        chosen = [counts[_learned(tokenizer)] for tokenizer, counts in sides]
        counts = np.concatenate(chosen)
        return float((counts == 0).mean()) if len(counts) else 0.0


def _learned(tokenizer: Tokenizer) -> np.ndarray:
    """Return the ids of the pieces that were learned from a corpus."""
    ids = np.arange(len(SPECIAL_PIECES), tokenizer.text_size)
    if isinstance(tokenizer, Bytes):
        return ids[:0]
    is_byte = [piece.startswith("<0x") for piece in tokenizer.pieces(ids.tolist())]
    return ids[~np.array(is_byte, bool)]
