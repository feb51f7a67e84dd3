"""Linear maps: the layer, and weights prepared for many products."""

from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.initialisers import glorot
from seq2seq_cli.models.ops.products import dense, to_product_dtype

Affine = tuple[tf.Tensor, tf.Tensor]  # W and b of x W + b


class Linear(keras.layers.Layer):
    """x W + b, over the last axis of inputs of any rank.

    Args:
        units: width of the outputs.
        input_units: width of the inputs.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.kernel, self.bias = add_affine(self, units, input_units, seed)
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the outputs."""
        return dense(inputs, self.kernel, self.bias)


def add_affine(
    layer: keras.layers.Layer, units: int, input_units: int, seed: Any, prefix: str = ""
) -> tuple[keras.Variable, keras.Variable]:
    """Add W (Glorot's initialisation) and b = 0 to a layer, as PREFIXkernel and PREFIXbias."""
    kernel = layer.add_weight((input_units, units), glorot(seed), name=f"{prefix}kernel")
    return kernel, layer.add_weight((units,), "zeros", name=f"{prefix}bias")


def joined(*affines: tuple[keras.Variable, keras.Variable]) -> Affine:
    """Return several maps of the same inputs as one map with concatenated outputs.

    The weights have the dtype of products, so that many products cast them once.
    """
    kernels, biases = zip(*affines, strict=True)
    return (
        to_product_dtype(tf.concat(kernels, axis=1)),
        to_product_dtype(tf.concat(biases, axis=0)),
    )
