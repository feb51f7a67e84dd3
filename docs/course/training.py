"""What the chapters share once they have shown it: training, greedy decoding and scores.

A model is anything with these two methods; `Translator` names them:

    begin(source_BS)       reads the source; returns the state before the first target word
    step(word_B, state)    reads a word; returns the logits of the next one, attention, new state
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from course.language import SPANISH, Pair, batch_of
from seq2seq_cli.evaluation.metrics import score
from seq2seq_cli.models import reference
from seq2seq_cli.special_tokens import BOS, PAD


class Translator(Protocol):
    """A model that reads one target word after the other."""

    def begin(self, source_BS: Any) -> Any:
        """Return the state before the first target word."""

    def step(self, word_B: Any, state: Any) -> tuple[Any, Any, Any]:
        """Return logits_BV of the next word, weights_BS (None without attention), and the state."""


class Weights:
    """Makes the weights of a model, and keeps them in `variables`.

    Args:
        seed: determines their values.
    """

    def __init__(self, seed: int = 0):
        self.variables: list[keras.Variable] = []
        self._random = np.random.default_rng(seed)

    def _kept(self, values: np.ndarray) -> keras.Variable:
        self.variables.append(keras.Variable(values.astype(np.float32)))
        return self.variables[-1]

    def embedding(self, words: int, units: int) -> keras.Variable:
        """Return a matrix with a vector for each word."""
        return self._kept(self._random.normal(0, 0.5, [words, units]))

    def matrix(self, rows: int, columns: int) -> keras.Variable:
        """Return a matrix by the rule of Glorot and Bengio (2010)."""
        limit = np.sqrt(6 / (rows + columns))
        return self._kept(self._random.uniform(-limit, limit, [rows, columns]))

    def bias(self, units: int) -> keras.Variable:
        """Return zeros."""
        return self._kept(np.zeros([units]))

    def affine(self, rows: int, columns: int) -> tuple[keras.Variable, keras.Variable]:
        """Return W and b of x W + b."""
        return self.matrix(rows, columns), self.bias(columns)

    def gru(self, inputs: int, units: int) -> Callable[..., Any]:
        """Return `reference.gru` with weights of its own: a function of x_BD and the state."""
        kernels = self.matrix(inputs, 3 * units), self.matrix(units, 3 * units)
        names = dict(zip(("W_x", "U_h"), kernels, strict=True))
        return partial(reference.gru, **names, b_x=self.bias(3 * units), b_h=self.bias(3 * units))


def teacher_forcing(model: Translator, source_BS: Any, target_BT: Any) -> tf.Tensor:
    """Return the mean cross-entropy in nats per word, where the model reads the reference."""
    state = model.begin(source_BS)
    losses, counts = [], []
    words = tf.unstack(target_BT, axis=1)
    for word_B, next_B in itertools.pairwise(words):
        logits_BV, _, state = model.step(word_B, state)
        loss_B = tf.nn.sparse_softmax_cross_entropy_with_logits(next_B, logits_BV)
        is_word_B = tf.cast(next_B != PAD, tf.float32)
        losses.append(tf.reduce_sum(loss_B * is_word_B))
        counts.append(tf.reduce_sum(is_word_B))
    return tf.add_n(losses) / tf.add_n(counts)


def train(
    loss: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    variables: Sequence[Any],
    pairs: Sequence[Pair],
    updates: int = 300,
    rows: int = 64,
    learning_rate: float = 0.01,
    seed: int = 0,
) -> list[float]:
    """Train by Adam, with a learning rate that falls linearly to 0; return all losses.

    Args:
        loss: a function of (source_BS, target_BT).
        variables: what to train.
        pairs: of which each batch is drawn.
        updates: number of batches.
        rows: pairs of a batch.
        learning_rate: of the first update.
        seed: determines the batches.
    """
    source_NS, target_NT = batch_of(pairs)
    optimizer = keras.optimizers.Adam(learning_rate)
    optimizer.build(list(variables))

    @tf.function(autograph=False)
    def update(source_BS: tf.Tensor, target_BT: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(source_BS, target_BT)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(value, list(variables))]
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply(gradients, list(variables))
        return value

    random, losses = np.random.default_rng(seed), []
    for number in range(updates):
        optimizer.learning_rate.assign(learning_rate * (1 - number / updates))
        drawn = random.integers(len(pairs), size=rows)
        losses.append(float(update(tf.constant(source_NS[drawn]), tf.constant(target_NT[drawn]))))
    return losses


def greedy(
    model: Translator, pairs: Sequence[Pair], most_words: int | None = None
) -> tuple[list[list[str]], np.ndarray]:
    """Translate the sources of pairs word by word, each the most probable.

    Args:
        model: what translates.
        pairs: their targets are not read, but for the length of the longest.
        most_words: after which a translation ends; a few more than the longest target without it.

    Returns:
        The words of each translation, and weights_BTS; zeros for a model without attention.
    """
    source_BS, target_BT = batch_of(pairs)
    state = model.begin(tf.constant(source_BS))
    word_B = tf.fill([len(pairs)], BOS)
    words, weights = [], []
    for _ in range(most_words or target_BT.shape[1] + 2):
        logits_BV, weights_BS, state = model.step(word_B, state)
        word_B = tf.argmax(logits_BV, axis=-1, output_type=tf.int32)
        words.append(word_B)
        weights.append(tf.zeros(source_BS.shape) if weights_BS is None else weights_BS)
    ids_BT = tf.stack(words, axis=1).numpy()
    return [SPANISH.sentence(row) for row in ids_BT], tf.stack(weights, axis=1).numpy()


def bleu(translations: Sequence[Sequence[str]], pairs: Sequence[Pair]) -> float:
    """Return sacreBLEU's BLEU of translations, given as words."""
    references = [[" ".join(pair.target)] for pair in pairs]
    return score([" ".join(words) for words in translations], references).bleu


def bleu_by_length(
    translations: Sequence[Sequence[str]], pairs: Sequence[Pair], width: int = 4
) -> dict[int, float]:
    """Return the BLEU of groups of sentences.

    The keys are the largest number of source words in each group, multiples of `width`.
    """
    groups: dict[int, list[int]] = {}
    for row, pair in enumerate(pairs):
        groups.setdefault(-(-len(pair.source) // width) * width, []).append(row)
    return {
        longest: bleu([translations[i] for i in rows], [pairs[i] for i in rows])
        for longest, rows in sorted(groups.items())
    }


def mean_of_last(losses: Sequence[float], number: int = 20) -> float:
    """Return the mean of the last losses of a training, which is steadier than the very last."""
    return float(np.mean(losses[-number:]))
