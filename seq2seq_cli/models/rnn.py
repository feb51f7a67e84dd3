"""A recurrent encoder-decoder, with attention or without."""

import keras
import tensorflow as tf

from seq2seq_cli.config.model import RNNConfig
from seq2seq_cli.models.layers.cells import CELLS
from seq2seq_cli.models.layers.decoder import Decoder
from seq2seq_cli.models.layers.decoders import BahdanauDecoder, LuongDecoder
from seq2seq_cli.models.layers.encoder import Encoder
from seq2seq_cli.models.layers.initialisers import normal, seed_generator
from seq2seq_cli.models.layers.linear import Linear, joined
from seq2seq_cli.models.layers.plain_decoders import ChoDecoder, SutskeverDecoder
from seq2seq_cli.models.layers.regularisation import Dropout, dropout_maker, penalise
from seq2seq_cli.models.masks import padding_mask
from seq2seq_cli.models.ops.products import dense, to_product_dtype
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, State, Step, StepOutput
from seq2seq_cli.vocabularies import Vocabularies

DECODERS: dict[tuple[str, bool], type[Decoder]] = {
    ("bahdanau", True): BahdanauDecoder,
    ("luong", True): LuongDecoder,
    ("bahdanau", False): ChoDecoder,
    ("luong", False): SutskeverDecoder,
}
"""The decoder of each wiring, with and without attention."""


class RNN(Seq2Seq):
    """GRUs or LSTMs in encoder and decoder, any score, in Bahdanau's wiring or in Luong's.

    The decoder attends to the encoder's values. The encoder's last state initialises the decoder's
    state. It is that of the cell that ends at the sentence's first word, if there is one:

        s_0 = tanh(Ws h + bs)    for each layer (Bahdanau et al. 2015, appendix A.2.2);
        c_0 = tanh(Wc c + bc)    in addition, if the cells are LSTMs

    With the bridge `zero` it is 0. The wirings are BahdanauDecoder and LuongDecoder. An affine map
    leads from the decoder's outputs to the vocabulary.

    Without attention the decoder gets the encoder's last states instead of its values, those of
    both directions: SutskeverDecoder, ChoDecoder.

    Args:
        config: widths, layers and options.
        vocabularies: their sizes.
        seed: determines the initial weights; None for zeros.
    """

    def __init__(self, config: RNNConfig, vocabularies: Vocabularies, seed: int | None = 0):
        super().__init__("rnn")
        generator = seed_generator(seed)
        self.activation_penalty = config.activation_penalty
        self.has_attention = config.has_attention

        make_dropout = dropout_maker(self.dropout_key, config.variational_dropout)

        def dropouts(number: int) -> list[Dropout]:
            return [make_dropout(config.dropout) for _ in range(number)]

        def embedding(vocabulary: int, name: str) -> keras.layers.Embedding:
            # Much smaller embeddings leave every tanh near 0, and attention then forms slowly.
            layer = keras.layers.Embedding(
                vocabulary,
                config.embedding_units,
                embeddings_initializer=normal(0.5, generator),
                name=name,
            )
            layer.build()
            return layer

        self.source_dropout, self.target_dropout, self.value_dropout, self.output_dropout = (
            dropouts(4)
        )
        self.source_embedding = embedding(vocabularies.source, "source_embedding")
        self.target_embedding = embedding(vocabularies.target, "target_embedding")
        encoder_dropouts = dropouts(config.encoder_layers - 1)
        self.encoder = Encoder(config, encoder_dropouts, generator, name="encoder")
        # The bridge has a separate map for each tensor of the decoder's state.
        letters = CELLS[config.cell].state_names
        names = [f"{name}{i}" for i in range(1, config.decoder_layers + 1) for name in letters]
        self.decoder_units = config.decoder_units
        last_units = config.encoder_units if config.has_attention else config.value_units
        self.bridges = [
            Linear(config.decoder_units, last_units, generator, name=f"bridge_{name}")
            for name in (names if config.bridge == "projection" else [])
        ]
        decoder_dropouts = dropouts(config.decoder_layers - 1)
        decoder = DECODERS[config.wiring, config.has_attention]
        self.decoder = decoder(config, decoder_dropouts, generator, name="decoder")
        # The state has one more tensor if local attention depends on the target position.
        window = self.decoder.window
        self.counts = window is not None and window.counts
        self.output_projection = Linear(
            vocabularies.target, self.decoder.output_units, generator, name="output_projection"
        )
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode. The projections of the values for decoding are computed here."""
        mask_BS = padding_mask(source_BS)
        embedded_BSD = self.source_dropout(self.source_embedding(source_BS), training=training)
        values_BSD, last = self.encoder(embedded_BSD, mask_BS, training=training)
        if not self.has_attention:  # one value represents the whole sentence
            values_BSD = last[0][:, tf.newaxis]
        if training:
            tokens_BS = tf.cast(mask_BS, values_BSD.dtype)
            if not self.has_attention:
                tokens_BS = tf.reduce_sum(tokens_BS, axis=1, keepdims=True)
            values_BSD = penalise(values_BSD, tokens_BS, self.activation_penalty)
        if not self.has_attention:  # some decoders use the last state only
            last = [values_BSD[:, 0], *last[1:]]
        values_BSD = self.value_dropout(values_BSD, training=training)
        zeros_BD = tf.zeros([tf.shape(source_BS)[0], self.decoder_units], values_BSD.dtype)
        initial = {f"initial_{name}": zeros_BD for name in self.decoder.state_names}
        for number, (name, bridge) in enumerate(zip(initial, self.bridges, strict=False)):
            initial[name] = tf.tanh(bridge(last[number % len(last)]))
        if self.counts:
            initial["initial_t"] = tf.zeros([tf.shape(source_BS)[0], 1])
        return {"mask": mask_BS, **self.decoder.prepare(values_BSD), **initial}

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        embedded_BTD = self.target_dropout(self.target_embedding(target_BT), training=training)
        initial = self.initial_state(memory, 0)
        state = [initial[name] for name in self.decoder.state_names]
        outputs_BTD = self.decoder.run(embedded_BTD, state, memory, training)
        return self.output_dropout(outputs_BTD, training=training)

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        output = self.output_projection
        return dense(to_product_dtype(hidden), output.kernel, output.bias)

    def joined_matrices(self) -> dict[str, int]:
        """See Seq2Seq.joined_matrices. Each gate of a cell has its own matrix."""
        cells = [cell for layer in self.encoder.layers for cell in layer.cells]
        cells += [self.decoder.cell, *self.decoder.upper.cells]
        kernels = [kernel for cell in cells for kernel in (cell.kernel, cell.recurrent_kernel)]
        kernels += self.decoder.gate_kernels
        return {kernel.path: self.decoder.cell.gates for kernel in kernels}

    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """See Seq2Seq.initial_state."""
        del max_length  # a recurrent state does not grow
        names = [*self.decoder.state_names, *(["t"] if self.counts else [])]
        return {name: memory[f"initial_{name}"] for name in names}

    def make_step(self, in_place: bool = False) -> Step:
        """See Seq2Seq.make_step."""
        del in_place  # a step returns a new state
        names = self.decoder.state_names
        kernels = {n: to_product_dtype(kernel) for n, kernel in self.decoder.kernels().items()}
        logits_map = joined((self.output_projection.kernel, self.output_projection.bias))

        def step(token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
            embedded_BD, before = self.target_embedding(token_B), [state[name] for name in names]
            output_BD, weights_BS, after = self.decoder.step(
                embedded_BD, before, memory, kernels, state.get("t")
            )
            counted = {"t": state["t"] + 1} if self.counts else {}
            logits_BV = dense(output_BD, *logits_map)
            return StepOutput(logits_BV, weights_BS, dict(zip(names, after, strict=True)) | counted)

        return step
