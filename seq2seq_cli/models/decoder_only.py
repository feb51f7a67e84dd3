"""A decoder-only Transformer: translation as the continuation of the source."""

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


class DecoderOnly(Seq2Seq):
    """One stack over "source, separator, target", which predicts the target.

    A prefix language model: within the source every token sees every other; separator and target
    see the source and what stands before them (Radford et al. 2018 for the stack; Liu et al. 2018,
    "Generating Wikipedia by summarizing long sequences", for translation by it; Raffel et al. 2020,
    section 3.2.1, for the full attention within the prefix). The separator is the target's BOS, and
    the loss is over the target alone.

    The source sees nothing of the target, so its keys and values are computed once, as `memory`,
    and decoding extends them. Positions count on from the source's real length, whatever its
    padding. The attention that `decode_step` reports is that of the last layer, in the mean over
    its heads: its part over the source, scaled to 1 in sum.

    Args:
        source_vocabulary, target_vocabulary: number of ids.
        units: width of embeddings and layers.
        heads: number of attention heads.
        inner_units: width inside the feed-forward networks.
        layers: number of layers.
        norm: where normalisation stands, `pre` or `post`; see `blocks.Residual`.
        activation: `relu`, `gelu` or `swiglu`; see `blocks.FeedForward`.
        positions: `sinusoidal` or `learned`; see `blocks.Positions`.
        max_positions: how many learned positions there are, for source and target together.
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
        layers: int,
        norm: str = "pre",
        activation: str = "relu",
        positions: str = "sinusoidal",
        max_positions: int = 2048,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        tied_embeddings: bool = True,
        joint_vocabulary: bool = True,
        seed: int = 0,
    ):
        super().__init__(name="decoder_only")
        generator = keras.random.SeedGenerator(seed)
        self.dropout_key = DropoutKey()
        make_dropout = dropout_maker(self.dropout_key)
        self.embeddings = Embeddings(
            source_vocabulary,
            target_vocabulary,
            units,
            tied_embeddings,
            joint_vocabulary,
            generator,
            name="embeddings",
        )
        self.positions = Positions(positions, units, max_positions, generator, name="positions")
        self.dropout = make_dropout(dropout)
        self.blocks = [
            Block(
                units,
                heads,
                inner_units,
                norm,
                activation,
                dropout,
                attention_dropout,
                make_dropout,
                seed=generator,
                name=f"block_{i}",
            )
            for i in range(layers)
        ]
        self.norm = LayerNorm(units, name="norm") if norm == "pre" else None
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode: the source's keys and values in each layer."""
        mask_BS = padding_mask(source_BS)
        x = self._embed(
            self.embeddings.embed_source(source_BS), tf.range(tf.shape(source_BS)[1]), training
        )
        memory = {"mask": mask_BS, "length": tf.reduce_sum(tf.cast(mask_BS, tf.int32), axis=1)}
        for i, block in enumerate(self.blocks):
            x, keys_values, _ = block(x, mask_BS, training=training)
            store(memory, i, keys_values)
        return memory

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        batch, length = tf.unstack(tf.shape(target_BT))
        positions_T = tf.range(length)
        causal_TT = positions_T[:, tf.newaxis] >= positions_T
        mask_BTS = tf.concat(
            [
                tf.repeat(memory["mask"][:, tf.newaxis], length, axis=1),
                tf.repeat(causal_TT[tf.newaxis], batch, axis=0),
            ],
            axis=2,
        )
        x = self._embed_target(target_BT, positions_T, memory, training)
        for i, block in enumerate(self.blocks):
            x = block(x, mask_BTS, prefix=layer_cache(memory, i), training=training).outputs_BTD
        return factor_of(x, self.norm)

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
        """See Seq2Seq.repeat_for_beams: the rows of a sentence attend to the same keys."""
        del times
        return memory

    def decode_step(self, token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
        """See Seq2Seq.decode_step. There must be no more steps than the state has room for."""
        return self.make_step()(token_B, state, memory)

    def make_step(self, in_place: bool = False) -> Step:
        """See Seq2Seq.make_step."""
        step_blocks = block_stepper(self.blocks, in_place)
        to_logits = self.embeddings.to_logits()

        def step(token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
            position = state["position"]
            times = tf.shape(token_B)[0] // tf.shape(memory["length"])[0]
            positions_B = tf.repeat(memory["length"], times) + position
            x = self._embed(self.embeddings.embed_target(token_B), positions_B, training=False)
            x, weights_BHS, after = step_blocks(x, state, memory)
            source_length = tf.shape(memory["mask"])[1]
            over_source_BS = tf.reduce_mean(weights_BHS[:, :, :source_length], axis=1)
            total_B1 = tf.reduce_sum(over_source_BS, axis=1, keepdims=True)
            attention_BS = tf.math.divide_no_nan(over_source_BS, total_B1)
            logits_BV = tf.cast(to_logits(factor_of(x, self.norm)), tf.float32)
            return StepOutput(logits_BV, attention_BS, after)

        return step

    def _embed_target(
        self, target_BT: tf.Tensor, positions_T: tf.Tensor, memory: Memory, training: bool = False
    ) -> tf.Tensor:
        positions_BT = memory["length"][:, tf.newaxis] + positions_T
        return self._embed(self.embeddings.embed_target(target_BT), positions_BT, training)

    def _embed(self, vectors: tf.Tensor, positions: tf.Tensor, training: bool) -> tf.Tensor:
        return self.dropout(vectors + self.positions(positions), training=training)
