"""Recurrent decoders without attention. They read the source as a single vector."""

from typing import Any

import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.cells import run_cell
from seq2seq_cli.models.layers.decoder import ContextDecoder, Decoder
from seq2seq_cli.models.layers.regularisation import Dropout
from seq2seq_cli.models.ops.products import dense
from seq2seq_cli.models.ops.scan import LINEAR, Factors, Tensors, product
from seq2seq_cli.models.seq2seq import Memory


class SutskeverDecoder(Decoder):
    """The source is given only by the initial state.

        h_t = cells(y_{t-1}, h_{t-1})

    Sutskever, Vinyals, Le (2014), "Sequence to sequence learning with neural networks", section 2,
    the unnumbered recurrence; the last layer's h_t is the output. It is Luong's wiring without a
    context. In the paper, each layer starts from the encoder's last state of the same layer. Here,
    the bridge computes the initial state of all layers from the last layer's state.

    See `reference_variants.sutskever_step` for the plain form.
    """

    def __init__(self, config: RNNConfig, dropouts: list[Dropout], seed: Any = None, **kwargs: Any):
        super().__init__(config, dropouts, seed, **kwargs)
        self.output_units, self.gate_kernels = self.units, []

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare. Nothing is needed."""
        del values_BSD
        return {}

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run."""
        size = len(self.cell.state_names)
        states_BTD = run_cell(self.cell, embedded_BTD, state[:size])
        return self.upper.run(states_BTD, state[size:], training)

    def step(
        self,
        embedded_BD: tf.Tensor,
        state: Tensors,
        memory: Memory,
        kernels: Factors,
        t_B1: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Tensors]:
        """See Decoder.step."""
        del t_B1  # for attention alone
        output_BD, after = advance(self, self.cell.project(embedded_BD), state, kernels)
        return output_BD, no_weights(memory), after


class ChoDecoder(ContextDecoder):
    """The source is a vector c that enters each decoding step.

        s_t = cells([y_{t-1}; c], s_{t-1})
        o_t = readout(s_t, y_{t-1}, c)

    Cho et al. (2014), "Learning phrase representations using RNN encoder-decoder for statistical
    machine translation", section 2.2 and appendix A.1.2, where the readout is a maxout; they write
    h for s_t, and s for o_t. It is Bahdanau's wiring with the same context at each step: c is the
    concatenation of the encoder's last states of both directions. In the paper's appendix, the
    reset gate also multiplies C c, and c is tanh(V h_N).

    See `reference_variants.cho_step` for the plain form.
    """

    def prepare(self, values_BSD: tf.Tensor) -> Memory:
        """See Decoder.prepare. There is one value, c."""
        context_BD = tf.squeeze(values_BSD, 1)
        return {"context": context_BD, "cell_context": dense(context_BD, self.context_kernel)}

    def run(
        self, embedded_BTD: tf.Tensor, state: Tensors, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        """See Decoder.run."""
        size = len(self.cell.state_names)
        states_BTD = run_cell(self.cell, embedded_BTD, state[:size], self._of_gates(memory))
        outputs_BTD = self.upper.run(states_BTD, state[size:], training)
        length = tf.shape(embedded_BTD)[1]
        contexts_BTD = tf.repeat(memory["context"][:, tf.newaxis], length, axis=1)
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
        del t_B1  # for attention alone
        projected = [*map(tf.add, self.cell.project(embedded_BD), self._of_gates(memory))]
        output_BD, after = advance(self, projected, state, kernels)
        output_BD = self.readout(output_BD, embedded_BD, memory["context"])
        return output_BD, no_weights(memory), after

    def _of_gates(self, memory: Memory) -> Tensors:
        return tf.split(memory["cell_context"], self.cell.gates, axis=1)


def advance(
    decoder: Decoder, projected: Tensors, state: Tensors, kernels: Factors
) -> tuple[tf.Tensor, Tensors]:
    """Return the last layer's output_BD and the state of all layers after one position.

    Args:
        decoder: has the cells.
        projected: the input of the first layer's gates, one tensor for each.
        state: before the position.
        kernels: see `Decoder.kernels`.
    """
    size, gates = len(decoder.cell.state_names), decoder.cell.gates
    recurrent = product(LINEAR, state[0], kernels["recurrent"], gates)
    first = decoder.cell.update(projected, recurrent, state[:size])
    output_BD, others = decoder.upper.step(first[0], state[size:], [])
    return output_BD, first + others


def no_weights(memory: Memory) -> tf.Tensor:
    """Return the attention_BS of a decoder without attention: zeros."""
    return tf.zeros_like(memory["mask"], tf.float32)
