"""The readout of a recurrent decoder, from which the vocabulary is predicted."""

from typing import Any

import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.linear import Linear


class Readout(Linear):
    """tanh(Wt [s; y; c] + bt), of the width of an embedding.

    s is a state of the decoder, y the embedded previous word and c the context.

    Args:
        config: the widths.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, config: RNNConfig, seed: Any = None, **kwargs: Any):
        joined_units = config.decoder_units + config.embedding_units + config.value_units
        super().__init__(config.embedding_units, joined_units, seed, **kwargs)

    def call(self, state: tf.Tensor, embedded: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return the readout; the arguments are of one rank."""
        return tf.tanh(super().call(tf.concat([state, embedded, context], axis=-1)))
