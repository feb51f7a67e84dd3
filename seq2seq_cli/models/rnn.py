"""A recurrent encoder-decoder with attention."""

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.cells import CELLS
from seq2seq_cli.models.layers.decoders import BahdanauDecoder, Decoder, LuongDecoder
from seq2seq_cli.models.layers.encoder import Encoder
from seq2seq_cli.models.layers.regularisation import Dropout, DropoutKey, penalise
from seq2seq_cli.models.layers.scores import make_score
from seq2seq_cli.models.ops.products import Affine, Linear, rounded
from seq2seq_cli.models.seq2seq import (
    Memory,
    Seq2Seq,
    State,
    Step,
    StepOutput,
    padding_mask,
)


class RNN(Seq2Seq):
    """GRUs or LSTMs in encoder and decoder, any score, in Bahdanau's wiring or in Luong's.

    The encoder's values are what the decoder attends to; its last state, that of the cell which
    ends at the sentence's first word where there is one, begins the decoder's:

        s_0 = tanh(Ws h + bs)    for each layer (Bahdanau et al. 2015, appendix A.2.2);
        c_0 = tanh(Wc c + bc)    besides where the cells are LSTMs

    or, with the bridge `zero`, 0. The wirings: BahdanauDecoder, LuongDecoder. What they give goes
    through an affine map to the vocabulary.

    Args:
        source_vocabulary, target_vocabulary: number of ids.
        embedding_units: width of both embeddings.
        encoder_units: width of the encoder, in each direction.
        decoder_units: width of the decoder's states.
        attention_units: width of the hidden layer of the scores additive and concat.
        dropout: rate on embeddings, inputs of upper layers, encoder values and decoder outputs.
        seed: determines the initial weights.
        cell: gru or lstm.
        encoder_layers, decoder_layers: how many; from the third on with a residual connection.
        bidirectional: whether each encoder layer reads from the end too.
        attention: additive, dot, general, concat or scaled_dot.
        wiring: bahdanau or luong.
        input_feeding: whether Luong's decoder reads its last attentional vector.
        bridge: projection or zero.
        variational_dropout: drop the same units at all places of a sentence.
        activation_penalty: weight of the penalty on the squares of the encoder's values.

    Raises:
        ValueError: for a dot product of states and values of unequal widths.
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
        *,
        cell: str = "gru",
        encoder_layers: int = 1,
        decoder_layers: int = 1,
        bidirectional: bool = True,
        attention: str = "additive",
        wiring: str = "bahdanau",
        input_feeding: bool = True,
        bridge: str = "projection",
        variational_dropout: bool = False,
        activation_penalty: float = 0.0,
    ):
        super().__init__(name="rnn")
        generator = keras.random.SeedGenerator(seed)
        self.dropout_key = DropoutKey()
        self.activation_penalty = activation_penalty

        def dropouts(first: int, number: int) -> list[Dropout]:
            return [
                Dropout(
                    dropout, self.dropout_key, site, variational_dropout, name=f"dropout_{site}"
                )
                for site in range(first, first + number)
            ]

        def embedding(vocabulary: int, name: str) -> keras.layers.Embedding:
            # Much smaller embeddings leave every tanh near 0, and attention takes long to form.
            normal = keras.initializers.RandomNormal(stddev=0.5, seed=generator)
            layer = keras.layers.Embedding(
                vocabulary, embedding_units, embeddings_initializer=normal, name=name
            )
            layer.build()
            return layer

        self.source_dropout, self.target_dropout, self.value_dropout, self.output_dropout = (
            dropouts(0, 4)
        )
        self.source_embedding = embedding(source_vocabulary, "source_embedding")
        self.target_embedding = embedding(target_vocabulary, "target_embedding")
        self.encoder = Encoder(
            CELLS[cell],
            encoder_layers,
            encoder_units,
            embedding_units,
            bidirectional,
            dropouts(100, encoder_layers - 1),
            generator,
            name="encoder",
        )
        # For each tensor of the decoder's state the bridge has a map of its own.
        names = [f"{n}{i}" for i in range(1, decoder_layers + 1) for n in CELLS[cell].state_names]
        self.decoder_units = decoder_units
        self.bridges = [
            Linear(decoder_units, encoder_units, generator, name=f"bridge_{name}")
            for name in (names if bridge == "projection" else [])
        ]
        value_units = self.encoder.value_units
        score = make_score(attention, attention_units, decoder_units, value_units, generator)
        arguments = (score, CELLS[cell], decoder_layers, decoder_units, embedding_units)
        decoder_dropouts = dropouts(200, decoder_layers - 1)
        self.decoder: Decoder = (
            BahdanauDecoder(*arguments, value_units, decoder_dropouts, generator, name="decoder")
            if wiring == "bahdanau"
            else LuongDecoder(
                *arguments, value_units, input_feeding, decoder_dropouts, generator, name="decoder"
            )
        )
        self.output_projection = Linear(
            target_vocabulary, self.decoder.output_units, generator, name="output_projection"
        )
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode. What the decoder's steps need of the values is projected here."""
        mask_BS = padding_mask(source_BS)
        embedded = self.source_dropout(self.source_embedding(source_BS), training=training)
        values_BSD, last = self.encoder(embedded, mask_BS, training=training)
        if training:
            values_BSD = penalise(values_BSD, mask_BS, self.activation_penalty)
        values_BSD = self.value_dropout(values_BSD, training=training)
        zeros_BD = tf.zeros([tf.shape(source_BS)[0], self.decoder_units], values_BSD.dtype)
        initial = {f"initial_{name}": zeros_BD for name in self.decoder.state_names}
        for number, (name, bridge) in enumerate(zip(initial, self.bridges, strict=False)):
            initial[name] = tf.tanh(bridge(last[number % len(last)]))
        return {"mask": mask_BS, **self.decoder.prepare(values_BSD), **initial}

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        embedded_BTD = self.target_dropout(self.target_embedding(target_BT), training=training)
        state = list(self.initial_state(memory, 0).values())
        outputs_BTD = self.decoder.run(embedded_BTD, state, memory, training)
        return self.output_dropout(outputs_BTD, training=training)

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return self.output_projection(rounded(hidden))

    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """See Seq2Seq.initial_state."""
        del max_length  # a recurrent state does not grow
        return {name: memory[f"initial_{name}"] for name in self.decoder.state_names}

    def decode_step(self, token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
        """See Seq2Seq.decode_step."""
        return self.make_step()(token_B, state, memory)

    def make_step(self, in_place: bool = False) -> Step:
        """See Seq2Seq.make_step."""
        del in_place  # a step makes a state anew
        names = self.decoder.state_names
        kernels = {name: rounded(kernel) for name, kernel in self.decoder.kernels().items()}
        output = self.output_projection
        project = Affine(*(rounded(tf.convert_to_tensor(x)) for x in (output.kernel, output.bias)))

        def step(token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
            output_BD, weights_BS, after = self.decoder.step(
                self.target_embedding(token_B), [state[name] for name in names], memory, kernels
            )
            return StepOutput(project(output_BD), weights_BS, dict(zip(names, after, strict=True)))

        return step
