"""The Transformer of Vaswani et al. (2017): encoder and decoder of attention alone."""

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.blocks import (
    Block,
    block_stepper,
    dropout_maker,
    empty_state,
    grow_state,
    layer_cache,
    store,
)
from seq2seq_cli.models.layers.embeddings import Embeddings, Positions
from seq2seq_cli.models.layers.normalisation import LayerNorm, factor_of
from seq2seq_cli.models.layers.regularisation import DropoutKey
from seq2seq_cli.models.seq2seq import (
    Memory,
    Seq2Seq,
    State,
    Step,
    StepOutput,
    padding_mask,
)


class Transformer(Seq2Seq):
    """Encoder and decoder stacks of multi-head attention and feed-forward networks.

    Vaswani et al. (2017), "Attention is all you need", section 3. The attention that `decode_step`
    reports is the mean over the heads of the last decoder layer's cross-attention.

    Args:
        source_vocabulary, target_vocabulary: number of ids.
        units: width of embeddings and layers; d_model in the paper.
        heads: number of attention heads; h in the paper.
        inner_units: width inside the feed-forward networks; d_ff in the paper.
        encoder_layers, decoder_layers: number of layers; N in the paper.
        norm: where normalisation stands, `pre` or `post`; see `blocks.Residual`.
        activation: `relu`, `gelu` or `swiglu`; see `blocks.FeedForward`.
        positions: `sinusoidal` or `learned`; see `blocks.Positions`.
        max_positions: how many learned positions there are.
        dropout: rate on embeddings and sublayers' outputs.
        attention_dropout: rate on attention weights.
        tied_embeddings: whether the target's embeddings are the output's too, and the source's with
            `joint_vocabulary`.
        joint_vocabulary: whether an id means the same in source and target.
        seed: determines the initial weights.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        units: int,
        heads: int,
        inner_units: int,
        encoder_layers: int,
        decoder_layers: int,
        norm: str = "pre",
        activation: str = "relu",
        positions: str = "sinusoidal",
        max_positions: int = 1024,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        tied_embeddings: bool = True,
        joint_vocabulary: bool = True,
        seed: int = 0,
    ):
        super().__init__(name="transformer")
        generator = keras.random.SeedGenerator(seed)
        self.dropout_key = DropoutKey()
        make_dropout = dropout_maker(self.dropout_key)

        def stack(layers: int, name: str, cross: bool) -> list[Block]:
            return [
                Block(
                    units,
                    heads,
                    inner_units,
                    norm,
                    activation,
                    dropout,
                    attention_dropout,
                    make_dropout,
                    cross,
                    generator,
                    name=f"{name}_{i}",
                )
                for i in range(layers)
            ]

        self.embeddings = Embeddings(
            source_vocabulary,
            target_vocabulary,
            units,
            tied_embeddings,
            joint_vocabulary,
            generator,
            name="embeddings",
        )
        self.source_positions, self.target_positions = (
            Positions(positions, units, max_positions, generator, name=f"{side}_positions")
            for side in ("source", "target")
        )
        self.source_dropout, self.target_dropout = make_dropout(dropout), make_dropout(dropout)
        self.encoder = stack(encoder_layers, "encoder", cross=False)
        self.decoder = stack(decoder_layers, "decoder", cross=True)
        # A post-norm stack ends with a normalisation as it is.
        self.encoder_norm = LayerNorm(units, name="encoder_norm") if norm == "pre" else None
        self.decoder_norm = LayerNorm(units, name="decoder_norm") if norm == "pre" else None
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode. The keys and values of every cross-attention are projected here."""
        mask_BS = padding_mask(source_BS)
        positions_S = tf.range(tf.shape(source_BS)[1])
        x = self.embeddings.embed_source(source_BS) + self.source_positions(positions_S)
        x = self.source_dropout(x, training=training)
        for block in self.encoder:
            x = block(x, mask_BS, training=training).outputs_BTD
        values_BSD = factor_of(x, self.encoder_norm)
        memory = {"mask": mask_BS}
        for i, block in enumerate(self.decoder):
            store(memory, i, block.cross_attention.project_keys_values(values_BSD))
        return memory

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        x = self._embed_target(target_BT, tf.range(tf.shape(target_BT)[1]), training)
        for i, block in enumerate(self.decoder):
            x = block(
                x,
                causal=True,
                memory=layer_cache(memory, i),
                memory_mask_BS=memory["mask"],
                training=training,
            ).outputs_BTD
        return factor_of(x, self.decoder_norm)

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return self.embeddings.logits(hidden)

    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """See Seq2Seq.initial_state: a cache of `max_length` keys and values for each layer."""
        return empty_state(memory, max_length)

    def grow_cache(self, state: State, max_length: tf.Tensor) -> State:
        """See Seq2Seq.grow_cache."""
        return grow_state(state, max_length)

    def repeat_for_beams(self, memory: Memory, times: int) -> Memory:
        """See Seq2Seq.repeat_for_beams. Cross-attention takes a sentence's rows as positions."""
        del times
        return memory

    def decode_step(self, token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
        """See Seq2Seq.decode_step. There must be no more steps than the state has room for."""
        return self.make_step()(token_B, state, memory)

    def make_step(self, in_place: bool = False) -> Step:
        """See Seq2Seq.make_step."""
        step_blocks = block_stepper(self.decoder, in_place)
        to_logits = self.embeddings.to_logits()

        def step(token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
            position = state["position"]
            x = self._embed_target(token_B, position)
            x, weights_BHS, after = step_blocks(x, state, memory)
            logits_BV = tf.cast(to_logits(factor_of(x, self.decoder_norm)), tf.float32)
            return StepOutput(logits_BV, tf.reduce_mean(weights_BHS, axis=1), after)

        return step

    def _embed_target(
        self, target_BT: tf.Tensor, positions_T: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        x = self.embeddings.embed_target(target_BT) + self.target_positions(positions_T)
        return self.target_dropout(x, training=training)
