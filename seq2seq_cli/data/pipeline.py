"""Turns pairs into padded batches of token ids, epoch by epoch."""

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.autotune import without_autotune
from seq2seq_cli.data.batching import Batching, Plan
from seq2seq_cli.data.corpus import Corpus
from seq2seq_cli.data.directed import Directed
from seq2seq_cli.data.lengths import longer, token_lengths, tokens_added_by_sampling
from seq2seq_cli.data.pairs import Pairs
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.errors import DataError
from seq2seq_cli.runtime.parallel import CHEAP_SHAPE, cost_of_a_shape
from seq2seq_cli.special_tokens import BOS
from seq2seq_cli.work import ShowWork, show_nothing


class Batch(NamedTuple):
    """Pairs of similar lengths, padded to one of few shapes: a part of an update's batch.

    Attributes:
        source_BS: int32, each row ends with EOS.
        target_BT: int32, each row begins with BOS and ends with EOS.
        pairs: int32 scalar, number of rows with a pair; the others, at the end, are all PAD.
    """

    source_BS: tf.Tensor
    target_BT: tf.Tensor
    pairs: tf.Tensor


class TrainingData:
    """The training side as batches, epoch by epoch, tokenized in the graph.

    Args:
        pairs: the pairs to learn from.
        tokenizers: of both languages.
        config: batch size, seed and maximum lengths.
        sampling_alpha: of subword regularisation; 0 for none.
        shape_cost: tokens of padding that one more batch shape must save in an epoch.
        show: shows the number of pairs that have been tokenized.

    Attributes:
        too_long: number of pairs left out because of their length.
        pairs: number of pairs in an epoch, repetitions by weight included.
        source_tokens, target_tokens: number of tokens in an epoch, EOS included, BOS not; on
            average, if pairs have weights.
        shape_cost: the padding that one more batch shape saves in an epoch, in tokens.
        most_rows: number of rows of the largest batch.
        parts_per_epoch: number of parts of batches in an epoch.
        padding_share: share of all positions in the batches that hold no token.

    Raises:
        DataError: if no pair is short enough.
    """

    def __init__(
        self,
        pairs: Pairs,
        tokenizers: Tokenizers,
        config: TrainingConfig,
        sampling_alpha: float = 0.0,
        shape_cost: int = CHEAP_SHAPE,
        show: ShowWork = show_nothing,
    ):
        self._pairs = pairs
        self._tags = pairs.tags
        self._tokenizers = tokenizers
        self._seed = config.seed
        self._alpha = sampling_alpha
        text_lengths = np.stack(token_lengths(pairs, tokenizers, show))
        lengths = self._with_tags(text_lengths)
        most = np.array([[config.max_source_tokens], [config.max_target_tokens]])
        self._rows = _rows_that_fit(lengths, most)
        self.too_long = len(pairs) - len(self._rows)
        lengths = longest = lengths[:, self._rows]
        if sampling_alpha:
            # Each pair is put into a batch for longer pairs. A sentence whose sample is still too
            # long keeps its best segmentation.
            added = tokens_added_by_sampling(
                pairs, tokenizers, text_lengths, self._rows, sampling_alpha
            )
            longest = np.minimum(lengths.astype(np.int32) + added, most).astype(np.uint16)
        weights = None if pairs.weights is None else pairs.weights[self._rows]
        batching = self._batching = Batching(longest, weights, config, shape_cost)
        self.shape_cost = shape_cost
        self.pairs = batching.pairs
        self.most_rows = int(batching.rows.max())
        self.parts_per_epoch = batching.batches
        tokens = lengths.sum(axis=1) if weights is None else lengths @ weights.astype(float)
        self.source_tokens, self.target_tokens = np.rint(tokens).astype(int).tolist()
        self.padding_share = 1 - (self.source_tokens + self.target_tokens) / batching.positions

    @classmethod
    def from_config(
        cls,
        corpus: Corpus,
        tokenizers: Tokenizers,
        config: Config,
        show: ShowWork = show_nothing,
        shape_cost: int = 0,
    ) -> "TrainingData":
        """Return the training side of a corpus.

        Args:
            corpus: the corpus.
            tokenizers: of both languages.
            config: of the run.
            show: shows the number of sentences whose tokens have been counted.
            shape_cost: that of a training run to continue; 0 for what suits this device.
        """
        training = config.training
        cost = shape_cost or cost_of_a_shape(config.model.kind, training)
        alpha = config.tokenizer.sampling_alpha
        pairs: Pairs = corpus.train
        if tokenizers.source.languages:
            pairs = Directed(pairs, config.data.directions)
        return cls(pairs, tokenizers, training, alpha, cost, show)

    def plan(self, epoch: int) -> Plan:
        """Return the batches of an epoch and their order; its indices are rows of the pairs."""
        plan = self._batching.plan(epoch)
        return plan._replace(indices=self._rows[plan.indices])

    def shapes(self, batches: int | None = None) -> list[tuple[int, int, int]]:
        """Return the distinct shapes of the first epoch's first batches, or of all its batches.

        Each is (rows, source length, target length without BOS). The largest come first.
        """
        found = np.unique(self._batching.plan(epoch=0).shapes[:batches])[::-1]
        sides = self._batching.shapes[found].tolist()
        rows = self._batching.rows[found].tolist()
        return [(n, source, target) for n, (source, target) in zip(rows, sides, strict=True)]

    def pairs_of(self, epoch: int, first_part: int, parts: int = 1) -> list[Pair]:
        """Return the pairs of some parts of batches of an epoch.

        Args:
            epoch: the epoch, from 0.
            first_part: the number of the first part, from 0.
            parts: their number.
        """
        plan = self.plan(epoch)
        first = plan.counts[:first_part].sum()
        rows = plan.indices[first : first + plan.counts[first_part : first_part + parts].sum()]
        return list(zip(*self._pairs.take(rows), strict=True))

    def batches(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch after the first `skip`, which are not computed."""
        plan = self.plan(epoch)
        counts, shapes = plan.counts[skip:], plan.shapes[skip:]
        indices = tf.RaggedTensor.from_row_lengths(plan.indices[plan.counts[:skip].sum() :], counts)
        numbers = np.arange(skip, skip + len(counts))
        columns = (numbers, self._batching.rows[shapes], self._batching.shapes[shapes])
        in_graph = (column.astype(np.int32) for column in columns)
        batches = tf.data.Dataset.from_tensor_slices((indices, *in_graph))
        # Each epoch has its own data set, but the function it maps is traced only once.
        yield from without_autotune(batches.map(functools.partial(self._batch, epoch)).prefetch(4))

    @functools.cached_property
    def _batch(self) -> Callable[..., Batch]:
        """A graph function that makes a batch.

        It takes the epoch, the rows of the training side, the batch's number, its number of rows,
        and its two lengths.
        """

        @functools.partial(
            tf.function,
            input_signature=[tf.TensorSpec(shape, tf.int32) for shape in ([], [None], [], [], [2])],
            autograph=False,
        )
        def batch(
            epoch: tf.Tensor,
            indices: tf.Tensor,
            number: tf.Tensor,
            rows: tf.Tensor,
            lengths: tf.Tensor,
        ) -> Batch:
            sources, targets = tf.numpy_function(self._pairs.take, [indices], [tf.string] * 2)
            position = tf.stack([epoch, number])
            source = self._sources(indices, sources, position, lengths[0])
            target = self._ids(1, targets, position, lengths[1])
            count = tf.size(indices)
            target = tf.concat([tf.fill([count, 1], BOS), target], axis=1)
            return Batch(
                source.to_tensor(shape=[rows, lengths[0]]),
                target.to_tensor(shape=[rows, lengths[1] + 1]),
                count,
            )

        return batch

    def _with_tags(self, lengths_2N: np.ndarray) -> np.ndarray:
        """Return the lengths of the pairs, with the tags of the sources."""
        if self._tags is None:
            return lengths_2N
        sources, targets = lengths_2N
        counts = np.array([len(tags) for tags in self._tags.sequences], np.int32)
        return np.stack([longer(sources, counts[self._tags.numbers]), targets])

    def _ids(
        self, side: int, texts: tf.Tensor, position: tf.Tensor, length: tf.Tensor
    ) -> tf.RaggedTensor:
        """Return the ids of a side's sentences in one batch.

        Args:
            side: 0 for the source language, 1 for the target language.
            texts: the sentences, of shape [pairs].
            position: int32 of shape [2], the epoch and the batch's number in it.
            length: the maximum number of tokens, int32 of shape [] or [pairs].
        """
        tokenizer = self._tokenizers.target if side else self._tokenizers.source
        best = tokenizer.tokenize(tf.ensure_shape(texts, [None]))
        if not self._alpha:
            return best

        def sample(texts: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            key = np.random.SeedSequence([self._seed, *position, side])
            rows = tokenizer.sample(
                [text.decode() for text in texts], self._alpha, int(key.generate_state(1)[0])
            )
            counts = np.array([len(row) for row in rows], np.int64)
            return np.concatenate(rows).astype(np.int32), counts

        values, counts = tf.numpy_function(sample, [texts, position], [tf.int32, tf.int64])
        sampled = tf.RaggedTensor.from_row_lengths(
            tf.ensure_shape(values, [None]), tf.ensure_shape(counts, [None])
        )
        fits = sampled.row_lengths() <= tf.cast(length, tf.int64)
        either = tf.concat([sampled, best], axis=0)
        rows = tf.range(tf.size(counts))
        return tf.gather(either, tf.where(fits, rows, rows + tf.size(counts)))

    def _sources(
        self, indices: tf.Tensor, texts: tf.Tensor, position: tf.Tensor, length: tf.Tensor
    ) -> tf.RaggedTensor:
        """Return the ids of source sentences, with those of their tags before them.

        Args:
            indices: their rows of the training side.
            texts: the sentences.
            position: see `_ids`.
            length: the maximum number of tokens, those of the tags included.
        """
        tags = self._tags
        if tags is None:
            return self._ids(0, texts, position, length)
        to_id = self._tokenizers.source.tag_id
        ids = tf.ragged.constant([[*map(to_id, each)] for each in tags.sequences], tf.int32)
        numbers = tf.numpy_function(
            lambda rows: tags.numbers[rows].astype(np.int32), [indices], tf.int32
        )
        before = tf.gather(ids, tf.ensure_shape(numbers, [None]))
        left = length - tf.cast(before.row_lengths(), tf.int32)
        return tf.concat([before, self._ids(0, texts, position, left)], axis=1)


def _rows_that_fit(lengths_2N: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the numbers of the pairs of at most so many tokens, int32.

    Raises:
        DataError: if there are none.
    """
    rows = np.flatnonzero((lengths_2N <= most).all(axis=0)).astype(np.int32)
    if not len(rows):
        source, target = most.ravel()
        raise DataError(
            f"none of the {lengths_2N.shape[1]} pairs has at most {source} source and "
            f"{target} target tokens. Raise training.max_source_tokens and "
            "training.max_target_tokens"
        )
    return rows
