"""The interface of every tokenizer, and the simplest one: bytes."""

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seq2seq_cli.special_tokens import BOS, EOS, PAD, TO

SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
SPACE = "▁"  # in pieces


class Tokenizer(ABC):
    """Strings to ids and back; the ids 0 to 3 are PAD, UNK, BOS and EOS, and the last are the tags.

    A tag is a token before a source sentence that names the corpus of the pair, or the language to
    translate into. No text has its id, and it gives no text.

    Attributes:
        kind: one of the values of `tokenizer.kind`.
        vocabulary_size: number of ids.
        tags: without their brackets; none before `with_tags`.
        leading: ids of the tags that every sentence begins with; none before `beginning_with`.
    """

    kind: str
    vocabulary_size: int
    tags: tuple[str, ...] = ()
    leading: tuple[int, ...] = ()
    _original: "Tokenizer | None" = None

    @abstractmethod
    def serialise(self) -> bytes:
        """Return the learned data. Together with the kind, it determines all ids."""

    @abstractmethod
    def _ids(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids (int32) of a vector of UTF-8 strings, without EOS."""

    @abstractmethod
    def _texts(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence, which has no tags, and no special ids except UNK."""

    @abstractmethod
    def _graph_texts(self, ids: tf.Tensor) -> tf.Tensor:
        """Return the text of each row, in the graph; PAD, which may stand anywhere, gives none."""

    @abstractmethod
    def _piece(self, i: int) -> str:
        """Return the written form of an id that is neither special nor a tag's."""

    @property
    def resources(self) -> list[Any]:
        """What a SavedModel has to contain besides the graph: models and tables."""
        return []

    @property
    def text_size(self) -> int:
        """Number of ids without the tags."""
        return self.vocabulary_size - len(self.tags)

    @property
    def languages(self) -> list[str]:
        """The target languages that have tags."""
        return [tag.removeprefix(TO) for tag in self.tags if tag.startswith(TO)]

    @property
    def original(self) -> "Tokenizer":
        """The tokenizer from which `with_tags` and `beginning_with` made this one."""
        return self._original or self

    @property
    def text_fingerprint(self) -> str:
        """The hexadecimal SHA-256 of everything that determines the ids of a text."""
        return hashlib.sha256(self.kind.encode() + b"\0" + self.serialise()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """The hexadecimal SHA-256 of everything that determines the ids, tags included."""
        if not self.tags:
            return self.text_fingerprint
        return hashlib.sha256("\0".join([self.text_fingerprint, *self.tags]).encode()).hexdigest()

    def with_tags(self, tags: Sequence[str]) -> "Tokenizer":
        """Return a tokenizer of the same text with these tags instead of its own."""
        tagged = self._copy()
        tagged.vocabulary_size = self.text_size + len(tags)
        tagged.tags, tagged.leading = tuple(tags), ()
        return tagged

    def beginning_with(self, tags: Sequence[str]) -> "Tokenizer":
        """Return a tokenizer whose sentences begin with these of its tags."""
        beginning = self._copy()
        beginning.leading = tuple(map(self.tag_id, tags))
        return beginning

    def tag_id(self, tag: str) -> int:
        """Return the id of a tag."""
        return self.text_size + self.tags.index(tag)

    def is_tag(self, i: int) -> bool:
        """Return whether an id is that of a tag."""
        return i >= self.text_size

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence up to its EOS; PAD, BOS and tags give no text."""
        return self._texts(
            [
                [i for i in until_eos(row) if i not in (PAD, BOS) and not self.is_tag(i)]
                for row in ids
            ]
        )

    def detokenize_in_graph(self, ids: tf.Tensor) -> tf.Tensor:
        """Return what `detokenize` does for rows of ids, as a vector of strings, in the graph.

        A NUL becomes U+FFFD.

        Args:
            ids: int32, one row for each sequence, padded with PAD.
        """
        has_ended = tf.cumsum(tf.cast(ids == EOS, tf.int32), axis=1) > 0
        no_text = has_ended | (ids == PAD) | (ids == BOS) | (ids >= self.text_size)
        texts = self._graph_texts(tf.where(no_text, PAD, ids))
        return tf.strings.regex_replace(texts, r"\x00", "\N{REPLACEMENT CHARACTER}")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the readable form of each id: ▁ is a space."""
        return [self._written(int(i)) for i in ids]

    def tokenize(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids (int32) of a vector of UTF-8 strings, each with EOS at its end.

        It runs in the graph, so a `tf.data` map can call it.
        """
        ids = self._ids(sentences)
        rows = ids.nrows()
        parts = [ids, tf.fill([rows, 1], EOS)]
        if self.leading:
            parts.insert(0, tf.tile([self.leading], [rows, 1]))
        return tf.concat(parts, axis=1)

    def sample(self, sentences: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Return the ids of a sampled segmentation of each sentence, with EOS.

        A tokenizer with one segmentation per sentence returns that one.

        Args:
            sentences: the texts.
            alpha: `tokenizer.sampling_alpha`, above 0.
            seed: determines the sample; at least 0 and below 2**32.
        """
        return self.tokenize(tf.constant(list(sentences), tf.string)).to_list()

    def _written(self, i: int) -> str:
        if i < len(SPECIAL_PIECES):
            return SPECIAL_PIECES[i]
        return f"<{self.tags[i - self.text_size]}>" if self.is_tag(i) else self._piece(i)

    def _copy(self) -> "Tokenizer":
        copied = copy.copy(self)
        copied._original = self.original
        return copied


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

    def _texts(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the texts; invalid UTF-8 becomes U+FFFD."""
        first = len(SPECIAL_PIECES)
        return [bytes(i - first for i in row if i >= first).decode(errors="replace") for row in ids]

    def _graph_texts(self, ids: tf.Tensor) -> tf.Tensor:
        special = [b""] * len(SPECIAL_PIECES)
        # An array of objects: one of strings would lose the byte 0.
        strings = np.array([*special, *(bytes([i]) for i in range(256))], object)
        texts = tf.strings.reduce_join(tf.gather(tf.constant(strings, tf.string), ids), axis=1)
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")

    def _piece(self, i: int) -> str:
        """Return the ASCII character, or the byte's number."""
        byte = i - len(SPECIAL_PIECES)
        if byte == ord(" "):
            return SPACE
        return chr(byte) if chr(byte).isascii() and chr(byte).isprintable() else f"<0x{byte:02X}>"


def until_eos(sequence: Sequence[int]) -> list[int]:
    """Return the ids before the first EOS."""
    ids = [int(i) for i in sequence]
    return ids[: ids.index(EOS)] if EOS in ids else ids
