"""The base class of recurrent decoders."""

from abc import abstractmethod
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.attention import attention_weights
from seq2seq_cli.models.layers.cells import CELLS, UpperLayers
from seq2seq_cli.models.layers.initialisers import glorot
from seq2seq_cli.models.layers.local_attention import make_window
from seq2seq_cli.models.layers.readout import Readout
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.layers.scores import Score, make_score
from seq2seq_cli.models.ops.scan import LINEAR, Factors, Product, Tensors, product
from seq2seq_cli.models.seq2seq import Memory


class Decoder(keras.layers.Layer):
    """The common part of all wirings: cells, and a state that is a list of tensors.

    Args:
        config: the model's table.
        dropouts: for the input of each layer except the first.
        seed: an int or a keras.random.SeedGenerator for the initial weights.

    Attributes:
        output_units: width of the outputs, from which the vocabulary is predicted.
        score: the score of the attention; a decoder without attention has none.
        window: the part of the source that attention sees; None for the whole source.
        gate_kernels: weights outside the cells that hold a matrix for each gate.
        state_names: a name for each tensor of the state.
    """

    gate_kernels: list[keras.Variable]
    output_units: int
    score: Score

    def __init__(self, config: RNNConfig, dropouts: list[Dropout], seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units = config.decoder_units
        cell = CELLS[config.cell]
        if config.has_attention:
            self.score = make_score(
                config.attention,
                config.attention_units,
                units,
                config.value_units,
                seed,
                positions=config.attention_positions,
            )
        self.cell = cell(units, config.embedding_units, seed, name=f"{self.name}_1")
        layers = config.decoder_layers
        self.upper = UpperLayers(cell, layers, units, dropouts, seed, name=self.name)
        self.state_names = [f"{n}{i}" for i in range(1, layers + 1) for n in cell.state_names]
        self.has_attention = config.has_attention
        scored_positions = config.attention_positions if config.attention == "location" else None
        span, reach = config.attention_span, config.attention_window
        self.window = make_window(span, reach, units, seed, scored_positions)
        self.built = True

    @abstractmethod
    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """Return everything that decoding needs of the encoder's values, projected once."""

    def kernels(self) -> Factors:
        """Return the weights of the products in a scan's body or a decoding step, read once."""
        kernels = {"recurrent": tf.convert_to_tensor(self.cell.recurrent_kernel)}
        if self.has_attention and self.score.query_kernel is not None:
            kernels["query"] = tf.convert_to_tensor(self.score.query_kernel)
        if self.window is not None and self.window.kernel is not None:
            kernels["window"] = tf.convert_to_tensor(self.window.kernel)
        return kernels

    @abstractmethod
    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """Return outputs_BTD over a whole target."""

    @abstractmethod
    def step(
        self,
        embedded_BD: tf.Tensor,
        state: Tensors,
        memory: Memory,
        kernels: Factors,
        t_B1: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """Return output_BD, weights_BS and the next state at one position of the target.

        `t_B1` is that position, float32, for a window whose centre depends on it.
        """

    def attention(
        self,
        states_BD: tf.Tensor,
        factors: Factors,
        product: Product = product,
        t_B1: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Return weights_BS = softmax(score(s, h)), with the states s as queries.

        `t_B1` is the position of the query, for a window whose centre depends on it.
        """
        query_BD = states_BD
        if "query" in factors:
            (query_BD,) = product(LINEAR, states_BD, factors["query"])
        scores_BS = self.score.score_projected(query_BD, factors["keys"], product)
        if self.window is None:
            return attention_weights(scores_BS, factors["mask"])
        if "window" in factors:
            (t_B1,) = product(LINEAR, states_BD, factors["window"])
        return self.window(scores_BS, factors["mask"], t_B1)

    def reported(self, weights_BS: tf.Tensor) -> tf.Tensor:
        """Return the weights that a decoding step reports. They sum to 1."""
        return weights_BS if self.window is None else self.window.reported(weights_BS)

    def positions(self, embedded_BTD: tf.Tensor) -> Tensors:
        """Return [t_T11] for a whole target if a window depends on it, otherwise []."""
        if self.window is None or not self.window.counts:
            return []
        length = tf.shape(embedded_BTD)[1]
        return [tf.range(length, dtype=tf.float32)[:, tf.newaxis, tf.newaxis]]


class ContextDecoder(Decoder):
    """A decoder whose first layer reads a context vector, and which ends in a readout."""

    def __init__(self, config: RNNConfig, dropouts: list[Dropout], seed: Any = None, **kwargs: Any):
        super().__init__(config, dropouts, seed, **kwargs)
        self.output_units = config.embedding_units
        self.context_kernel = self.add_weight(
            (config.value_units, self.cell.gates * self.units), glorot(seed), name="context_kernel"
        )
        self.gate_kernels = [self.context_kernel]
        self.readout = Readout(config, seed, name="readout")
