"""Pairs to padded batches: an order that is a pure function of (seed, epoch), in few shapes."""

import functools
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.data.corpus import Corpus, Pairs
from seq2seq_cli.data.shapes import left_over, padded_shapes
from seq2seq_cli.data.tokenizers.pair import Tokenizers, spread, train_tokenizers
from seq2seq_cli.errors import DataError
from seq2seq_cli.runtime.parallel import CHEAP_SHAPE, cost_of_a_shape
from seq2seq_cli.special_tokens import BOS

_TOKENIZE_AT_ONCE = 4096

# A sampled segmentation has more tokens than the best one. Pairs stand in the batches of pairs that
# are longer by this factor. A sentence whose sample is too long even there keeps its best one.
_SAMPLED_LENGTH = 1.4


class Batch(NamedTuple):
    """Pairs of about the same lengths, padded to one of few shapes.

    source_BS: int32, each row ends with EOS.
    target_BT: int32, each row begins with BOS and ends with EOS.
    pairs: int32 scalar, how many rows hold a pair; the others, at the end, are all PAD.
    """

    source_BS: tf.Tensor
    target_BT: tf.Tensor
    pairs: tf.Tensor


class Plan(NamedTuple):
    """The batches of an epoch.

    indices: rows of the training side, those of the first batch first; counts: how many of them
    each batch takes; shapes: which of the shapes it has.
    """

    indices: np.ndarray
    counts: np.ndarray
    shapes: np.ndarray


class TrainingData:
    """The training side, tokenized in the graph, read epoch by epoch.

    Args:
        pairs: what is learned from.
        tokenizers: give the ids.
        config: batch size, seed and maximum lengths.
        sampling_alpha: of subword regularisation; 0 for none.
        shape_cost: how much padding an epoch has to lose by one more shape of batches, in tokens.

    Attributes:
        too_long: number of pairs left out for their length.
        pairs: number of pairs in an epoch, repetitions by weight included.
        source_tokens, target_tokens: number of tokens in an epoch, EOS included, BOS not; on
            average, where pairs have weights.
        most_rows: of a batch.
        steps_per_epoch: number of batches.
        padding_share: part of all places in the batches that holds no token.

    Raises:
        DataError: if no pair is short enough.
    """

    def __init__(
        self,
        pairs: Pairs,
        tokenizers: Tokenizers,
        config: TrainingConfig,
        sampling_alpha: float = 0.0,
        shape_cost: float = CHEAP_SHAPE,
    ):
        self._pairs = pairs
        self._tokenizers = tokenizers
        self._seed = config.seed
        self._alpha = sampling_alpha
        source_lengths, target_lengths = token_lengths(pairs, tokenizers)

        fits = (source_lengths <= config.max_source_tokens) & (
            target_lengths <= config.max_target_tokens
        )
        self._rows = np.flatnonzero(fits).astype(np.int32)
        self.too_long = len(pairs) - len(self._rows)
        if not len(self._rows):
            raise DataError(
                f"none of the {len(pairs)} training pairs has at most "
                f"{config.max_source_tokens} source and {config.max_target_tokens} target tokens. "
                "Raise training.max_source_tokens and training.max_target_tokens"
            )

        lengths = np.stack([source_lengths, target_lengths])[:, self._rows]
        if sampling_alpha:
            most = [[config.max_source_tokens], [config.max_target_tokens]]
            lengths = np.minimum(np.ceil(_SAMPLED_LENGTH * lengths), most).astype(np.uint16)
        weights = None if pairs.weights is None else pairs.weights[self._rows]
        self._shapes, self._shape_of = padded_shapes(lengths, weights, shape_cost)
        # In eights, so that parts of a batch are alike.
        rows = 2 * config.batch_tokens // self._shapes.sum(axis=1)
        self._batch_rows = np.where(rows < 8, rows, (rows + 4) // 8 * 8)
        if config.batch_pairs:
            self._batch_rows[:] = config.batch_pairs
        self.most_rows = int(self._batch_rows.max())
        self._repetitions = weights if weights is None else Repetitions(weights, self._shape_of)

        sizes = np.bincount(self._shape_of[self._shown(epoch=0)], minlength=len(self._shapes))
        self.pairs = int(sizes.sum())
        each = 1.0 if weights is None else weights
        self.source_tokens = round(float(np.sum(source_lengths[fits] * each)))
        self.target_tokens = round(float(np.sum(target_lengths[fits] * each)))
        self._left_over, sizes = left_over(self._shapes, self._batch_rows, sizes)
        batches = -(-sizes // self._batch_rows)
        self.steps_per_epoch = int(batches.sum())
        places = int((batches * self._batch_rows * self._shapes.sum(axis=1)).sum())
        self.padding_share = 1 - (self.source_tokens + self.target_tokens) / places

    @classmethod
    def from_config(cls, corpus: Corpus, tokenizers: Tokenizers, config: Config) -> "TrainingData":
        """Return the training side of a corpus, in as many shapes as pay on the device in use."""
        training = config.training
        cost = cost_of_a_shape(config.model.kind, training)
        return cls(corpus.train, tokenizers, training, config.tokenizer.sampling_alpha, cost)

    def plan(self, epoch: int) -> Plan:
        """Decide which pairs stand together and in which order; a function of (seed, epoch)."""
        order = self._shown(epoch)
        shapes = self._shape_of[order]
        by_shape = np.argsort(shapes, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(shapes, minlength=len(self._shapes)))
        members = np.split(by_shape, ends[:-1])
        for shape, (left, larger) in self._left_over.items():
            members[shape], rest = np.split(members[shape], [-left])
            members[larger] = np.sort(np.concatenate([members[larger], rest]))
        parts = []
        for shape, (rows, places) in enumerate(zip(self._batch_rows, members, strict=True)):
            starts = np.arange(0, len(places), rows)
            ends = np.minimum(starts + rows, len(places))
            parts.append((shape, places, ends - starts, places[ends - 1]))
        # A batch stands where the shuffled order completes it, so that lengths are well mixed.
        numbers = np.concatenate([np.full(len(counts), shape) for shape, _, counts, _ in parts])
        counts = np.concatenate([counts for _, _, counts, _ in parts])
        completed = np.concatenate([last for _, _, _, last in parts])
        starts = np.cumsum(counts) - counts
        by_completion = np.argsort(completed, kind="stable")
        starts, counts = starts[by_completion], counts[by_completion]
        # By how much each place moves as its batch does, and then where to take it from.
        moved = np.repeat((starts - (np.cumsum(counts) - counts)).astype(np.int32), counts)
        moved += np.arange(len(order), dtype=np.int32)
        places = np.concatenate([places for _, places, _, _ in parts])[moved]
        return Plan(self._rows[order[places]], counts, numbers[by_completion])

    def shapes(self, batches: int | None = None) -> list[tuple[int, int, int]]:
        """Return the shapes of the first epoch's first batches, or of all, each once.

        They are (rows, source length, target length without BOS), those of most tokens first.
        """
        found = np.unique(self.plan(epoch=0).shapes[:batches])[::-1]
        sides = self._shapes[found].tolist()
        rows = self._batch_rows[found].tolist()
        return [(n, source, target) for n, (source, target) in zip(rows, sides, strict=True)]

    def batches(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, without the first `skip`, which cost nothing."""
        plan = self.plan(epoch)
        counts, shapes = plan.counts[skip:], plan.shapes[skip:]
        indices = tf.RaggedTensor.from_row_lengths(plan.indices[plan.counts[:skip].sum() :], counts)
        numbers = np.arange(skip, skip + len(counts))
        columns = (numbers, self._batch_rows[shapes], self._shapes[shapes])
        in_graph = (column.astype(np.int32) for column in columns)
        batches = tf.data.Dataset.from_tensor_slices((indices, *in_graph))
        # A data set of its own is made for each epoch; what it maps is traced but once.
        yield from _untuned(batches.map(functools.partial(self._batch, epoch)).prefetch(4))

    @functools.cached_property
    def _batch(self) -> Callable[..., Batch]:
        """A function in the graph that makes a batch.

        It takes the epoch, the rows of the training side, the batch's number, and how many rows
        and lengths it has.
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
            place = tf.stack([epoch, number])
            source = self._ids(0, sources, place, lengths[0])
            target = self._ids(1, targets, place, lengths[1])
            count = tf.size(indices)
            target = tf.concat([tf.fill([count, 1], BOS), target], axis=1)
            return Batch(
                source.to_tensor(shape=[rows, lengths[0]]),
                target.to_tensor(shape=[rows, lengths[1] + 1]),
                count,
            )

        return batch

    def _ids(
        self, side: int, texts: tf.Tensor, place: tf.Tensor, length: tf.Tensor
    ) -> tf.RaggedTensor:
        """Return the ids of a side's texts in the batch at `place`: epoch and number in it."""
        tokenizer = self._tokenizers.target if side else self._tokenizers.source
        best = tokenizer.tokenize(tf.ensure_shape(texts, [None]))
        if not self._alpha:
            return best

        def sample(texts: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            key = np.random.SeedSequence([self._seed, *place, side])
            rows = tokenizer.sample(
                [text.decode() for text in texts], self._alpha, int(key.generate_state(1)[0])
            )
            counts = np.array([len(row) for row in rows], np.int64)
            return np.concatenate(rows).astype(np.int32), counts

        values, counts = tf.numpy_function(sample, [texts, place], [tf.int32, tf.int64])
        sampled = tf.RaggedTensor.from_row_lengths(
            tf.ensure_shape(values, [None]), tf.ensure_shape(counts, [None])
        )
        fits = sampled.row_lengths() <= tf.cast(length, tf.int64)
        either = tf.concat([sampled, best], axis=0)
        rows = tf.range(tf.size(counts))
        return tf.gather(either, tf.where(fits, rows, rows + tf.size(counts)))

    def _shown(self, epoch: int) -> np.ndarray:
        """Return the rows that an epoch shows, shuffled, repeated by weight (int32)."""
        rng = np.random.default_rng([self._seed, epoch])
        if self._repetitions is None:
            return rng.permutation(np.arange(len(self._rows), dtype=np.int32))
        return rng.permutation(self._repetitions.draw(rng))


def _untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Return the data set without the thread that tunes it.

    Where it is waiting for its next turn as the iterator ends, it is sometimes not woken, and the
    end takes up to twenty seconds.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


class Repetitions:
    """Which rows an epoch shows and how often, where they have weights.

    A row of weight 2.3 is shown twice, and three of ten such rows, drawn anew for each epoch, once
    more. As many are drawn of each shape in every epoch, so each has the same number of batches.

    Args:
        weights: float32, how often each row is shown on average.
        shapes: which shape of batches each row belongs to.
    """

    def __init__(self, weights: np.ndarray, shapes: np.ndarray):
        self._whole = np.floor(weights).astype(np.int32)
        fractions = weights - self._whole
        self._drawn: list[tuple[np.ndarray, int]] = []  # rows, and how many of them
        for fraction in np.unique(fractions[fractions > 0]):
            for shape in np.unique(shapes):
                rows = np.flatnonzero((fractions == fraction) & (shapes == shape))
                self._drawn.append((rows.astype(np.int32), round(float(fraction) * len(rows))))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return the rows of an epoch (int32), each as often as it is shown, in no useful order."""
        always = np.repeat(np.arange(len(self._whole), dtype=np.int32), self._whole)
        sometimes = (rng.choice(rows, count, replace=False) for rows, count in self._drawn)
        return np.concatenate([always, *sometimes])


def tokenizers_of(corpus: Corpus, config: TokenizerConfig) -> Tokenizers:
    """Return the vocabularies that a corpus was prepared with, if they are such, or learn them."""
    folder = corpus.vocabulary(config)
    return Tokenizers.load(folder) if folder else learn_tokenizers(corpus.train, config)


def learn_tokenizers(pairs: Pairs, config: TokenizerConfig) -> Tokenizers:
    """Learn the vocabularies from `tokenizer.training_pairs` pairs at most, evenly spaced."""
    rows = spread(range(len(pairs)), config.training_pairs)
    return train_tokenizers(*pairs.take(rows), config)


def token_lengths(
    pairs: Pairs, tokenizers: Tokenizers, report: Callable[[int], None] = lambda done: None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of tokens of both sides (uint16), EOS included.

    Where they are not known from before, everything is tokenized once, on all cores.

    Args:
        pairs: the sentences.
        tokenizers: of both sides.
        report: told of how many pairs it has been done.
    """
    sides = (tokenizers.source, tokenizers.target)
    known = [pairs.known_lengths(i, side.fingerprint) for i, side in enumerate(sides)]
    if known[0] is not None and known[1] is not None:
        return known[0], known[1]

    def read(start: int) -> tuple[list[str], list[str]]:
        return pairs.take(range(start, min(start + _TOKENIZE_AT_ONCE, len(pairs))))

    @tf.autograph.experimental.do_not_convert  # which would take half a second
    def count(start: tf.Tensor) -> tf.Tensor:
        texts = tf.numpy_function(read, [start], [tf.string] * 2)
        lengths = [
            side.tokenize(tf.ensure_shape(text, [None])).row_lengths()
            for side, text in zip(sides, texts, strict=True)
        ]
        return tf.cast(tf.minimum(tf.stack(lengths), tf.uint16.max), tf.uint16)

    both = np.empty((2, len(pairs)), np.uint16)
    starts = tf.data.Dataset.range(0, len(pairs), _TOKENIZE_AT_ONCE)
    cores = len(os.sched_getaffinity(0))
    done = 0
    for lengths in _untuned(starts.map(count, cores)).as_numpy_iterator():
        both[:, done : done + lengths.shape[1]] = lengths
        done += lengths.shape[1]
        report(done)
    for i, side in enumerate(sides):
        pairs.keep_lengths(i, side.fingerprint, both[i])
    return both[0], both[1]
