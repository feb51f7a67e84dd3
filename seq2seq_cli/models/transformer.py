"""The Transformer of Vaswani et al. (2017): an encoder and a decoder with attention only."""

import tensorflow as tf

from seq2seq_cli.config.model import TransformerConfig
from seq2seq_cli.models.attention_stack import AttentionStack, cache_tensors, layer_cache
from seq2seq_cli.models.layers.blocks import Block, BlockOutput
from seq2seq_cli.models.layers.embeddings import Positions
from seq2seq_cli.models.layers.initialisers import seed_generator
from seq2seq_cli.models.layers.normalisation import NORMS, Norm
from seq2seq_cli.models.layers.regularisation import LAYER_SITES, LayerDrop
from seq2seq_cli.models.layers.relative_positions import (
    Distances,
    make_distances,
    relative_within,
)
from seq2seq_cli.models.masks import padding_mask
from seq2seq_cli.models.ops.products import product_dtype, to_product_dtype
from seq2seq_cli.models.seq2seq import AttentionMaps, Memory
from seq2seq_cli.vocabularies import Vocabularies


class Transformer(AttentionStack):
    """Encoder and decoder stacks of multi-head attention and feed-forward networks.

    Vaswani et al. (2017), "Attention is all you need", section 3. If the layers of a stack share
    their weights, the stack is one block that is applied repeatedly, as in Dehghani et al. (2019),
    "Universal Transformers", section 2, but without halting, and with positions added only to the
    embeddings. Encoder and decoder may also share self-attention and feed-forward network. The
    attention that `decode_step` reports is the mean over the heads of the last decoder layer's
    cross-attention.

    Args:
        config: widths, layers and options.
        vocabularies: their sizes.
        seed: determines the initial weights; None for zeros.
    """

    def __init__(self, config: TransformerConfig, vocabularies: Vocabularies, seed: int | None = 0):
        generator = seed_generator(seed)
        super().__init__(config, vocabularies, generator, name="transformer")

        def positions(name: str) -> Positions:
            return Positions(
                config.positions, config.units, config.max_positions, generator, name=name
            )

        def stack(layers: int, name: str, cross: bool, like: Block | None = None) -> list[Block]:
            # An encoder is computed once, so fewer heads would not save time in it.
            groups = config.key_value_heads if cross or self.shares_stacks else None
            blocks = [
                Block(
                    config, self._make_dropout, cross, generator, groups, like, name=f"{name}_{i}"
                )
                for i in range(1 if self.shares_layers else layers)
            ]
            return blocks * layers if self.shares_layers else blocks

        def last_norm(name: str) -> Norm | None:
            # A post-norm stack ends with a normalisation as it is.
            norm = NORMS[config.normalisation]
            return norm(config.units, name=name) if config.norm == "pre" else None

        self.shares_stacks = config.weight_sharing == "stacks"
        self.source_positions = positions("source_positions")
        self.target_positions = positions("target_positions")
        self.source_dropout = self._make_dropout(config.dropout)
        self.target_dropout = self._make_dropout(config.dropout)
        self.encoder = stack(config.encoder_layers, "encoder", cross=False)
        like = self.encoder[0] if self.shares_stacks else None
        self.decoder = stack(config.decoder_layers, "decoder", cross=True, like=like)
        self.encoder_norm, self.decoder_norm = last_norm("encoder_norm"), last_norm("decoder_norm")
        self.encoder_distances = make_distances(config, True, generator, "encoder_distances")
        self.decoder_distances = make_distances(config, False, generator, "decoder_distances")
        self.layer_drops = [
            LayerDrop(config.encoder_layer_drop, self.dropout_key, LAYER_SITES + i)
            for i in range(config.encoder_layers)
        ]
        self.built = True

    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """See Seq2Seq.encode. The keys and values of every cross-attention are projected here."""
        return self._encode(source_BS, training)[0]

    def _encode(self, source_BS: tf.Tensor, training: bool) -> tuple[Memory, list[tf.Tensor]]:
        """Return the memory, and weights_BHSS of each layer's self-attention."""
        mask_BS, weights = padding_mask(source_BS), []
        positions_S = tf.range(tf.shape(source_BS)[1])
        x = self.source_positions.add_to(self.embeddings.embed_source(source_BS), positions_S)
        x = self.source_dropout(x, training=training)
        relative = relative_within(self.encoder_distances, positions_S)
        for i, (block, layer_drop) in enumerate(zip(self.encoder, self.layer_drops, strict=True)):

            def layer(x: tf.Tensor, block: Block = block, i: int = i) -> tf.Tensor:
                depth = i if self.shares_layers else 0
                found = block(x, mask_BS, training=training, relative=relative, depth=depth)
                weights.append(found.self_weights_BHTX)  # which only `attention_maps` reads
                return found.outputs_BTD

            x = layer_drop.around(layer, x, training)
        if self.encoder_norm is not None:
            x = self.encoder_norm(x, dtype=product_dtype(x.dtype))
        values_BSD = to_product_dtype(x)
        memory = {"mask": mask_BS}
        for i, block in enumerate(self.decoder):
            if i == 0 or not self.shares_layers:
                projected = block.cross_attention.project_keys_values(values_BSD)
            memory |= cache_tensors(i, projected)
        return memory, weights

    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """See Seq2Seq.hidden."""
        return self._hidden(target_BT, memory, training)[0]

    def attention_maps(self, source_BS: tf.Tensor, target_BT: tf.Tensor) -> AttentionMaps:
        """See Seq2Seq.attention_maps: `encoder` and `decoder`, the self-attentions, and `cross`."""
        memory, encoder = self._encode(source_BS, training=False)
        hidden_BTD, outputs = self._hidden(target_BT, memory, training=False)
        maps = {
            "cross": [output.cross_weights_BHTS for output in outputs],
            "encoder": encoder,
            "decoder": [output.self_weights_BHTX for output in outputs],
        }
        return AttentionMaps(tf.cast(self.logits(hidden_BTD), tf.float32), maps)

    def _hidden(
        self, target_BT: tf.Tensor, memory: Memory, training: bool
    ) -> tuple[tf.Tensor, list[BlockOutput]]:
        """Return what `hidden` does, and what each block of the decoder gives."""
        positions_T, outputs = tf.range(tf.shape(target_BT)[1]), []
        x = self._embed_target(target_BT, positions_T, training)
        relative = relative_within(self.decoder_distances, positions_T)
        before = len(self.encoder) if self.shares_stacks else 0
        for i, block in enumerate(self.decoder):
            found = block(
                x,
                causal=True,
                memory=layer_cache(memory, i),
                memory_mask_BS=memory["mask"],
                training=training,
                relative=relative,
                depth=before + i if self.shares_layers else 0,
            )
            x = found.outputs_BTD
            outputs.append(found)
        return self.normalised(x), outputs

    @property
    def all_blocks(self) -> list[Block]:
        """See AttentionStack.all_blocks."""
        return [*self.encoder, *self.decoder]

    @property
    def target_blocks(self) -> list[Block]:
        """See AttentionStack.target_blocks."""
        return self.decoder

    @property
    def target_norm(self) -> Norm | None:
        """See AttentionStack.target_norm."""
        return self.decoder_norm

    @property
    def target_distances(self) -> Distances | None:
        """See AttentionStack.target_distances."""
        return self.decoder_distances

    def step_positions(
        self, position: tf.Tensor, capacity: tf.Tensor, memory: Memory, rows: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """See AttentionStack.step_positions."""
        del memory, rows  # positions of the target do not depend on them
        return tf.reshape(position, [1, 1]), tf.range(capacity)[tf.newaxis]

    def embed_next(self, token_R: tf.Tensor, position: tf.Tensor, memory: Memory) -> tf.Tensor:
        """See AttentionStack.embed_next."""
        del memory  # which a position of the target does not depend on
        return self._embed_target(token_R, position)

    def attention_to_source(self, weights_RHX: tf.Tensor, memory: Memory) -> tf.Tensor:
        """See AttentionStack.attention_to_source: the mean over the heads."""
        del memory
        return tf.reduce_mean(weights_RHX, axis=1)

    def _embed_target(
        self, target: tf.Tensor, positions: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        x = self.target_positions.add_to(self.embeddings.embed_target(target), positions)
        return self.target_dropout(x, training=training)
