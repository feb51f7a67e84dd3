"""Residual connections, and sublayers that they join in sequence or in parallel."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.normalisation import NORMS
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.products import product_dtype, to_product_dtype

# f of a residual connection: x -> (f(x), its other results)
Sublayer = Callable[[tf.Tensor], tuple[tf.Tensor, Any]]


class Residual(keras.layers.Layer):
    """The residual connection around a sublayer f, with dropout and normalisation.

        post:  norm(x + dropout(f(x)))     Vaswani et al. (2017), section 5.4
        pre:   x + dropout(f(norm(x)))     Xiong et al. (2020), "On layer normalization in the
                                           Transformer architecture"

    Pre-norm allows higher learning rates and a shorter warm-up. A pre-norm stack needs a final
    normalisation.

    Args:
        units: width of x.
        norm: `pre` or `post`.
        dropout: applied to f's outputs.
        normalisation: `layer` or `rms`; None for no normalisation, because `side_by_side`
            normalises x once for several sublayers.
    """

    def __init__(
        self,
        units: int,
        norm: str,
        dropout: Dropout,
        normalisation: str | None = "layer",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.is_pre = norm == "pre"
        if normalisation is not None:
            with keras.name_scope(self.name):
                self.norm = NORMS[normalisation](units, name="norm")
        self.dropout = dropout
        self.built = True

    def around(self, f: Sublayer, x: tf.Tensor, training: bool) -> tuple[tf.Tensor, Any]:
        """Return the next x and the other results of f, which takes x in the dtype of products."""
        if self.is_pre:
            outputs, found = f(self.norm(x, dtype=product_dtype(x.dtype)))
            return self.dropout.add(x, outputs, training), found
        outputs, found = f(to_product_dtype(x))
        return self.norm(self.dropout.add(x, outputs, training)), found


Branch = tuple[Residual, Sublayer]


def one_by_one(branches: Sequence[Branch], x: tf.Tensor, training: bool) -> tuple[tf.Tensor, list]:
    """Apply the sublayers in sequence. Return the last x, and the other results of each."""
    results = []
    for residual, f in branches:
        x, found = residual.around(f, x, training)
        results.append(found)
    return x, results


def side_by_side(
    branches: Sequence[Branch], x: tf.Tensor, training: bool
) -> tuple[tf.Tensor, list]:
    """Apply the sublayers in parallel, to the same input. Return the same as `one_by_one`.

        x + dropout(f(norm(x))) + dropout(g(norm(x)))

    Wang and Komatsuzaki (2021), GPT-J; Chowdhery et al. (2022), "PaLM: scaling language modeling
    with pathways", section 2, "Parallel Layers". The first residual connection holds the norm.
    Cross-attention is a third sublayer.
    """
    normal = branches[0][0].norm(x, dtype=product_dtype(x.dtype))
    results = []
    for residual, f in branches:
        outputs, found = f(normal)
        x = residual.dropout.add(x, outputs, training)
        results.append(found)
    return x, results
