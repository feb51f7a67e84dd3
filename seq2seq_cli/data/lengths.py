"""The number of tokens of each sentence of the training side."""

import numpy as np
import tensorflow as tf

from seq2seq_cli.data.autotune import without_autotune
from seq2seq_cli.data.pairs import Pairs
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.runtime.machine import cores
from seq2seq_cli.work import ShowWork, show_nothing

TOKENIZING = "Tokenizing the corpus"
_BLOCK_PAIRS = 4096  # that are tokenized at once
_SAMPLED_PAIRS = 2000  # from which the lengths of samples are estimated
_DEVIATIONS = 1.645  # standard deviations above the mean, which 95 % of the samples do not exceed


def token_lengths(
    pairs: Pairs, tokenizers: Tokenizers, show: ShowWork = show_nothing
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of tokens of the source and of the target sentences.

    Lengths that `pairs` has stored are read. Otherwise all pairs are tokenized once, on all cores.

    Args:
        pairs: the sentences.
        tokenizers: of both languages.
        show: shows the number of pairs that are counted.

    Returns:
        Two arrays, uint16 of shape [pairs]. EOS counts as a token, and so do the tags that every
        source begins with; longer sentences have 65,535.
    """
    sides = (tokenizers.source.original, tokenizers.target.original)
    lengths = _text_lengths(pairs, sides, show)
    tags = len(tokenizers.source.leading)
    return (longer(lengths[0], tags) if tags else lengths[0]), lengths[1]


def longer(lengths: np.ndarray, tokens: int | np.ndarray) -> np.ndarray:
    """Return lengths (uint16) to which further tokens are added; 65,535 at most."""
    return np.minimum(lengths.astype(np.int32) + tokens, np.iinfo(np.uint16).max).astype(np.uint16)


def tokens_added_by_sampling(
    pairs: Pairs,
    tokenizers: Tokenizers,
    lengths: np.ndarray,
    rows: np.ndarray,
    alpha: float,
) -> np.ndarray:
    """Return by how many tokens sampled segmentations are longer than the best ones.

    About 95 % of the samples are not longer than that. A sample of a sentence of n tokens is
    assumed to have a normally distributed length, with a mean and a variance proportional to n.
    Both are estimated from a few thousand pairs.

    Args:
        pairs: the sentences.
        tokenizers: of both languages.
        lengths: numbers of tokens of the best segmentations, uint16 of shape [2, pairs].
        rows: the pairs to return this for, at least one.
        alpha: `tokenizer.sampling_alpha`, above 0.

    Returns:
        Numbers of tokens, uint16 of shape [2, rows].
    """
    few = rows[:: -(-len(rows) // _SAMPLED_PAIRS)]
    added = []
    for side, texts in enumerate(pairs.take(few)):
        tokenizer = tokenizers.target if side else tokenizers.source
        best = lengths[side, few].astype(float)
        more = [len(ids) for ids in tokenizer.sample(texts, alpha, seed=side)] - best
        mean = more.sum() / best.sum()
        deviation = np.sqrt(np.mean((more - mean * best) ** 2 / best))
        every = np.arange(int(lengths[side, rows].max()) + 1)
        tokens = np.rint(mean * every + _DEVIATIONS * deviation * np.sqrt(every))
        tokens = np.clip(tokens, 0, np.iinfo(np.uint16).max).astype(np.uint16)
        added.append(tokens[lengths[side, rows]])
    return np.stack(added)


def _text_lengths(
    pairs: Pairs, sides: tuple[Tokenizer, Tokenizer], show: ShowWork
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of tokens as `token_lengths` does, of tokenizers without tags."""
    known = [pairs.known_lengths(i, side.fingerprint) for i, side in enumerate(sides)]
    if known[0] is not None and known[1] is not None:
        return known[0], known[1]

    def read(start: int) -> list[np.ndarray]:
        texts = pairs.take(range(start, min(start + _BLOCK_PAIRS, len(pairs))))
        # TensorFlow would first pad each text of a list to the longest one.
        return [np.array([text.encode() for text in side], object) for side in texts]

    @tf.autograph.experimental.do_not_convert  # the conversion would take half a second
    def count(start: tf.Tensor) -> tf.Tensor:
        texts = tf.numpy_function(read, [start], [tf.string] * 2)
        lengths = [
            side.tokenize(tf.ensure_shape(text, [None])).row_lengths()
            for side, text in zip(sides, texts, strict=True)
        ]
        return tf.cast(tf.minimum(tf.stack(lengths), tf.uint16.max), tf.uint16)

    both = np.empty((2, len(pairs)), np.uint16)
    starts = tf.data.Dataset.range(0, len(pairs), _BLOCK_PAIRS)
    done = 0
    show(TOKENIZING, "pairs", done, len(pairs))
    for lengths in without_autotune(starts.map(count, cores())).as_numpy_iterator():
        both[:, done : done + lengths.shape[1]] = lengths
        done += lengths.shape[1]
        show(TOKENIZING, "pairs", done, len(pairs))
    for i, side in enumerate(sides):
        pairs.keep_lengths(i, side.fingerprint, both[i])
    return both[0], both[1]
