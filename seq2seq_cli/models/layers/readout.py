"""The readout of a recurrent decoder, from which the vocabulary is predicted."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.linear import add_affine
from seq2seq_cli.models.ops.products import dense


class Readout(keras.layers.Layer):
    """A layer over a state s, the embedded previous word y and the context c. It is as wide as y.

        tanh      tanh(Wt [s; y; c] + bt)
        maxout    [max(t_{2j-1}, t_{2j})] for each j, with t = Wt [s; y; c] + bt

    The maxout is that of Bahdanau et al. (2015), appendix A.2.2 (Goodfellow et al. 2013, "Maxout
    networks").

    Args:
        config: the widths and the kind.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, config: RNNConfig, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        joined_units = config.decoder_units + config.embedding_units + config.value_units
        self.is_maxout = config.readout == "maxout"
        units = (2 if self.is_maxout else 1) * config.embedding_units
        self.kernel, self.bias = add_affine(self, units, joined_units, seed)
        self.built = True

    def call(self, state: tf.Tensor, embedded: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return the readout. The arguments have the same rank."""
        outputs = dense(tf.concat([state, embedded, context], axis=-1), self.kernel, self.bias)
        if not self.is_maxout:
            return tf.tanh(outputs)
        shape = tf.concat([tf.shape(outputs)[:-1], [outputs.shape[-1] // 2, 2]], axis=0)
        return tf.reduce_max(tf.reshape(outputs, shape), axis=-1)
