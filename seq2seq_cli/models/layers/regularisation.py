"""What keeps a model from learning its training data by heart, or from saturating."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.fusion import fused


class _Part(NamedTuple):
    number: tf.Tensor | int
    share: tf.Tensor | float


_WHOLE = _Part(0, 1.0)
_PART: ContextVar[_Part] = ContextVar("part of a batch", default=_WHOLE)


@contextmanager
def shard_scope(number: tf.Tensor | int, share: tf.Tensor | float) -> Iterator[None]:
    """Regularise what is traced in the block as one of the parts of a batch.

    Args:
        number: int32, of the part, from 0 on; each has masks of its own.
        share: how much of the batch's source tokens it has.
    """
    token = _PART.set(_Part(number, share))
    try:
        yield
    finally:
        _PART.reset(token)


class DropoutKey:
    """The (seed, step) pair from which every dropout mask of a training step follows.

    The training loop moves it; nothing about dropout needs to be in a checkpoint.
    """

    def __init__(self) -> None:
        self._value = tf.Variable([0], dtype=tf.int64, trainable=False, name="dropout_key")

    def set(self, seed: int, step: int) -> None:
        """Make the masks of the next forward pass those of `step` under `seed`, both below 2^31."""
        self._value.assign([seed << 32 | step])

    def integers(self, site: int, number: tf.Tensor) -> tf.Tensor:
        """Return so many random integers, int32, for a site in this part of the batch.

        They are Philox's (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), whose
        key is (seed, step), and whose counter begins at (site, part).
        """
        counter = tf.stack([[0, 0], [_PART.get().number, site]])
        return tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=number[tf.newaxis],
            key=tf.bitcast(self._value, tf.uint64),
            counter=tf.bitcast(counter, tf.uint64),
            alg=tf.random.Algorithm.PHILOX.value,
            dtype=tf.int32,
        )


class Dropout(keras.layers.Layer):
    """Inverted dropout with a mask that is a pure function of (seed, step, site, part).

    Integer random bits are the same in XLA's and in TensorFlow's own kernels, floats are not; so
    compiled and plain training drop the same units. A value takes one random byte, since making
    them takes a noticeable part of a training step.

    Args:
        rate: share of the values set to zero, 0 <= rate < 1, rounded to a multiple of 1/256.
        key: the model's DropoutKey.
        site: a number that no other dropout of the model has.
        variational: drop the same units at all places of a sequence BTD (Gal and Ghahramani 2016,
            "A theoretically grounded application of dropout in recurrent neural networks", for
            connections between layers).
    """

    def __init__(
        self, rate: float, key: DropoutKey, site: int, variational: bool = False, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self._dropped = min(round(256 * rate), 255)  # of 256 values
        self.site = site
        self.variational = variational
        self._key = key

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return `inputs` with a share zeroed and the rest scaled so that the mean stays."""
        if not training or not self._dropped:
            return inputs
        dropped, bytes_ = self._dropped, self._random_bytes(inputs)

        @tf.custom_gradient
        def drop(inputs: tf.Tensor) -> tuple:
            def gradient(upstream: tf.Tensor) -> tf.Tensor:
                return _drop(upstream, bytes_, dropped, inputs.dtype)

            return _drop(inputs, bytes_, dropped, inputs.dtype), gradient

        return drop(inputs)

    def add(self, x: tf.Tensor, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return x + what `call` returns, in the dtype of x, which `inputs` need not have."""
        if not training or not self._dropped:
            return x + tf.cast(inputs, x.dtype)
        dropped, bytes_ = self._dropped, self._random_bytes(inputs)

        @tf.custom_gradient
        def add(x: tf.Tensor, inputs: tf.Tensor) -> tuple:
            def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
                return upstream, _drop(upstream, bytes_, dropped, inputs.dtype)

            return _add_dropped(x, inputs, bytes_, dropped), gradient

        return add(x, inputs)

    def _random_bytes(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return a byte for each value, or for all of a sequence."""
        shape = tf.shape(inputs)
        if self.variational:
            shape = tf.concat([shape[:1], [1], shape[2:]], axis=0)
        size = tf.reduce_prod(shape)
        bytes_ = tf.bitcast(self._key.integers(self.site, (size + 3) // 4), tf.uint8)
        return tf.reshape(tf.slice(tf.reshape(bytes_, [-1]), [0], [size]), shape)


@fused
def _drop(inputs: tf.Tensor, bytes_: tf.Tensor, dropped: int, dtype: tf.DType) -> tf.Tensor:
    scaled = inputs * tf.cast(256 / (256 - dropped), inputs.dtype)
    return tf.cast(tf.where(bytes_ >= dropped, scaled, 0), dtype)


@fused
def _add_dropped(x: tf.Tensor, inputs: tf.Tensor, bytes_: tf.Tensor, dropped: int) -> tf.Tensor:
    return x + _drop(tf.cast(inputs, x.dtype), bytes_, dropped, x.dtype)


def penalise(activations: tf.Tensor, mask: tf.Tensor, weight: float) -> tf.Tensor:
    """Return `activations`, whose squares become part of the loss.

    To the loss is added weight / 2 * the mean of |h|^2 over the places that are not masked: the
    activation regularization of Merity, McCann and Socher (2017), "Revisiting activation
    regularization for language RNNs", section 3.1. It is added to the gradient alone: the loss that
    is reported is without it. Of a part of a batch it is the part's share.

    Args:
        activations: BTD.
        mask: bool, BT; False where the activations are of padding.
        weight: 0 or more; 0 for no penalty.
    """
    if not weight:
        return activations
    counted_BT1 = tf.cast(mask, activations.dtype)[:, :, tf.newaxis]
    weight = weight * _PART.get().share
    factor_BT1 = counted_BT1 * (weight / tf.maximum(tf.reduce_sum(counted_BT1), 1))

    @tf.custom_gradient
    def unchanged(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        return tf.identity(x), lambda upstream: upstream + factor_BT1 * x

    return unchanged(activations)
