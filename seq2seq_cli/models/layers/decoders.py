"""Recurrent decoders: where attention stands, in the wirings of Bahdanau and of Luong."""

from abc import abstractmethod
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.attention import attend, attention_weights
from seq2seq_cli.models.layers.cells import Cell, UpperLayers, run_cell
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.layers.scores import Score
from seq2seq_cli.models.ops.products import Linear, matmul
from seq2seq_cli.models.ops.recurrence import (
    LINEAR,
    Factors,
    Product,
    Tensors,
    product,
    recurrence,
)
from seq2seq_cli.models.seq2seq import Memory


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
        self.units = units
        self.score = score
        self.cell = cell(units, input_units, seed, name=f"{self.name}_1")
        self.upper = UpperLayers(cell, layers, units, dropouts, seed, name=self.name)
        self.state_names = [f"{n}{i}" for i in range(1, layers + 1) for n in cell.state_names]
        self.built = True

    @abstractmethod
    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """Return all that the steps need of the encoder's values, projected once."""

    @abstractmethod
    def kernels(self) -> Factors:
        """Return what the steps need of the weights, joined once."""

    @abstractmethod
    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """Return outputs_BTD over a whole target."""

    @abstractmethod
    def step(
        self, embedded_BD: tf.Tensor, state: Tensors, memory: Memory, kernels: Factors
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """Return a step's output_BD and weights_BS, and the next state."""

    def attention(
        self, projected_query: tf.Tensor, memory: Memory, product: Product = product
    ) -> tf.Tensor:
        """Return the attention of what `multiply` returned of queries."""
        scores = self.score.score_projected(projected_query, memory["keys"], product)
        return attention_weights(scores, memory["mask"])

    def with_query(self, kernel: tf.Tensor) -> tf.Tensor:
        """Return `kernel` beside the query's, so that one product gives both; see `multiply`."""
        query_kernel = self.score.query_kernel
        return kernel if query_kernel is None else tf.concat([query_kernel, kernel], axis=1)

    def multiply(
        self, states_BD: tf.Tensor, kernel: tf.Tensor, parts: int, product: Product
    ) -> tuple[tf.Tensor, Tensors]:
        """Return what the states ask, and equal parts of their product with a kernel.

        The kernel is what `with_query` returned.
        """
        query_kernel = self.score.query_kernel
        if query_kernel is None:
            return states_BD, product(LINEAR, states_BD, kernel, parts)
        asked = query_kernel.shape[1]
        widths = [asked, *[(kernel.shape[1] - asked) // parts] * parts]
        query_BD, *others = product(LINEAR, states_BD, kernel, widths)
        return query_BD, others


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
        self.readout = Linear(input_units, units + input_units + value_units, seed, name="readout")

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare."""
        return {
            "values": values_BSD,
            "keys": self.score.project_keys(values_BSD),
            # W c = W sum(a v) = sum(a W v): projecting the values, not each step's context, takes
            # the widest product out of the decoder's loop.
            "cell_values": matmul(values_BSD, self.context_kernel),
        }

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run. Only what depends on the first layer's state runs step by step."""
        size = len(self.cell.state_names)
        projected = self.cell.project(tf.transpose(embedded_BTD, [1, 0, 2]))

        def step(slices: Tensors, state: Tensors, factors: Factors, product: Product) -> tuple:
            state, weights_BS = self._advance(slices, state, factors, product)
            return state, [weights_BS]

        factors = _factors(memory, self.kernels(), "cell_values")
        states, (weights_TBS,) = recurrence(step, projected, state[:size], factors)
        states_BTD = tf.transpose(states[0], [1, 0, 2])
        contexts_BTD = attend(tf.transpose(weights_TBS, [1, 0, 2]), memory["values"])
        outputs_BTD = self.upper.run(states_BTD, state[size:], training)
        joined_BTD = tf.concat([outputs_BTD, embedded_BTD, contexts_BTD], axis=-1)
        return tf.tanh(self.readout(joined_BTD))

    def step(
        self, embedded_BD: tf.Tensor, state: Tensors, memory: Memory, kernels: Factors
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        size = len(self.cell.state_names)
        projected = self.cell.project(embedded_BD)
        first, weights_BS = self._advance(
            projected, state[:size], _factors(memory, kernels, "cell_values")
        )
        output_BD, others = self.upper.step(first[0], state[size:], [])
        context_BD = attend(weights_BS, memory["values"])
        joined_BD = tf.concat([output_BD, embedded_BD, context_BD], axis=-1)
        return tf.tanh(self.readout(joined_BD)), weights_BS, first + others

    def kernels(self) -> Factors:
        """See Decoder.kernels."""
        return {"kernel": self.with_query(tf.convert_to_tensor(self.cell.recurrent_kernel))}

    def _advance(
        self,
        projected: Tensors,
        state: Tensors,
        factors: Factors,
        product: Product = product,
    ) -> tuple[Tensors, tf.Tensor]:
        """Return the first layer's next state and the attention that led to it."""
        gates = self.cell.gates
        query_BD, recurrent = self.multiply(state[0], factors["kernel"], gates, product)
        weights_BS = self.attention(query_BD, factors, product)
        contexts = product("bs,bsd->bd", weights_BS, factors["cell_values"], gates)
        return self.cell.update([*map(tf.add, projected, contexts)], recurrent, state), weights_BS


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
            "attentional_values": matmul(
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
            return self._attentional(states_BTD, memory)

        def step(slices: Tensors, state: Tensors, factors: Factors, product: Product) -> tuple:
            gates, masks = slices[: self.cell.gates], slices[self.cell.gates :]
            return self._advance(gates, state, factors, masks, product)[2], []

        projected = self.cell.project(tf.transpose(embedded_BTD, [1, 0, 2]))
        batch, length = tf.shape(embedded_BTD)[0], tf.shape(embedded_BTD)[1]
        masks = self.upper.masks(batch, length, training)
        factors = _factors(memory, self.kernels(), "attentional_values")
        states, _ = recurrence(step, [*projected, *masks], state, factors)
        return tf.transpose(states[-1], [1, 0, 2])

    def step(
        self, embedded_BD: tf.Tensor, state: Tensors, memory: Memory, kernels: Factors
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        projected = self.cell.project(embedded_BD)
        return self._advance(projected, state, _factors(memory, kernels, "attentional_values"), [])

    def kernels(self) -> Factors:
        """See Decoder.kernels."""
        kernels = {
            "kernel": tf.convert_to_tensor(self.cell.recurrent_kernel),
            "attentional_kernel": self.with_query(self.attentional_kernel[-self.units :]),
        }
        if self.feed_kernel is not None:
            kernels["feed_kernel"] = tf.convert_to_tensor(self.feed_kernel)
        return kernels

    def _advance(
        self,
        projected: Tensors,
        state: Tensors,
        factors: Factors,
        masks: Tensors,
        product: Product = product,
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        size, gates = len(self.cell.state_names), self.cell.gates
        if self.feed_kernel is not None:
            *state, fed_BD = state
            fed = product(LINEAR, fed_BD, factors["feed_kernel"], gates)
            projected = [*map(tf.add, projected, fed)]
        recurrent = product(LINEAR, state[0], factors["kernel"], gates)
        first = self.cell.update(projected, recurrent, state[:size])
        states_BD, others = self.upper.step(first[0], state[size:], masks)
        query_BD, (attentional_BD,) = self.multiply(
            states_BD, factors["attentional_kernel"], 1, product
        )
        weights_BS = self.attention(query_BD, factors, product)
        (context_BD,) = product("bs,bsd->bd", weights_BS, factors["attentional_values"])
        output_BD = tf.tanh(context_BD + attentional_BD)
        feed = [] if self.feed_kernel is None else [output_BD]
        return output_BD, weights_BS, [*first, *others, *feed]

    def _attentional(self, states_BTD: tf.Tensor, memory: Memory) -> tf.Tensor:
        """Return the attentional vectors of states that were not fed any."""
        kernel = self.attentional_kernel[-self.units :]
        query_kernel = self.score.query_kernel
        query_BTD = states_BTD if query_kernel is None else matmul(states_BTD, query_kernel)
        attended_BTD = attend(self.attention(query_BTD, memory), memory["attentional_values"])
        return tf.tanh(attended_BTD + matmul(states_BTD, kernel))


def _factors(memory: Memory, kernels: Factors, values: str) -> Factors:
    """Return what a step multiplies by; `values` names what it attends to."""
    return {name: memory[name] for name in ("keys", "mask", values)} | kernels
