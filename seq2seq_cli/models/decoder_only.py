"""A decoder-only Transformer: translation as the continuation of the source."""

import tensorflow as tf

from seq2seq_cli.config.model import DecoderOnlyConfig
from seq2seq_cli.models.attention_stack import AttentionStack, cache_tensors, layer_cache
from seq2seq_cli.models.layers.blocks import Block
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.initialisers import seed_generator
from seq2seq_cli.models.layers.normalisation import NORMS, Norm
from seq2seq_cli.models.layers.relative_positions import (
    NO_DISTANCES,
    Distances,
    Relative,
    make_distances,
    relative_within,
)
from seq2seq_cli.models.masks import causal_mask, padding_mask
from seq2seq_cli.models.ops.compute import computing
from seq2seq_cli.models.seq2seq import AttentionMaps, Memory, scaled_mean
from seq2seq_cli.vocabularies import Vocabularies


class DecoderOnly(AttentionStack):
    """One stack over "source, separator, target", which predicts the target.

    A prefix language model: within the source every token sees every other; separator and target
    see the source and the tokens before them (Radford et al. 2018 for the stack; Liu et al. 2018,
    "Generating Wikipedia by summarizing long sequences", for two sequences in it, there a text and
    its summary; Raffel et al. 2020, section 3.2.1, for the full attention within the prefix). The
    separator is the target's BOS, and the loss is over the target only.

    The source does not see the target, so its keys and values are computed once, as `memory`, and
    decoding extends them. Target positions continue from the source's real length, regardless of
    padding. The attention that `decode_step` reports is the mean over the heads of the last layer:
    its part over the source, scaled to sum to 1.

    Args:
        config: widths, layers and options. `max_positions` is for source and target together.
        vocabularies: their sizes.
        seed: determines the initial weights; None for zeros.
    """

    def __init__(self, config: DecoderOnlyConfig, vocabularies: Vocabularies, seed: int | None = 0):
        generator = seed_generator(seed)
        super().__init__(config, vocabularies, generator, name="decoder_only")
        self.positions = Positions(
            config.positions, config.units, config.max_positions, generator, name="positions"
        )
        self.distances = make_distances(config, True, generator, "distances")
        self.dropout = self._make_dropout(config.dropout)
        blocks = [
            Block(
                config,
                self._make_dropout,
                seed=generator,
                key_value_heads=config.key_value_heads,
                name=f"block_{i}",
            )
            for i in range(1 if self.shares_layers else config.layers)
        ]
        self.blocks = blocks * config.layers if self.shares_layers else blocks
        norm = NORMS[config.normalisation]
        self.norm = norm(config.units, name="norm") if config.norm == "pre" else None
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode: the source's keys and values in each layer."""
        return self._encode(source_BS, training)[0]

    def _encode(self, source_BS: tf.Tensor, training: bool) -> tuple[Memory, list[tf.Tensor]]:
        """Return the memory, and weights_BHSS of each layer's attention within the source."""
        mask_BS = padding_mask(source_BS)
        positions_S = tf.range(tf.shape(source_BS)[1])
        x = self._embed(self.embeddings.embed_source(source_BS), positions_S, training)
        relative = relative_within(self.distances, positions_S)
        memory = {"mask": mask_BS, "length": tf.reduce_sum(tf.cast(mask_BS, tf.int32), axis=1)}
        weights = []
        for i, block in enumerate(self.blocks):
            depth = i if self.shares_layers else 0
            found = block(x, mask_BS, training=training, relative=relative, depth=depth)
            x, keys_values, weights_BHSS, _ = found
            memory |= cache_tensors(i, keys_values)
            weights.append(weights_BHSS)
        return memory, weights

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        return self._hidden(target_BT, memory, training)[0]

    def attention_maps(self, source_BS: tf.Tensor, target_BT: tf.Tensor) -> AttentionMaps:
        """See Seq2Seq.attention_maps: `stack`, the queries and keys of source and target."""
        memory, of_source = self._encode(source_BS, training=False)
        hidden_BTD, of_target = self._hidden(target_BT, memory, training=False)
        unseen = [[0, 0], [0, 0], [0, 0], [0, tf.shape(target_BT)[1]]]  # the target, by the source
        stack = [
            tf.concat([tf.pad(source_BHSS, unseen), target_BHTX], axis=2)
            for source_BHSS, target_BHTX in zip(of_source, of_target, strict=True)
        ]
        return AttentionMaps(tf.cast(self.logits(hidden_BTD), tf.float32), {"stack": stack})

    def _hidden(
        self, target_BT: tf.Tensor, memory: Memory, training: bool
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the result of `hidden`, and weights_BHTX of each layer over source and target."""
        batch, length = tf.unstack(tf.shape(target_BT))
        positions_BT = memory["length"][:, tf.newaxis] + tf.range(length)
        with computing(depth=self._target_depth(0)):
            x = self._embed(self.embeddings.embed_target(target_BT), positions_BT, training)
        source_BTS = tf.repeat(memory["mask"][:, tf.newaxis], length, axis=1)
        target_BTT = tf.repeat(causal_mask(length, length)[tf.newaxis], batch, axis=0)
        seen_BTX = tf.concat([source_BTS, target_BTT], axis=2)
        relative = NO_DISTANCES
        if self.distances is not None:
            relative = Relative(
                self.distances.turn(positions_BT[:, tf.newaxis]),
                self.distances.bias(positions_BT, _after_source(positions_BT, memory)),
            )
        weights = []
        for i, block in enumerate(self.blocks):
            prefix = layer_cache(memory, i)
            found = block(
                x,
                seen_BTX,
                prefix=prefix,
                training=training,
                relative=relative,
                depth=self._target_depth(i),
            )
            x = found.outputs_BTD
            weights.append(found.self_weights_BHTX)
        return self.normalised(x), weights

    def _target_depth(self, layer: int) -> int:
        """Return `Compute.depth` of a layer for the target; the source is before it."""
        return len(self.blocks) + layer if self.shares_layers else 1

    @property
    def target_blocks(self) -> list[Block]:
        """See AttentionStack.target_blocks."""
        return self.blocks

    @property
    def target_norm(self) -> Norm | None:
        """See AttentionStack.target_norm."""
        return self.norm

    @property
    def target_distances(self) -> Distances | None:
        """See AttentionStack.target_distances."""
        return self.distances

    def step_positions(
        self, position: tf.Tensor, capacity: tf.Tensor, memory: Memory, rows: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """See AttentionStack.step_positions. They continue from the source's real length."""
        beams = rows // tf.shape(memory["length"])[0]
        begin_R1 = tf.repeat(memory["length"], beams)[:, tf.newaxis]
        return begin_R1 + position, _after_source(begin_R1 + tf.range(capacity), memory)

    def embed_next(self, token_R: tf.Tensor, position: tf.Tensor, memory: Memory) -> tf.Tensor:
        """See AttentionStack.embed_next."""
        beams = tf.shape(token_R)[0] // tf.shape(memory["length"])[0]
        positions_R = tf.repeat(memory["length"], beams) + position
        return self._embed(self.embeddings.embed_target(token_R), positions_R, training=False)

    def attention_to_source(self, weights_RHX: tf.Tensor, memory: Memory) -> tf.Tensor:
        """See AttentionStack.attention_to_source."""
        source_length = tf.shape(memory["mask"])[1]
        return scaled_mean(weights_RHX[:, :, :source_length])

    def _embed(self, vectors: tf.Tensor, positions: tf.Tensor, training: bool) -> tf.Tensor:
        return self.dropout(self.positions.add_to(vectors, positions), training=training)


def _after_source(positions_RT: tf.Tensor, memory: Memory) -> tf.Tensor:
    """Return the positions of the source's tokens, padding included, then the given ones."""
    source_S = tf.range(tf.shape(memory["mask"])[1])
    source_RS = tf.repeat(source_S[tf.newaxis], tf.shape(positions_RT)[0], axis=0)
    return tf.concat([source_RS, positions_RT], axis=1)
