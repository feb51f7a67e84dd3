"""A recurrent encoder-decoder with attention, in the wiring of Bahdanau et al. (2015)."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seq2seq_cli.models.attention import AdditiveScore, attend, attention_weights
from seq2seq_cli.models.seq2seq import (
    Dropout,
    DropoutKey,
    Memory,
    Seq2Seq,
    State,
    StepOutput,
    padding_mask,
)


class GRUCell(keras.layers.Layer):
    """A gated recurrent unit with the reset gate after the product, as in cuDNN.

        z, r = sigmoid(Wz x + Uz h), sigmoid(Wr x + Ur h)
        n    = tanh(Wn x + r * (Un h))
        h'   = z * h + (1 - z) * n

    Cho et al. (2014), with biases on both sides; equal to keras.layers.GRUCell(reset_after=True).
    The part that depends on the inputs alone, `project`, is computed for all steps at once.

    Args:
        units: width of the state.
        input_units: width of the inputs.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.kernel = self.add_weight(
            (input_units, 3 * units), keras.initializers.GlorotUniform(seed), name="kernel"
        )
        self.recurrent_kernel = self.add_weight(
            (units, 3 * units), keras.initializers.Orthogonal(seed=seed), name="recurrent_kernel"
        )
        self.bias = self.add_weight((3 * units,), "zeros", name="bias")
        self.recurrent_bias = self.add_weight((3 * units,), "zeros", name="recurrent_bias")
        self.built = True

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return W x + b for all three gates, of width 3 * units."""
        return tf.matmul(inputs, self.kernel) + self.bias

    def call(self, projected: tf.Tensor, state_BD: tf.Tensor) -> tf.Tensor:
        """Return the next state."""
        recurrent = tf.matmul(state_BD, self.recurrent_kernel) + self.recurrent_bias
        return self.update(projected, recurrent, state_BD)

    @staticmethod
    def update(projected: tf.Tensor, recurrent: tf.Tensor, state_BD: tf.Tensor) -> tf.Tensor:
        """Apply the gates to inputs and state that have been projected already."""
        xz, xr, xn = tf.split(projected, 3, axis=-1)
        hz, hr, hn = tf.split(recurrent, 3, axis=-1)
        z = tf.sigmoid(xz + hz)
        candidate = tf.tanh(xn + tf.sigmoid(xr + hr) * hn)
        return z * state_BD + (1 - z) * candidate


def scan(
    step: Callable[[list[tf.Tensor], list[tf.Tensor]], tuple[list[tf.Tensor], list[tf.Tensor]]],
    sequences: list[tf.Tensor],
    state: list[tf.Tensor],
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Run `step(slices, state) -> (state, outputs)` over the first axis of `sequences`.

    The number of steps is bounded by the shape, so that XLA can differentiate through the loop.

    Returns:
        The final state and each output stacked over time.
    """
    length = tf.shape(sequences[0])[0]
    inputs = [tf.TensorArray(x.dtype, size=length).unstack(x) for x in sequences]

    def body(t: tf.Tensor, state: list[tf.Tensor], arrays: list[tf.TensorArray]) -> tuple:
        state, outputs = step([array.read(t) for array in inputs], state)
        return t + 1, state, [a.write(t, o) for a, o in zip(arrays, outputs, strict=True)]

    # The outputs' shapes and dtypes are needed before the loop exists.
    slices = [x[0] for x in sequences]
    _, examples = step(slices, state)
    arrays = [
        tf.TensorArray(e.dtype, size=length, element_shape=e.shape, clear_after_read=False)
        for e in examples
    ]
    _, state, arrays = tf.while_loop(
        lambda t, *_: t < length, body, (0, state, arrays), maximum_iterations=length
    )
    return state, [array.stack() for array in arrays]


class BidirectionalEncoder(keras.layers.Layer):
    """One GRU from each end; a position's value is the two states side by side.

    Padding leaves the states unchanged, so a sentence is encoded alike at any padding.
    """

    def __init__(self, units: int, input_units: int, seed: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.forward_cell = GRUCell(units, input_units, seed, name="forward")
        self.backward_cell = GRUCell(units, input_units, seed, name="backward")
        self.built = True

    def call(self, inputs_BSD: tf.Tensor, mask_BS: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return values_BSD of width 2 * units, and the backward GRU's last state."""
        inputs_SBD = tf.transpose(inputs_BSD, [1, 0, 2])
        mask_SB1 = tf.transpose(mask_BS)[:, :, tf.newaxis]
        forward, backward = self.forward_cell, self.backward_cell
        projected_forward = forward.project(inputs_SBD)
        projected_backward = tf.reverse(backward.project(inputs_SBD), [0])

        def step(slices: list[tf.Tensor], state: list[tf.Tensor]) -> tuple:
            x, mask, x_back, mask_back = slices
            h = tf.where(mask, forward(x, state[0]), state[0])
            h_back = tf.where(mask_back, backward(x_back, state[1]), state[1])
            return [h, h_back], [h, h_back]

        zeros = tf.zeros([tf.shape(inputs_BSD)[0], forward.units], inputs_BSD.dtype)
        (_, last), (states_SBD, states_back_SBD) = scan(
            step,
            [projected_forward, mask_SB1, projected_backward, tf.reverse(mask_SB1, [0])],
            [zeros, zeros],
        )
        values_SBD = tf.concat([states_SBD, tf.reverse(states_back_SBD, [0])], axis=-1)
        return tf.transpose(values_SBD, [1, 0, 2]), last


class RNN(Seq2Seq):
    """Bidirectional GRU encoder, GRU decoder with additive attention, Bahdanau's wiring.

    At each step the previous state asks, and the context enters the cell:

        c_i = attend(s_{i-1}, h)
        s_i = GRU([y_{i-1}; c_i], s_{i-1})
        p(y_i) = softmax(Wo tanh(Wt [s_i; y_{i-1}; c_i] + bt) + bo)

    Bahdanau et al. (2015), sections 3.1 and 3.2 and appendix A. Two departures: the readout is one
    tanh layer where the paper has a maxout, and the cell resets after the product (see GRUCell).

    Args:
        source_vocabulary, target_vocabulary: number of ids.
        embedding_units: width of both embeddings and of the readout.
        encoder_units: width of the encoder in each direction.
        decoder_units: width of the decoder's state.
        attention_units: width of the score's hidden layer.
        dropout: rate on embeddings, encoder values and readout.
        seed: determines the initial weights.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        embedding_units: int,
        encoder_units: int,
        decoder_units: int,
        attention_units: int,
        dropout: float = 0.0,
        seed: int = 0,
    ):
        super().__init__(name="rnn")
        generator = keras.random.SeedGenerator(seed)
        glorot = keras.initializers.GlorotUniform(generator)
        self.dropout_key = DropoutKey()
        value_units = 2 * encoder_units

        def embedding(vocabulary: int, name: str) -> keras.layers.Embedding:
            # Much smaller embeddings leave every tanh near 0, and attention takes long to form.
            normal = keras.initializers.RandomNormal(stddev=0.5, seed=generator)
            layer = keras.layers.Embedding(
                vocabulary, embedding_units, embeddings_initializer=normal, name=name
            )
            layer.build()
            return layer

        def dense(units: int, input_units: int, name: str, **options: Any) -> keras.layers.Dense:
            layer = keras.layers.Dense(units, kernel_initializer=glorot, name=name, **options)
            layer.build((None, input_units))
            return layer

        self.source_embedding = embedding(source_vocabulary, "source_embedding")
        self.target_embedding = embedding(target_vocabulary, "target_embedding")
        self.encoder = BidirectionalEncoder(
            encoder_units, embedding_units, generator, name="encoder"
        )
        self.bridge = dense(decoder_units, encoder_units, "bridge", activation="tanh")
        self.score = AdditiveScore(
            attention_units, decoder_units, value_units, generator, name="score"
        )
        self.cell = GRUCell(decoder_units, embedding_units, generator, name="decoder")
        self.context_kernel = self.add_weight(
            (value_units, 3 * decoder_units), glorot, name="context_kernel"
        )
        readout_inputs = decoder_units + embedding_units + value_units
        self.readout = dense(embedding_units, readout_inputs, "readout", activation="tanh")
        self.output_projection = dense(target_vocabulary, embedding_units, "output_projection")
        self.source_dropout, self.target_dropout, self.value_dropout, self.readout_dropout = (
            Dropout(dropout, self.dropout_key, site, name=f"dropout_{site}") for site in range(4)
        )
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode. Keys and the context's way into the cell are projected here, once."""
        mask_BS = padding_mask(source_BS)
        embedded = self.source_dropout(self.source_embedding(source_BS), training=training)
        values_BSD, last_BD = self.encoder(embedded, mask_BS)
        values_BSD = self.value_dropout(values_BSD, training=training)
        return {
            "mask": mask_BS,
            "values": values_BSD,
            "keys": self.score.project_keys(values_BSD),
            # W c = W sum(a v) = sum(a W v): projecting the values, not each step's context, takes
            # the widest product out of the decoder's loop.
            "cell_values": tf.matmul(values_BSD, self.context_kernel),
            "initial": self.bridge(last_BD),
        }

    def decode(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.decode. Only what depends on the previous state runs step by step."""
        embedded_BTD = self.target_dropout(self.target_embedding(target_BT), training=training)
        projected_TBD = tf.transpose(self.cell.project(embedded_BTD), [1, 0, 2])

        def step(slices: list[tf.Tensor], state: list[tf.Tensor]) -> tuple:
            state_BD, weights_BS = self._advance(slices[0], state[0], memory)
            return [state_BD], [state_BD, weights_BS]

        _, (states_TBD, weights_TBS) = scan(step, [projected_TBD], [memory["initial"]])
        states_BTD = tf.transpose(states_TBD, [1, 0, 2])
        contexts_BTD = attend(tf.transpose(weights_TBS, [1, 0, 2]), memory["values"])
        return self._logits(states_BTD, embedded_BTD, contexts_BTD, training)

    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """See Seq2Seq.initial_state."""
        del max_length  # a recurrent state does not grow
        return {"decoder": memory["initial"]}

    def decode_step(self, token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
        """See Seq2Seq.decode_step."""
        embedded_BD = self.target_embedding(token_B)
        state_BD, weights_BS = self._advance(
            self.cell.project(embedded_BD), state["decoder"], memory
        )
        context_BD = attend(weights_BS, memory["values"])
        logits_BV = self._logits(state_BD, embedded_BD, context_BD)
        return StepOutput(logits_BV, weights_BS, {"decoder": state_BD})

    def _advance(
        self, projected_BD: tf.Tensor, state_BD: tf.Tensor, memory: Memory
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the next state and the attention weights that led to it."""
        # One product gives both what the state asks and what it brings to its successor.
        kernels = tf.concat([self.score.query_kernel, self.cell.recurrent_kernel], axis=1)
        query_BD, recurrent_BD = tf.split(
            tf.matmul(state_BD, kernels), [self.score.query_kernel.shape[1], -1], axis=-1
        )
        recurrent_BD += self.cell.recurrent_bias
        scores_BS = self.score.score_projected(query_BD, memory["keys"])
        weights_BS = attention_weights(scores_BS, memory["mask"])
        projected_BD += attend(weights_BS, memory["cell_values"])
        return self.cell.update(projected_BD, recurrent_BD, state_BD), weights_BS

    def _logits(
        self, states: tf.Tensor, embedded: tf.Tensor, contexts: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        readout = self.readout(tf.concat([states, embedded, contexts], axis=-1))
        return self.output_projection(self.readout_dropout(readout, training=training))
