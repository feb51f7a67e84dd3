"""Positions that self-attention sees as distances, instead of vectors added to the embeddings.

Cross-attention has no positions of its own. The encoder's outputs depend on the source positions.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seq2seq_cli.config.model import AttentionStackConfig
from seq2seq_cli.models.layers.initialisers import normal

BUCKETS, MOST_DISTANCE = 32, 128  # of RelativeBias, as in T5
Turn = Callable[[tf.Tensor], tf.Tensor]


class Relative(NamedTuple):
    """The effect of distances on the self-attention of each block of a stack.

    Attributes:
        turn: applied to queries and keys; see Distances.turn.
        bias: added to the scores; see Distances.bias.
    """

    turn: Turn | None = None
    bias: tf.Tensor | None = None


NO_DISTANCES = Relative()
"""Of positions that are added to the embeddings."""


class Distances(keras.layers.Layer):
    """The effect of distances on the self-attention of a stack.

    Abstract: a subclass turns queries and keys, or adds a bias to their scores.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.built = True

    def turn(self, positions: tf.Tensor) -> Turn | None:
        """Return a function for queries and keys at these positions, or None.

        Args:
            positions: int32, of a shape that broadcasts to all axes of a query except the last.
        """
        del positions
        return None

    def bias(self, queries: tf.Tensor, keys: tf.Tensor) -> tf.Tensor | None:
        """Return a bias for the scores, or None.

        Args:
            queries: int32 positions, T or BT.
            keys: int32 positions, S or BS.

        Returns:
            bias_HTS or bias_BHTS, float32.
        """
        del queries, keys
        return None


class RotaryPositions(Distances):
    """Turns each pair of units of a query or key by an angle that grows with its position m.

        x'_{2i}     = x_{2i} cos(m theta_i) - x_{2i+1} sin(m theta_i)
        x'_{2i+1}   = x_{2i+1} cos(m theta_i) + x_{2i} sin(m theta_i)
        theta_i     = 10000^(-2i / d)

    Su et al. (2021), "RoFormer: enhanced Transformer with rotary position embedding", equation 34,
    with i from 0. The product of a query and a key depends on their positions only by the distance.

    Args:
        width: the width d of a head, which is even.
    """

    def __init__(self, width: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.width = width

    def turn(self, positions: tf.Tensor) -> Turn:
        """See Distances.turn. The angles are computed once, and used by all layers of a stack."""
        half = self.width // 2
        frequencies = tf.exp(tf.range(half, dtype=tf.float32) * (-math.log(10_000) / half))
        angles = tf.cast(positions, tf.float32)[..., tf.newaxis] * frequencies
        cosines, sines = tf.cos(angles), tf.sin(angles)

        def turned(x: tf.Tensor) -> tf.Tensor:
            cos, sin = tf.cast(cosines, x.dtype), tf.cast(sines, x.dtype)
            pairs = tf.reshape(x, tf.concat([tf.shape(x)[:-1], [half, 2]], axis=0))
            even, odd = tf.unstack(pairs, axis=-1)
            both = tf.stack([even * cos - odd * sin, odd * cos + even * sin], axis=-1)
            return tf.reshape(both, tf.shape(x))

        return turned


class LinearBias(Distances):
    """ALiBi: the score decreases with the distance. Each head has its own slope.

        softmax(q_i K^T + m * [-(i - 1), ..., -2, -1, 0])

    Press, Smith, Lewis (2022), "Train short, test long: attention with linear biases enables input
    length extrapolation", section 3, where m is the slope. The slopes are 2^(-8/n), 2^(-16/n), ...
    for n heads. If n is not a power of 2, the slopes are those for the next lower power of 2,
    followed by every other slope for the next higher one, as in the authors' code. Keys before and
    after the query are treated alike.

    Args:
        heads: the number n of heads.
    """

    def __init__(self, heads: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.slopes = slopes(heads)

    def bias(self, queries: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
        """See Distances.bias."""
        distances = tf.cast(tf.abs(_distances(queries, keys)), tf.float32)
        slopes_H11 = tf.constant(self.slopes)[:, tf.newaxis, tf.newaxis]
        return -slopes_H11 * distances[..., tf.newaxis, :, :]


def slopes(heads: int) -> list[float]:
    """Return the slope of each head; see LinearBias."""
    below = 2 ** int(math.log2(heads))
    found = [2 ** (-8 * (i + 1) / below) for i in range(below)]
    return found + [2 ** (-4 * (2 * i + 1) / below) for i in range(heads - below)]


class RelativeBias(Distances):
    """A learned number for each head and each bucket of distances is added to the score.

        softmax(q_i k_j + b[bucket(j - i)])

    Raffel et al. (2020), "Exploring the limits of transfer learning with a unified text-to-text
    Transformer" (T5), section 2.1, as in its code: half of the buckets hold one distance each. The
    others hold more and more, and the last one also holds all distances beyond MOST_DISTANCE. All
    layers of a stack share the table. It is simpler than the vectors of Shaw et al. (2018).

    Args:
        heads: number of heads of the attention.
        both_ways: whether a query sees later keys. Half of the buckets are then for them.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, heads: int, both_ways: bool, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.both_ways = both_ways
        self.bias_table = self.add_weight((BUCKETS, heads), normal(0.1, seed), name="bias_table")

    def bias(self, queries: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
        """See Distances.bias."""
        buckets = self._buckets(_distances(queries, keys))
        found = tf.gather(tf.convert_to_tensor(self.bias_table), buckets)
        rank = found.shape.rank  # heads are the last axis, and must come before T and S
        return tf.transpose(found, [*range(rank - 3), rank - 1, rank - 3, rank - 2])

    def _buckets(self, distances: tf.Tensor) -> tf.Tensor:
        """Return the bucket, int32, of each distance (key minus query)."""
        number = BUCKETS // 2 if self.both_ways else BUCKETS
        back = tf.minimum(tf.maximum(-distances, 0), MOST_DISTANCE)
        if not self.both_ways:
            return tf.gather(buckets(number), back)
        ahead = tf.minimum(tf.maximum(distances, 0), MOST_DISTANCE)
        of_distance = tf.gather(buckets(number), tf.maximum(back, ahead))
        return of_distance + tf.where(distances > 0, number, 0)


def buckets(number: int) -> list[int]:
    """Return the bucket of each distance from 0 to MOST_DISTANCE.

    A table does not depend on the rounding of a processor's logarithm.
    """
    exact = number // 2
    scale = (number - exact) / math.log(MOST_DISTANCE / exact)
    grown = (
        exact + int(scale * math.log(far / exact) + 1e-9) for far in range(exact, MOST_DISTANCE + 1)
    )
    return [*range(exact), *(min(bucket, number - 1) for bucket in grown)]


def _distances(queries: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
    """Return key minus query, TS or BTS."""
    return keys[..., tf.newaxis, :] - queries[..., tf.newaxis]


def relative_within(distances: Distances | None, positions: tf.Tensor) -> Relative:
    """Return the effect of distances on a sequence that attends to itself.

    Args:
        distances: those of the stack, if it has any.
        positions: int32, T.
    """
    if distances is None:
        return NO_DISTANCES
    return Relative(distances.turn(positions), distances.bias(positions, positions))


def make_distances(
    config: AttentionStackConfig, both_ways: bool, seed: Any, name: str
) -> Distances | None:
    """Return the Distances of `model.positions`, or None if positions are added to tokens.

    Args:
        config: the model's table; see `model.positions`.
        both_ways: whether a query sees later keys.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        name: the name of the layer.
    """
    match config.positions:
        case "rotary":
            return RotaryPositions(config.head_width, name=name)
        case "alibi":
            return LinearBias(config.heads, name=name)
        case "relative":
            return RelativeBias(config.heads, both_ways, seed, name=name)
        case _:
            return None
