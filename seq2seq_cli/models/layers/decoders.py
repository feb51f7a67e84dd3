"""Recurrent decoders with attention, in the wirings of Bahdanau and of Luong."""

from typing import Any

import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.attention import attend, attention_weights
from seq2seq_cli.models.layers.cells import run_cell
from seq2seq_cli.models.layers.decoder import ContextDecoder, Decoder
from seq2seq_cli.models.layers.initialisers import glorot
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.products import dense
from seq2seq_cli.models.ops.scan import LINEAR, Factors, Product, Tensors, product, scan
from seq2seq_cli.models.seq2seq import Memory


class BahdanauDecoder(ContextDecoder):
    """The previous state is the query, and the context enters the cell.

        c_i = attend(s_{i-1}, h)
        s_i = cell([y_{i-1}; c_i], s_{i-1})
        t_i = readout(s_i, y_{i-1}, c_i)

    Bahdanau et al. (2015), section 3.1 and appendix A.2; t_i is the output. A maxout readout reads
    s_{i-1}, as in the paper. With several layers, the first one's state is the query (Wu et al.
    2016, "Google's neural machine translation system", section 3), so the others run over the
    whole target at once. s_i in t_i is the state of the last layer.

    See `reference.bahdanau_step` for the plain form.
    """

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare."""
        return {
            "values": values_BSD,
            "keys": self.score.project_keys(values_BSD),
            # W c = W sum(a h) = sum(a W h): projecting the values, not each context, takes the
            # widest product out of the decoder's loop.
            "cell_values": dense(values_BSD, self.context_kernel),
        }

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run. Only what depends on the first layer's state is in the loop."""
        size = len(self.cell.state_names)
        projected = self.cell.project(tf.transpose(embedded_BTD, [1, 0, 2]))
        gates, positions = self.cell.gates, self.positions(embedded_BTD)

        def body(slices: Tensors, state: Tensors, factors: Factors, product: Product) -> tuple:
            y, t = slices[:gates], slices[gates:]
            state, weights_BS = self._advance(y, state, factors, product, *t)
            return state, [weights_BS]

        factors = self._factors(memory, self.kernels())
        states, (weights_TBS,) = scan(body, [*projected, *positions], state[:size], factors)
        outputs_BTD = self.upper.run(tf.transpose(states[0], [1, 0, 2]), state[size:], training)
        contexts_BTD = attend(tf.transpose(weights_TBS, [1, 0, 2]), memory["values"])
        if self.readout.is_maxout:
            before_B1D = self.upper.output(state[0], state[size:])[:, tf.newaxis]
            outputs_BTD = tf.concat([before_B1D, outputs_BTD[:, :-1]], axis=1)
        return self.readout(outputs_BTD, embedded_BTD, contexts_BTD)

    def step(
        self,
        embedded_BD: tf.Tensor,
        state: Tensors,
        memory: Memory,
        kernels: Factors,
        t_B1: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        size = len(self.cell.state_names)
        projected = self.cell.project(embedded_BD)
        factors = self._factors(memory, kernels)
        first, weights_BS = self._advance(projected, state[:size], factors, product, t_B1)
        output_BD, others = self.upper.step(first[0], state[size:], [])
        if self.readout.is_maxout:
            output_BD = self.upper.output(state[0], state[size:])
        context_BD = attend(weights_BS, memory["values"])
        output_BD = self.readout(output_BD, embedded_BD, context_BD)
        return output_BD, self.reported(weights_BS), first + others

    def _advance(
        self,
        y: Tensors,
        state: Tensors,
        factors: Factors,
        product: Product,
        t_B1: tf.Tensor | None = None,
    ) -> tuple[Tensors, tf.Tensor]:
        """Return the first layer's next state, and the attention that led to it.

        Args:
            y: the cell's projection of the embedded word, one tensor for each gate.
            state: the first layer's.
            factors: what is attended to and multiplied by.
            product: see `scan`.
            t_B1: see `attention`.
        """
        gates = self.cell.gates
        weights_BS = self.attention(state[0], factors, product, t_B1)
        contexts = product("bs,bsd->bd", weights_BS, factors["cell_values"], gates)
        recurrent = product(LINEAR, state[0], factors["recurrent"], gates)
        return self.cell.update([*map(tf.add, y, contexts)], recurrent, state), weights_BS

    def _factors(self, memory: Memory, kernels: Factors) -> Factors:
        return {name: memory[name] for name in ("keys", "mask", "cell_values")} | kernels


class LuongDecoder(Decoder):
    """The new state is the query, and an attentional vector combines it with the context.

        h_t = cells([y_{t-1}; g_{t-1}], h_{t-1})    without input feeding: cells(y_{t-1}, h_{t-1})
        c_t = attend(h_t, values)
        g_t = tanh(Wc [c_t; h_t])

    Luong et al. (2015), section 3 with equation 5, where the attentional vector g_t is h~_t, and
    section 3.3 for input feeding; g_0 is 0. h_t is the last layer's state. The attentional vector
    is the output, from which the vocabulary is predicted as in equation 6.

    Without input feeding, the states do not depend on attention. The cells then run over the whole
    target, and attention is one product for all positions. No dropout is applied to the vector that
    is fed.

    See `reference.luong_step` for the plain form.
    """

    def __init__(self, config: RNNConfig, dropouts: list[Dropout], seed: Any = None, **kwargs: Any):
        super().__init__(config, dropouts, seed, **kwargs)
        self.output_units = self.units
        self.attentional_kernel = self.add_weight(
            (config.value_units + self.units, self.units), glorot(seed), name="attentional_kernel"
        )
        self.feed_kernel, self.gate_kernels = None, []
        if config.input_feeding:
            self.feed_kernel = self.add_weight(
                (self.units, self.cell.gates * self.units), glorot(seed), name="feed_kernel"
            )
            self.gate_kernels.append(self.feed_kernel)
            self.state_names.append("fed")

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare."""
        value_units = values_BSD.shape[-1]
        return {
            "keys": self.score.project_keys(values_BSD),
            # Wc [c; h] = sum(a W v) + W' h: the context itself is never needed.
            "attentional_values": dense(values_BSD, self.attentional_kernel[:value_units]),
        }

    def kernels(self) -> Factors:
        """See Decoder.kernels."""
        kernels = super().kernels() | self.upper.kernels()
        kernels["attentional"] = self.attentional_kernel[-self.units :]
        if self.feed_kernel is not None:
            kernels["feed"] = tf.convert_to_tensor(self.feed_kernel)
        return kernels

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run."""
        size, gates = len(self.cell.state_names), self.cell.gates
        if self.feed_kernel is None:
            states_BTD = run_cell(self.cell, embedded_BTD, state[:size])
            states_BTD = self.upper.run(states_BTD, state[size:], training)
            return self._attentional(states_BTD, memory)

        positions = self.positions(embedded_BTD)

        def body(slices: Tensors, state: Tensors, factors: Factors, product: Product) -> tuple:
            y, slices = slices[:gates], slices[gates:]
            t, masks = slices[: len(positions)], slices[len(positions) :]
            return self._advance(y, state, factors, masks, product, *t)[2], []

        projected = self.cell.project(tf.transpose(embedded_BTD, [1, 0, 2]))
        batch, length = tf.shape(embedded_BTD)[0], tf.shape(embedded_BTD)[1]
        masks = self.upper.masks(batch, length, training)
        factors = self._factors(memory, self.kernels())
        states, _ = scan(body, [*projected, *positions, *masks], state, factors)
        return tf.transpose(states[-1], [1, 0, 2])

    def step(
        self,
        embedded_BD: tf.Tensor,
        state: Tensors,
        memory: Memory,
        kernels: Factors,
        t_B1: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        projected = self.cell.project(embedded_BD)
        factors = self._factors(memory, kernels)
        output_BD, weights_BS, after = self._advance(projected, state, factors, [], product, t_B1)
        return output_BD, self.reported(weights_BS), after

    def _advance(
        self,
        y: Tensors,
        state: Tensors,
        factors: Factors,
        masks: Tensors,
        product: Product,
        t_B1: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """Return the attentional vector, the attention and the next state.

        Args:
            y: the cell's projection of the embedded word, one tensor for each gate.
            state: of all layers, and the attentional vector that is fed.
            factors: what is attended to and multiplied by.
            masks: dropout masks of the upper layers' inputs, or none.
            product: see `scan`.
            t_B1: see `attention`.
        """
        size, gates = len(self.cell.state_names), self.cell.gates
        if self.feed_kernel is not None:
            *state, fed_BD = state
            y = [*map(tf.add, y, product(LINEAR, fed_BD, factors["feed"], gates))]
        recurrent = product(LINEAR, state[0], factors["recurrent"], gates)
        first = self.cell.update(y, recurrent, state[:size])
        states_BD, others = self.upper.step(first[0], state[size:], masks, factors, product)
        weights_BS = self.attention(states_BD, factors, product, t_B1)
        (context_BD,) = product("bs,bsd->bd", weights_BS, factors["attentional_values"])
        (attentional_BD,) = product(LINEAR, states_BD, factors["attentional"])
        output_BD = tf.tanh(context_BD + attentional_BD)
        feed = [] if self.feed_kernel is None else [output_BD]
        return output_BD, weights_BS, [*first, *others, *feed]

    def _attentional(self, states_BTD: tf.Tensor, memory: Memory) -> tf.Tensor:
        """Return the attentional vectors of states that were not fed any."""
        scores_BTS, mask_BS = self.score(states_BTD, memory["keys"]), memory["mask"]
        if self.window is None:
            weights_BTS = attention_weights(scores_BTS, mask_BS)
        elif self.window.kernel is not None:
            weights_BTS = self.window(scores_BTS, mask_BS, dense(states_BTD, self.window.kernel))
        else:
            (t_T11,) = self.positions(states_BTD)
            weights_BTS = self.window(scores_BTS, mask_BS, tf.transpose(t_T11, [1, 0, 2]))
        contexts_BTD = attend(weights_BTS, memory["attentional_values"])
        return tf.tanh(contexts_BTD + dense(states_BTD, self.attentional_kernel[-self.units :]))

    def _factors(self, memory: Memory, kernels: Factors) -> Factors:
        return {name: memory[name] for name in ("keys", "mask", "attentional_values")} | kernels
