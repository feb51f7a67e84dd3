"""The inputs of a Transformer's blocks: a vector for each token and for each position."""

import math
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.initialisers import normal
from seq2seq_cli.models.layers.linear import Affine
from seq2seq_cli.models.ops.products import dense, to_product_dtype
from seq2seq_cli.vocabularies import Vocabularies


class Embeddings(keras.layers.Layer):
    """A vector for each id, and the logits of vectors.

    Vaswani et al. (2017), section 3.4: embedded ids are multiplied by sqrt(units), but logits are
    not, so that one table can serve both (Press and Wolf 2017, "Using the output embedding to
    improve language models").

    Args:
        vocabularies: their sizes, and whether an id means the same in source and target.
        units: width of a vector.
        tied: whether the target's table is also that of the logits, and that of the source if the
            vocabulary is shared.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self,
        vocabularies: Vocabularies,
        units: int,
        tied: bool,
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        initialiser = normal(units**-0.5, seed)

        def table(vocabulary: int, name: str) -> keras.Variable:
            return self.add_weight((vocabulary, units), initialiser, name=f"{name}_table")

        self.scale = math.sqrt(units)
        self.target_table = table(vocabularies.target, "target")
        joint = tied and vocabularies.joint
        self.source_table = self.target_table if joint else table(vocabularies.source, "source")
        self.output_table = self.target_table if tied else table(vocabularies.target, "output")
        self.output_bias = self.add_weight((vocabularies.target,), "zeros", name="output_bias")
        self.built = True

    def embed_source(self, ids: tf.Tensor) -> tf.Tensor:
        """Return a vector for each source id, along a new last axis."""
        return tf.gather(tf.convert_to_tensor(self.source_table), ids) * self.scale

    def embed_target(self, ids: tf.Tensor) -> tf.Tensor:
        """Return a vector for each target id, along a new last axis."""
        return tf.gather(tf.convert_to_tensor(self.target_table), ids) * self.scale

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Return the logits of hidden vectors, along the last axis of any rank."""
        return dense(hidden, self.output_table, self.output_bias, transpose=True)

    def logits_map(self) -> Affine:
        """Return the map from hidden vectors to logits, for many steps of few vectors each.

        The table is transposed once, because products of up to a few hundred vectors are then
        faster.
        """
        kernel_DV = tf.transpose(to_product_dtype(tf.convert_to_tensor(self.output_table)))
        return kernel_DV, to_product_dtype(tf.convert_to_tensor(self.output_bias))


class Positions(keras.layers.Layer):
    """A vector for each position, which is added to the token's. Positions start at 0.

    `sinusoidal`: for position p and i from 0 to units/2 - 1,

        PE(p, i)           = sin((p + 1) / 10000^(i / (units/2 - 1)))
        PE(p, i + units/2) = cos((p + 1) / 10000^(i / (units/2 - 1)))

    which is Vaswani et al. (2017), section 3.5, with the order and the exponent of the authors'
    code (tensor2tensor), counted from 1 as in OpenNMT. CTranslate2 has the same form.
    `learned`: a table of `max_positions` rows (Gehring et al. 2017). All later positions share its
    last row, so a sentence that is longer than any in training is neither cut nor an error.
    Other kinds have no such vectors; see `relative_positions`.

    Args:
        kind: see `model.positions`.
        units: width of a vector; even and at least 4.
        max_positions: rows of the learned table.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, kind: str, units: int, max_positions: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.are_added = kind in ("sinusoidal", "learned")
        self.table = None
        if kind == "learned":
            shape = (max_positions, units)
            self.table = self.add_weight(shape, normal(units**-0.5, seed), name="table")
        self.built = True

    def add_to(self, x: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
        """Add the vectors of the positions to the vectors of tokens."""
        return x + self(positions) if self.are_added else x

    def call(self, positions: tf.Tensor) -> tf.Tensor:
        """Return a vector for each of `positions` (int32), along a new last axis."""
        if self.table is not None:
            table = tf.convert_to_tensor(self.table)
            return tf.gather(table, tf.minimum(positions, table.shape[0] - 1))
        half = self.units // 2
        frequencies = tf.exp(tf.range(half, dtype=tf.float32) * (-math.log(10_000) / (half - 1)))
        angles = tf.cast(positions + 1, tf.float32)[..., tf.newaxis] * frequencies
        vectors = tf.concat([tf.sin(angles), tf.cos(angles)], axis=-1)
        return tf.cast(vectors, self.compute_dtype)
