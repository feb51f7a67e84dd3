"""The interface of every tokenizer, and the simplest one: bytes."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

import tensorflow as tf

from seq2seq_cli.special_tokens import EOS

SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
SPACE = "▁"  # in pieces


class Tokenizer(ABC):
    """Strings to ids and back; the ids 0 to 3 are PAD, UNK, BOS and EOS.

    Attributes:
        kind: one of the values of `tokenizer.kind`.
        vocabulary_size: number of ids.
    """

    kind: str
    vocabulary_size: int

    @abstractmethod
    def serialise(self) -> bytes:
        """Return what was learned. Together with the kind, it determines all ids."""

    @abstractmethod
    def _ids(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids (int32) of a vector of UTF-8 strings, without EOS."""

    @abstractmethod
    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence up to its EOS; PAD and BOS give no text."""

    @abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the written form of each id, for people to read: ▁ is a space."""

    @property
    def fingerprint(self) -> str:
        """The SHA-256, in hexadecimal, of what determines the ids."""
        return hashlib.sha256(self.kind.encode() + b"\0" + self.serialise()).hexdigest()

    def tokenize(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids (int32) of a vector of UTF-8 strings, each with EOS at its end.

        It runs in the graph, so a `tf.data` map can call it.
        """
        ids = self._ids(sentences)
        return tf.concat([ids, tf.fill([ids.nrows(), 1], EOS)], axis=1)

    def sample(self, sentences: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Return the ids of a sampled segmentation of each sentence, with EOS.

        A tokenizer with one segmentation per sentence returns that.

        Args:
            sentences: the texts.
            alpha: `tokenizer.sampling_alpha`, above 0.
            seed: determines the sample; at least 0 and below 2**32.
        """
        return self.tokenize(tf.constant(list(sentences), tf.string)).to_list()


class Bytes(Tokenizer):
    """UTF-8's bytes, after the special ids (Xue et al. 2022, ByT5): nothing is learned."""

    kind = "bytes"
    vocabulary_size = len(SPECIAL_PIECES) + 256

    def serialise(self) -> bytes:
        """Return nothing."""
        return b""

    def _ids(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        values = tf.io.decode_raw(tf.strings.reduce_join(sentences), tf.uint8)
        ids = tf.cast(values, tf.int32) + len(SPECIAL_PIECES)
        return tf.RaggedTensor.from_row_lengths(ids, tf.strings.length(sentences))

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence up to its EOS; invalid UTF-8 becomes U+FFFD."""
        first = len(SPECIAL_PIECES)
        return [
            bytes(i - first for i in until_eos(sequence) if i >= first).decode(errors="replace")
            for sequence in ids
        ]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the ASCII character, or the byte's number."""
        return [self._piece(int(i)) for i in ids]

    def _piece(self, i: int) -> str:
        if i < len(SPECIAL_PIECES):
            return SPECIAL_PIECES[i]
        byte = i - len(SPECIAL_PIECES)
        if byte == ord(" "):
            return SPACE
        return chr(byte) if chr(byte).isascii() and chr(byte).isprintable() else f"<0x{byte:02X}>"


def until_eos(sequence: Sequence[int]) -> list[int]:
    """Return the ids before the first EOS."""
    ids = [int(i) for i in sequence]
    return ids[: ids.index(EOS)] if EOS in ids else ids
