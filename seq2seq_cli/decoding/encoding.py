"""Encodes sentences as ids, in batches of similar length."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.lines import canonical
from seq2seq_cli.data.tokenizers.pair import Tokenizer
from seq2seq_cli.runtime import memory
from seq2seq_cli.runtime.parallel import parts_at_once
from seq2seq_cli.special_tokens import EOS, PAD

_WORTH_A_BATCH = 16  # sentences


class EncodedSentence(NamedTuple):
    """A sentence in the form that a model reads.

    Attributes:
        ids: int32, EOS included; one array for each source vocabulary of the model.
        cut: whether it was longer than `decoding.max_source_tokens`.
    """

    ids: tuple[np.ndarray, ...]
    cut: bool

    @property
    def length(self) -> int:
        """The number of tokens, in the vocabulary in which it is largest."""
        return max(map(len, self.ids))


def encode_sentences(
    tokenizers: Sequence[Tokenizer], texts: Sequence[str], config: DecodingConfig
) -> list[EncodedSentence]:
    """Tokenize sentences with each of the tokenizers, and cut them to the maximum length."""
    limit = config.max_source_tokens
    by_tokenizer = (token_ids(tokenizer, texts) for tokenizer in tokenizers)
    return [
        EncodedSentence(tuple(shortened(each, limit) for each in ids), max(map(len, ids)) > limit)
        for ids in zip(*by_tokenizer, strict=True)
    ]


def cut_sides(source: bool, target: bool) -> tuple[str, ...]:
    """Return the sides of a pair, "source" and "translation", that were cut."""
    sides = {"source": source, "translation": target}
    return tuple(side for side, is_cut in sides.items() if is_cut)


def token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[np.ndarray]:
    """Return the ids (int32) of each text, EOS at the end."""
    ids = tokenizer.tokenize(tf.constant([canonical(text) for text in texts], tf.string))
    splits = ids.row_splits.numpy()[1:-1] if texts else []
    return np.split(ids.flat_values.numpy(), splits) if texts else []


def shortened(ids: np.ndarray, limit: int) -> np.ndarray:
    """Return at most the first `limit` ids, EOS at the end."""
    return ids if len(ids) <= limit else np.append(ids[: limit - 1], np.int32(EOS))


def padded_batch(encoded: Sequence[EncodedSentence]) -> np.ndarray:
    """Return ids_BS, int32, right-padded with PAD.

    With several vocabularies, the ids of all are placed side by side and padded to one length.
    """
    width = max(each.length for each in encoded)
    by_vocabulary = zip(*(each.ids for each in encoded), strict=True)
    return np.concatenate([padded(rows, width) for rows in by_vocabulary], axis=1)


def padded(rows: Sequence[np.ndarray], width: int | None = None) -> np.ndarray:
    """Return the rows as one array, right-padded with PAD to `width` or to the longest."""
    array = np.full((len(rows), width or max(map(len, rows))), PAD, np.int32)
    for target, row in zip(array, rows, strict=True):
        target[: len(row)] = row
    return array


def length_limits(
    lengths: np.ndarray, config: DecodingConfig, prefix: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum and the minimum length of a translation, int32, in tokens with EOS.

    Args:
        lengths: of the sources, in tokens with EOS.
        config: has the ratios and the limits. The minimum raises the maximum by the ratio, but
            `max_length` limits both.
        prefix: tokens that every translation begins with.
    """
    minimum = np.maximum(np.ceil(lengths * config.min_length_ratio), config.min_length)
    maximum = np.floor(lengths * config.max_length_ratio) + config.max_length_extra
    maximum = np.minimum(np.maximum(maximum, minimum), config.max_length or math.inf)
    maximum = np.maximum(maximum, prefix + 1)
    return maximum.astype(np.int32), np.minimum(minimum, maximum).astype(np.int32)


def memory_errors(
    sentences: int, length: int, config: DecodingConfig
) -> AbstractContextManager[None]:
    """Turn a lack of memory for a batch into an error that names what to lower."""
    keys = ["batch_tokens", "batch_sentences", "max_source_tokens"]
    samples = "mbr" if config.mbr else "rerank_hypotheses" if config.rerank else "n_best"
    keys += [samples if config.sample else "beam"]
    values = ", ".join(f"decoding.{key} ({getattr(config, key)})" for key in keys)
    return memory.memory_errors(
        f"a batch of {sentences} × {length} tokens does not fit in memory. Lower one of {values}"
    )


def batches(
    lengths: dict[int, int], config: DecodingConfig, parts: int | None = None
) -> Iterator[list[int]]:
    """Yield batches of sentences of similar length, as lists of keys.

    The longest come first, so that batches that are computed at once end at about the same time.
    Even a few sentences give several batches.

    Args:
        lengths: of the sentences in tokens, by key.
        config: the maximum sizes of a batch.
        parts: how many batches are computed in parallel; None for `parts_at_once`.
    """
    share = -(-len(lengths) // (parts or parts_at_once()))
    most = min(config.batch_sentences, max(share, _WORTH_A_BATCH))
    batch: list[int] = []
    for key in sorted(lengths, key=lambda key: -lengths[key]):
        is_full = len(batch) == most
        if batch and (is_full or (len(batch) + 1) * lengths[batch[0]] > config.batch_tokens):
            yield batch
            batch = []
        batch.append(key)
    if batch:
        yield batch
