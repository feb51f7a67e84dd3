"""The feed-forward network of a Transformer's block."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.linear import Affine, add_affine, joined
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.products import dense, to_product_dtype


class FeedForward(keras.layers.Layer):
    """The same two-layer network at each position.

        relu, gelu:  FFN(x) = f(x W1 + b1) W2 + b2                       Vaswani et al., equation 2
        swiglu:      FFN(x) = (swish(x W1 + b1) * (x V + c)) W2 + b2     Shazeer (2020), equation 6

    Shazeer's network has no biases. `swiglu` needs 1.5 times as many weights. The paper compensates
    for that by two thirds of the inner units. GELU is exact (Hendrycks and Gimpel 2016).

    Args:
        units: width of inputs and outputs.
        inner_units: width of the inner layer.
        activation: `relu`, `gelu` or `swiglu`.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        dropout: applied to the inner units after the activation, as in tensor2tensor and fairseq;
            None for no dropout.
    """

    def __init__(
        self,
        units: int,
        inner_units: int,
        activation: str,
        seed: Any = None,
        dropout: Dropout | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.activation = activation
        self.dropout = dropout
        self.inner_kernel, self.inner_bias = add_affine(self, inner_units, units, seed, "inner_")
        if activation == "swiglu":
            self.gate_kernel, self.gate_bias = add_affine(self, inner_units, units, seed, "gate_")
        self.output_kernel, self.output_bias = add_affine(self, units, inner_units, seed, "output_")
        self.built = True

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return outputs of the shape of `inputs`."""
        return tf.cast(self.transform(inputs, self.maps(), training), inputs.dtype)

    def maps(self) -> dict[str, Affine]:
        """Return the maps for `transform`."""
        maps = {
            "inner": joined((self.inner_kernel, self.inner_bias)),
            "output": joined((self.output_kernel, self.output_bias)),
        }
        if self.activation == "swiglu":
            maps["gate"] = joined((self.gate_kernel, self.gate_bias))
        return maps

    def transform(
        self, inputs: tf.Tensor, maps: dict[str, Affine], training: bool = False
    ) -> tf.Tensor:
        """Return outputs of the shape of `inputs`, given `maps`, in the dtype of products."""
        inner = self._activated(to_product_dtype(inputs), maps)
        if self.dropout is not None:
            inner = self.dropout(inner, training=training)
        return dense(to_product_dtype(inner), *maps["output"])

    def _activated(self, x: tf.Tensor, maps: dict[str, Affine]) -> tf.Tensor:
        """Return the inner units, in the dtype of products for `relu`."""
        if self.activation == "relu":
            return dense(x, *maps["inner"], relu=True)
        inner = tf.cast(dense(x, *maps["inner"]), self.compute_dtype)
        if self.activation == "gelu":
            return tf.nn.gelu(inner)
        return tf.nn.silu(inner) * tf.cast(dense(x, *maps["gate"]), self.compute_dtype)
