"""Layer normalisation."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.layer_norm import layer_norm


class LayerNorm(keras.layers.Layer):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, over the last axis.

    Ba, Kiros, Hinton (2016), "Layer normalization", equation 4.

    Args:
        units: width of the inputs.
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.gamma = self.add_weight((units,), "ones", name="gamma")
        self.beta = self.add_weight((units,), "zeros", name="beta")
        self.built = True

    def call(self, inputs: tf.Tensor, dtype: Any = None) -> tf.Tensor:
        """Return outputs of the shape of `inputs`, cast to `dtype` if it is given."""
        gamma, beta = tf.convert_to_tensor(self.gamma), tf.convert_to_tensor(self.beta)
        return layer_norm(inputs, gamma, beta, dtype)
