"""Layer normalisation and RMS normalisation."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.ops.layer_norm import layer_norm, rms_norm


class Norm(keras.layers.Layer):
    """The common part of the normalisations: a gain gamma. Abstract.

    Args:
        units: width of the inputs.
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.gamma = self.add_weight((units,), "ones", name="gamma")
        self.built = True


class LayerNorm(Norm):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, over the last axis.

    Ba, Kiros, Hinton (2016), "Layer normalization", equation 4.

    Args:
        units: width of the inputs.
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(units, **kwargs)
        self.beta = self.add_weight((units,), "zeros", name="beta")

    def call(self, inputs: tf.Tensor, dtype: Any = None) -> tf.Tensor:
        """Return outputs of the shape of `inputs`, cast to `dtype` if it is given."""
        gamma, beta = tf.convert_to_tensor(self.gamma), tf.convert_to_tensor(self.beta)
        return layer_norm(inputs, gamma, beta, dtype)


class RMSNorm(Norm):
    """gamma x / sqrt(mean(x^2) + epsilon), over the last axis.

    Zhang and Sennrich (2019), "Root mean square layer normalization", equation 4, where gamma is g.

    Args:
        units: width of the inputs.
    """

    def call(self, inputs: tf.Tensor, dtype: Any = None) -> tf.Tensor:
        """Return outputs of the shape of `inputs`, cast to `dtype` if it is given."""
        return rms_norm(inputs, tf.convert_to_tensor(self.gamma), dtype)


NORMS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layer": LayerNorm, "rms": RMSNorm}
