"""Local attention: a query sees only a window of the source."""

from abc import abstractmethod
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.attention import attention_weights
from seq2seq_cli.models.layers.initialisers import glorot


class Window(keras.layers.Layer):
    """The window [p_t - D, p_t + D] that query t sees: Luong et al. (2015), section 3.2.

    Scores are normalised over the window. Positions count from 0, and S is the source's real
    length, so padding changes nothing; it is at most `positions`. Abstract: a subclass defines the
    centre p_t.

    Args:
        reach: D.
        positions: number of source positions that have a score; None for all.

    Attributes:
        counts: whether the centre depends on t. Otherwise it depends on the query.
        kernel: the matrix that multiplies a query for `centre`, or None.
    """

    counts: bool = False
    kernel: keras.Variable | None = None

    def __init__(self, reach: int, positions: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.reach = reach
        self.positions = positions
        self.built = True

    @abstractmethod
    def centre(self, hint: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """Return p_t, float32.

        Args:
            hint: t if `counts`, otherwise the query times `kernel`: B1 or BD, or BT1 or BTD.
            length: S, float32, B1 or B11.
        """

    def weighted(self, weights: tf.Tensor, distances: tf.Tensor) -> tf.Tensor:
        """Return the final weights, given the weights over the window and s - p_t."""
        del distances
        return weights

    def call(self, scores: tf.Tensor, mask_BS: tf.Tensor, hint: tf.Tensor) -> tf.Tensor:
        """Return float32 weights of the scores' shape.

        Args:
            scores: BS, or BTS for several queries.
            mask_BS: bool, False on padding.
            hint: see `centre`.
        """
        mask = mask_BS if scores.shape.rank == 2 else mask_BS[:, tf.newaxis]
        length = tf.reduce_sum(tf.cast(mask, tf.float32), axis=-1, keepdims=True)
        if self.positions is not None:
            length = tf.minimum(length, float(self.positions))
        positions_S = tf.range(tf.shape(scores)[-1], dtype=tf.float32)
        distances = positions_S - self.centre(tf.cast(hint, tf.float32), length)
        weights = attention_weights(scores, mask & (tf.abs(distances) <= self.reach))
        return self.weighted(weights, distances)

    def reported(self, weights: tf.Tensor) -> tf.Tensor:
        """Return the weights that a decoding step reports. Here they sum to 1 already."""
        return weights


class MonotonicWindow(Window):
    """local-m: p_t = t, or the source's last position for all later t.

    Source and target are assumed to be monotonically aligned. The paper's window does not stop at
    the last position, so the end of a long translation would see nothing.
    """

    counts = True

    def centre(self, hint: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """See Window.centre."""
        return tf.minimum(hint, tf.maximum(length - 1, 0))


class PredictiveWindow(Window):
    """local-p: the query predicts the centre, and weights decrease with the distance from it.

        p_t    = S sigmoid(v_p . tanh(W_p h_t))                             equation 9
        a_t(s) = align(h_t, h_s) exp(-(s - p_t)^2 / (2 sigma^2))            equation 10

    with sigma = D / 2. These weights, which sum to less than 1, give the context. The weights that
    a decoding step reports are scaled to sum to 1.

    Args:
        reach: D.
        query_units: width of a query.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        positions: see Window.
    """

    def __init__(
        self,
        reach: int,
        query_units: int,
        seed: Any = None,
        positions: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(reach, positions, **kwargs)
        shape = (query_units, query_units)
        self.kernel = self.add_weight(shape, glorot(seed), name="kernel")
        self.scale = self.add_weight((query_units, 1), glorot(seed), name="scale")

    def centre(self, hint: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """See Window.centre."""
        scale = tf.squeeze(self.scale, -1)
        return length * tf.sigmoid(tf.reduce_sum(tf.tanh(hint) * scale, axis=-1, keepdims=True))

    def weighted(self, weights: tf.Tensor, distances: tf.Tensor) -> tf.Tensor:
        """See Window.weighted."""
        sigma = self.reach / 2
        return weights * tf.exp(-tf.square(distances) / (2 * sigma**2))

    def reported(self, weights: tf.Tensor) -> tf.Tensor:
        """See Window.reported."""
        return tf.math.divide_no_nan(weights, tf.reduce_sum(weights, axis=-1, keepdims=True))


def make_window(
    span: str, reach: int, query_units: int, seed: Any = None, positions: int | None = None
) -> Window | None:
    """Return the window of `model.attention_span`, or None for the whole source."""
    if span == "local_m":
        return MonotonicWindow(reach, positions, name="window")
    if span == "local_p":
        return PredictiveWindow(reach, query_units, seed, positions, name="window")
    return None
