"""Recurrent decoders: where attention stands, in the wirings of Bahdanau and of Luong."""

from abc import abstractmethod
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.attention import attend, attention_weights
from seq2seq_cli.models.cells import Cell, Tensors, UpperLayers, run_cell, scan
from seq2seq_cli.models.scores import Score
from seq2seq_cli.models.seq2seq import Dropout, Memory


class Decoder(keras.layers.Layer):
    """What the wirings have in common: cells, a score, and a state that is a list of tensors.

    Args:
        score: scores a state of `units` against the encoder's values.
        cell: the kind of cell.
        layers: how many, at least 1.
        units: width of each.
        input_units: width of the embeddings.
        dropouts: for the input of each layer but the first.
        seed: an int or a keras.random.SeedGenerator for the initial weights.

    Attributes:
        output_units: width of what the vocabulary is predicted from.
        state_names: a name for each tensor of the state.
    """

    output_units: int

    def __init__(
        self,
        score: Score,
        cell: type[Cell],
        layers: int,
        units: int,
        input_units: int,
        dropouts: list[Dropout],
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.score = score
        self.cell = cell(units, input_units, seed, name=f"{self.name}_1")
        self.upper = UpperLayers(cell, layers, units, dropouts, seed, name=self.name)
        self.state_names = [f"{n}{i}" for i in range(1, layers + 1) for n in cell.state_names]
        self.built = True

    @abstractmethod
    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """Return all that the steps need of the encoder's values, projected once."""

    @abstractmethod
    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """Return outputs_BTD over a whole target."""

    @abstractmethod
    def step(
        self, embedded_BD: tf.Tensor, state: Tensors, memory: Memory
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """Return a step's output_BD and weights_BS, and the next state."""

    def attention(self, projected_query: tf.Tensor, memory: Memory) -> tf.Tensor:
        """Return the attention of queries that have been through `query_and`."""
        scores = self.score.score_projected(projected_query, memory["keys"])
        return attention_weights(scores, memory["mask"])

    def query_and(self, states: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return what `states` ask and their product with `kernel`: one product gives both."""
        query_kernel = self.score.query_kernel
        if query_kernel is None:
            return states, tf.matmul(states, kernel)
        both = tf.matmul(states, tf.concat([query_kernel, kernel], axis=1))
        query, product = tf.split(both, [query_kernel.shape[1], -1], axis=-1)
        return query, product


class BahdanauDecoder(Decoder):
    """The previous state asks, and the context enters the cell.

        c_i = attend(s_{i-1}, h)
        s_i = cell([y_{i-1}; c_i], s_{i-1})
        t_i = tanh(Wt [s_i; y_{i-1}; c_i] + bt)

    Bahdanau et al. (2015), section 3.1 and appendix A.2; t_i is the output, of the embeddings'
    width, where the paper has a maxout. Where there are more layers, it is the first that asks (Wu
    et al. 2016, "Google's neural machine translation system", section 3), so that the others run
    over the whole target at once; s_i in t_i is the last layer's.
    """

    def __init__(
        self,
        score: Score,
        cell: type[Cell],
        layers: int,
        units: int,
        input_units: int,
        value_units: int,
        dropouts: list[Dropout],
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(score, cell, layers, units, input_units, dropouts, seed, **kwargs)
        glorot = keras.initializers.GlorotUniform(seed)
        self.output_units = input_units
        self.context_kernel = self.add_weight(
            (value_units, cell.gates * units), glorot, name="context_kernel"
        )
        self.readout = keras.layers.Dense(
            input_units, activation="tanh", kernel_initializer=glorot, name="readout"
        )
        self.readout.build((None, units + input_units + value_units))

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare."""
        return {
            "values": values_BSD,
            "keys": self.score.project_keys(values_BSD),
            # W c = W sum(a v) = sum(a W v): projecting the values, not each step's context, takes
            # the widest product out of the decoder's loop.
            "cell_values": tf.matmul(values_BSD, self.context_kernel),
        }

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run. Only what depends on the first layer's state runs step by step."""
        size = len(self.cell.state_names)
        projected_TBD = tf.transpose(self.cell.project(embedded_BTD), [1, 0, 2])

        def step(slices: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
            state, weights_BS = self._advance(slices[0], state, memory)
            return state, [state[0], weights_BS]

        _, (states_TBD, weights_TBS) = scan(step, [projected_TBD], state[:size])
        states_BTD = tf.transpose(states_TBD, [1, 0, 2])
        contexts_BTD = attend(tf.transpose(weights_TBS, [1, 0, 2]), memory["values"])
        outputs_BTD = self.upper.run(states_BTD, state[size:], training)
        return self.readout(tf.concat([outputs_BTD, embedded_BTD, contexts_BTD], axis=-1))

    def step(
        self, embedded_BD: tf.Tensor, state: Tensors, memory: Memory
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        size = len(self.cell.state_names)
        first, weights_BS = self._advance(self.cell.project(embedded_BD), state[:size], memory)
        output_BD, others = self.upper.step(first[0], state[size:], [])
        context_BD = attend(weights_BS, memory["values"])
        readout_BD = self.readout(tf.concat([output_BD, embedded_BD, context_BD], axis=-1))
        return readout_BD, weights_BS, first + others

    def _advance(
        self, projected_BD: tf.Tensor, state: Tensors, memory: Memory
    ) -> tuple[Tensors, tf.Tensor]:
        """Return the first layer's next state and the attention that led to it."""
        query_BD, recurrent_BD = self.query_and(state[0], self.cell.recurrent_kernel)
        weights_BS = self.attention(query_BD, memory)
        projected_BD += attend(weights_BS, memory["cell_values"])
        return self.cell.update(projected_BD, recurrent_BD, state), weights_BS


class LuongDecoder(Decoder):
    """The cells move first, the new state asks, and an attentional vector joins it to the context.

        h_t = cells([y_{t-1}; g_{t-1}], h_{t-1})    without input feeding: cells(y_{t-1}, h_{t-1})
        c_t = attend(h_t, values)
        g_t = tanh(Wc [c_t; h_t])

    Luong et al. (2015), section 3 with equation 5, of which g_t is the attentional vector h~_t, and
    section 3.3 for input feeding; g_0 is 0. h_t is the last layer's state. The attentional vector
    is the output, from which the vocabulary is predicted as in equation 6.

    Without input feeding no step depends on attention, so that the cells run over the whole target
    and attention is one product for all steps. The vector that is fed is free of dropout.
    """

    def __init__(
        self,
        score: Score,
        cell: type[Cell],
        layers: int,
        units: int,
        input_units: int,
        value_units: int,
        input_feeding: bool,
        dropouts: list[Dropout],
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(score, cell, layers, units, input_units, dropouts, seed, **kwargs)
        glorot = keras.initializers.GlorotUniform(seed)
        self.output_units = units
        self.attentional_kernel = self.add_weight(
            (value_units + units, units), glorot, name="attentional_kernel"
        )
        self.feed_kernel = None
        if input_feeding:
            self.feed_kernel = self.add_weight(
                (units, cell.gates * units), glorot, name="feed_kernel"
            )
            self.state_names.append("fed")

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare."""
        return {
            "keys": self.score.project_keys(values_BSD),
            # Wc [c; h] = sum(a W v) + W' h: the context itself is never needed.
            "attentional_values": tf.matmul(
                values_BSD, self.attentional_kernel[: values_BSD.shape[-1]]
            ),
        }

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run."""
        size = len(self.cell.state_names)
        if self.feed_kernel is None:
            states_BTD = run_cell(self.cell, embedded_BTD, state[:size])
            states_BTD = self.upper.run(states_BTD, state[size:], training)
            return self._attentional(states_BTD, memory)[0]

        def step(slices: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
            output_BD, _, state = self._advance(slices[0], state, memory, slices[1:])
            return state, [output_BD]

        projected_TBD = tf.transpose(self.cell.project(embedded_BTD), [1, 0, 2])
        batch, length = tf.shape(embedded_BTD)[0], tf.shape(embedded_BTD)[1]
        masks = self.upper.masks(batch, length, training)
        _, (outputs_TBD,) = scan(step, [projected_TBD, *masks], state)
        return tf.transpose(outputs_TBD, [1, 0, 2])

    def step(
        self, embedded_BD: tf.Tensor, state: Tensors, memory: Memory
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        return self._advance(self.cell.project(embedded_BD), state, memory, [])

    def _advance(
        self, projected_BD: tf.Tensor, state: Tensors, memory: Memory, masks: Tensors
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        size = len(self.cell.state_names)
        if self.feed_kernel is not None:
            *state, fed_BD = state
            projected_BD += tf.matmul(fed_BD, self.feed_kernel)
        first = self.cell(projected_BD, state[:size])
        states_BD, others = self.upper.step(first[0], state[size:], masks)
        output_BD, weights_BS = self._attentional(states_BD, memory)
        fed = [] if self.feed_kernel is None else [output_BD]
        return output_BD, weights_BS, [*first, *others, *fed]

    def _attentional(self, states: tf.Tensor, memory: Memory) -> tuple[tf.Tensor, tf.Tensor]:
        """Return attentional vectors and attention of states, BD or BTD."""
        kernel = self.attentional_kernel[-states.shape[-1] :]
        query, projected = self.query_and(states, kernel)
        weights = self.attention(query, memory)
        return tf.tanh(attend(weights, memory["attentional_values"]) + projected), weights
