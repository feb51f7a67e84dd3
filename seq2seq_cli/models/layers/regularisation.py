"""Regularisation: dropout, layer drop, and a penalty on activations."""

import itertools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.ops import penalty
from seq2seq_cli.models.ops.compute import current
from seq2seq_cli.models.ops.dropout import add_dropout, bytes_of, dropout, random_bytes


class Dropout(keras.layers.Layer):
    """Inverted dropout with a mask that is a pure function of (seed, update, site, shard).

    Compiled and plain training drop the same units.

    Args:
        rate: share of the values set to zero, 0 <= rate < 1, rounded to a multiple of 1/256, but
            not to 0.
        key: the model's DropoutKey, which holds seed and update.
        site: a number that no other dropout of the model has.
        variational: drop the same units at all positions of a sequence BTD (Gal and Ghahramani
            2016, "A theoretically grounded application of dropout in recurrent neural networks",
            for connections between layers).
    """

    def __init__(
        self, rate: float, key: DropoutKey, site: int, variational: bool = False, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self._dropped = bytes_of(rate)
        self.site = site
        self.variational = variational
        self._key = key

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return `inputs` with a share zeroed, and the rest scaled to keep the mean."""
        if not training or not self._dropped:
            return inputs
        return dropout(inputs, self._random_bytes(inputs), self._dropped)

    def add(self, x: tf.Tensor, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return x + the result of `call`, in the dtype of x; the inputs may have another one."""
        if not training or not self._dropped:
            return x + tf.cast(inputs, x.dtype)
        return add_dropout(x, inputs, self._random_bytes(inputs), self._dropped)

    def _random_bytes(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return a byte for each value, or for all of a sequence."""
        shape = tf.shape(inputs)
        if self.variational:
            shape = tf.concat([shape[:1], [1], shape[2:]], axis=0)
        site = self.site + SITES * current().depth
        return random_bytes(self._key.value, [current().shard, site], shape)


class LayerDrop:
    """LayerDrop: a layer of a stack is left out for some shards of a batch.

    Fan, Grave and Joulin (2020), "Reducing transformer depth on demand with structured dropout",
    section 3.2. A layer that is left out is computed, too, but it has no effect and no gradient.

    Args:
        rate: probability of leaving out, 0 <= rate < 1, rounded to a multiple of 1/256, but not
            to 0.
        key: the model's DropoutKey.
        site: a number that no dropout of the model has.
    """

    def __init__(self, rate: float, key: DropoutKey, site: int):
        self._dropped = bytes_of(rate)
        self._site = site
        self._key = key

    def around(
        self, layer: Callable[[tf.Tensor], tf.Tensor], inputs: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Return the layer's outputs, or the inputs if the layer is left out."""
        if not training or not self._dropped:
            return layer(inputs)
        (byte,) = tf.unstack(random_bytes(self._key.value, [current().shard, self._site], [1]))
        # Not a tf.cond: its gradient fails where XLA compiles operations inside (TensorFlow 2.21).
        return tf.where(byte >= self._dropped, layer(inputs), inputs)


SITES = 1 << 11  # more than a model has dropouts; each depth has its own range of sites
LAYER_SITES = 1 << 19  # sites from here on are those of LayerDrop

MakeDropout = Callable[[float], Dropout]


def dropout_maker(key: DropoutKey, variational: bool = False) -> MakeDropout:
    """Return a function from a rate to a Dropout, each at a site of its own."""
    sites = itertools.count()

    def make(rate: float) -> Dropout:
        site = next(sites)
        return Dropout(rate, key, site, variational, name=f"dropout_{site}")

    return make


def penalise(activations_BTD: tf.Tensor, tokens_BT: tf.Tensor, weight: float) -> tf.Tensor:
    """Return the activations, and add their squares to the loss.

    The loss gains weight / 2 * the mean of |h|^2 over the tokens, after Merity, McCann and Socher
    (2017), "Revisiting activation regularization for language RNNs", section 3.1, but on h before
    dropout, and squared. Only the gradient includes it, not the reported loss. Each shard of a
    batch adds its share.

    Args:
        activations_BTD: h, of a float dtype.
        tokens_BT: number of tokens that each h represents, or bool; 0 for padding.
        weight: 0 or more; 0 for no penalty.
    """
    if not weight:
        return activations_BTD
    counted_BT1 = tf.cast(tokens_BT, activations_BTD.dtype)[:, :, tf.newaxis]
    weight = weight * current().share
    weights_BT1 = counted_BT1 * (weight / tf.maximum(tf.reduce_sum(counted_BT1), 1))
    return penalty.penalise(activations_BTD, weights_BT1)
