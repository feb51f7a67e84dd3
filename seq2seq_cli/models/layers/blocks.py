"""A block of a Transformer: self-attention, cross-attention and a feed-forward network."""

from functools import partial
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seq2seq_cli.config.model import AttentionStackConfig
from seq2seq_cli.models.layers.feed_forward import FeedForward
from seq2seq_cli.models.layers.linear import Affine, joined
from seq2seq_cli.models.layers.multi_head_attention import MultiHeadAttention
from seq2seq_cli.models.layers.regularisation import MakeDropout
from seq2seq_cli.models.layers.relative_positions import NO_DISTANCES, Relative
from seq2seq_cli.models.layers.residual import Branch, Residual, one_by_one, side_by_side
from seq2seq_cli.models.ops.cache import KeysValues, attend_step
from seq2seq_cli.models.ops.compute import computing, current
from seq2seq_cli.models.ops.products import dense
from seq2seq_cli.models.ops.recompute import recomputed


class BlockOutput(NamedTuple):
    """The results of a block.

    Attributes:
        outputs_BTD: the inputs of the next block.
        keys_values: those of the self-attention, without the prefix.
        self_weights_BHTX: of the self-attention, over the prefix and then the sequence; None with
            `Compute.recompute`.
        cross_weights_BHTS: of the cross-attention; None if there is none, and with
            `Compute.recompute`.
    """

    outputs_BTD: tf.Tensor
    keys_values: KeysValues
    self_weights_BHTX: tf.Tensor | None
    cross_weights_BHTS: tf.Tensor | None


class Block(keras.layers.Layer):
    """Self-attention, optional cross-attention and a feed-forward network, each in a Residual.

    The sublayers are applied in sequence, or in parallel (`model.parallel_blocks`).

    A block is a layer of an encoder, of a decoder (`cross`) or of a decoder-only model.

    Args:
        config: widths, heads, norm, activation and dropout rates.
        make_dropout: gives each dropout its site.
        cross: whether there is a cross-attention.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        key_value_heads: number of heads of keys and values; None for the number of query heads.
        like: a block with which this one shares self-attention and feed-forward network.
    """

    self_attention: MultiHeadAttention
    self_residual: Residual
    feed_forward: FeedForward
    feed_forward_residual: Residual

    def __init__(
        self,
        config: AttentionStackConfig,
        make_dropout: MakeDropout,
        cross: bool = False,
        seed: Any = None,
        key_value_heads: int | None = None,
        like: "Block | None" = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        units = config.units

        def attention(name: str) -> MultiHeadAttention:
            return MultiHeadAttention(
                config.heads * config.head_width,
                config.heads,
                query_units=units,
                key_units=units,
                dropout=make_dropout(config.attention_dropout),
                seed=seed,
                key_value_heads=key_value_heads,
                name=name,
            )

        def residual(name: str) -> Residual:
            normalises = not config.parallel_blocks or name == "self_residual"
            normalisation = config.normalisation if normalises else None
            dropout = make_dropout(config.dropout)
            return Residual(units, config.norm, dropout, normalisation, name=name)

        def feed_forward() -> FeedForward:
            return FeedForward(
                units, config.inner_units, config.activation, seed, inner, name="feed_forward"
            )

        # A rate of 0 takes no site, so that the other masks are those of a model without it.
        inner = make_dropout(config.inner_dropout) if config.inner_dropout and not like else None
        with keras.name_scope(self.name):  # for the variables' paths
            self.self_attention = like.self_attention if like else attention("self_attention")
            self.self_residual = like.self_residual if like else residual("self_residual")
            if cross:
                self.cross_attention = attention("cross_attention")
                self.cross_residual = residual("cross_residual")
            self.feed_forward = like.feed_forward if like else feed_forward()
            self.feed_forward_residual = (
                like.feed_forward_residual if like else residual("feed_forward_residual")
            )
        self.through = side_by_side if config.parallel_blocks else one_by_one
        self.has_cross = cross
        self.built = True

    def joined_matrices(self) -> dict[str, int]:
        """See Seq2Seq.joined_matrices."""
        found = self.self_attention.joined_matrices()
        return found | self.cross_attention.joined_matrices() if self.has_cross else found

    def call(
        self,
        inputs_BTD: tf.Tensor,
        attention_mask: tf.Tensor | None = None,
        causal: bool = False,
        prefix: KeysValues | None = None,
        memory: KeysValues | None = None,
        memory_mask_BS: tf.Tensor | None = None,
        training: bool = False,
        relative: Relative = NO_DISTANCES,
        depth: int = 0,
    ) -> BlockOutput:
        """Transform a sequence.

        Args:
            inputs_BTD: the sequence.
            attention_mask: the `mask` of the self-attention; see `scaled_dot_product_attention`.
            causal: see there.
            prefix: keys and values before those of the sequence.
            memory: keys and values of the cross-attention.
            memory_mask_BS: bool, False on padding of `memory`.
            training: whether to apply dropout.
            relative: the effect of distances on the self-attention.
            depth: the number of earlier applications of the block; see Compute.
        """
        transform = partial(
            self._transform,
            attention_mask=attention_mask,
            causal=causal,
            memory_mask_BS=memory_mask_BS,
            training=training,
            depth=depth,
        )
        if not (training and current().recompute):
            return transform(inputs_BTD, prefix, memory, relative)
        given = (inputs_BTD, prefix, memory, relative.bias)  # what needs a gradient
        there = [tensor for tensor in tf.nest.flatten(given) if tensor is not None]

        def again(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
            left = iter(tensors)
            x, before, attended, bias = tf.nest.map_structure(
                lambda x: None if x is None else next(left), given
            )
            found = transform(x, before, attended, relative._replace(bias=bias))
            return found.outputs_BTD, *found.keys_values

        outputs_BTD, *keys_values = recomputed(again, *there)
        return BlockOutput(outputs_BTD, KeysValues(*keys_values), None, None)

    def _transform(
        self,
        inputs_BTD: tf.Tensor,
        prefix: KeysValues | None,
        memory: KeysValues | None,
        relative: Relative,
        *,
        attention_mask: tf.Tensor | None,
        causal: bool,
        memory_mask_BS: tf.Tensor | None,
        training: bool,
        depth: int,
    ) -> BlockOutput:
        """Return the result of `call`, which has the same arguments."""

        def attend_to_itself(x: tf.Tensor) -> tuple:
            query, own = self.self_attention.project_self(x)
            if relative.turn is not None:
                query = relative.turn(query)
                own = own._replace(keys_BHSD=relative.turn(own.keys_BHSD))
            seen = own if prefix is None else prefix.join(own)
            outputs, weights = self.self_attention.combine(
                query, seen, attention_mask, causal, training, relative.bias
            )
            return outputs, (own, weights)

        def attend_to_memory(memory: KeysValues, x: tf.Tensor) -> tuple:
            query = self.cross_attention.project_query(x)
            return self.cross_attention.combine(query, memory, memory_mask_BS, training=training)

        def feed_forward(x: tf.Tensor) -> tuple:
            return self.feed_forward.transform(x, self.feed_forward.maps(), training), None

        branches: list[Branch] = [(self.self_residual, attend_to_itself)]
        if memory is not None:
            branches.append((self.cross_residual, partial(attend_to_memory, memory)))
        branches.append((self.feed_forward_residual, feed_forward))
        with computing(depth=depth):
            x, ((own, weights), *cross, _) = self.through(branches, inputs_BTD, training)
        return BlockOutput(x, own, weights, cross[0] if cross else None)

    def maps(self) -> dict[str, Affine]:
        """Return the maps that `step` takes."""
        own = self.self_attention
        maps = self.feed_forward.maps()
        maps["self"] = joined(own.query_map, own.key_map, own.value_map)
        maps["self_output"] = joined(own.output_map)
        if self.has_cross:
            maps["cross"] = joined(self.cross_attention.query_map)
            maps["cross_output"] = joined(self.cross_attention.output_map)
        return maps

    def step(
        self,
        inputs_RD: tf.Tensor,
        maps: dict[str, Affine],
        cache: KeysValues,
        position: tf.Tensor,
        memory: KeysValues,
        self_mask_RX: tf.Tensor,
        memory_mask_RS: tf.Tensor,
        in_place: bool,
        relative: Relative = NO_DISTANCES,
    ) -> tuple[tf.Tensor, KeysValues, tf.Tensor]:
        """Transform one position of each of R = B K rows, K for each sentence.

        Args:
            inputs_RD: the position's vectors.
            maps: what the method `maps` returned.
            cache: keys and values of the positions before `position`, of R rows.
            position: int32 scalar, the position of the inputs in the cache.
            memory: keys and values of B sentences, for the cross-attention; without a
                cross-attention, those before the sequence.
            self_mask_RX: bool, False for keys that self-attention must not see. X counts the keys
                of the cache; without a cross-attention, those of `memory` and then those of the
                cache. R may be 1.
            memory_mask_RS: bool, False on padding of `memory`.
            in_place: whether to overwrite the cache.
            relative: see `call`; its bias_RHX is for the same keys as `self_mask_RX`. R may be 1.

        Returns:
            The inputs of the next block; the new cache; and weights_RHS over the memory; without a
            cross-attention, also over the cache.
        """
        units, dtype = self.self_attention.units, inputs_RD.dtype  # of all heads
        groups, width = cache.keys_BHSD.shape[1::2]
        sizes = [units, groups * width, groups * width]

        def attend_to_itself(x: tf.Tensor) -> tuple:
            projected = tf.split(tf.cast(dense(x, *maps["self"]), dtype), sizes, axis=1)
            query, keys, values = (
                tf.reshape(x, [-1, x.shape[1] // width, width]) for x in projected
            )
            if relative.turn is not None:
                query, keys = relative.turn(query), relative.turn(keys)
            own = cache.write(KeysValues(keys, values), position, in_place)
            prefix = None if self.has_cross else memory
            heads_RHD, weights = attend_step(query, self_mask_RX, prefix, own, relative.bias)
            return dense(tf.reshape(heads_RHD, [-1, units]), *maps["self_output"]), (own, weights)

        def attend_to_memory(x: tf.Tensor) -> tuple:
            query = tf.cast(dense(x, *maps["cross"]), dtype)
            query = tf.reshape(query, [-1, units // width, width])
            heads_RHD, weights = attend_step(query, memory_mask_RS, memory)
            return dense(tf.reshape(heads_RHD, [-1, units]), *maps["cross_output"]), weights

        def feed_forward(x: tf.Tensor) -> tuple:
            return self.feed_forward.transform(x, maps), None

        branches: list[Branch] = [(self.self_residual, attend_to_itself)]
        if self.has_cross:
            branches.append((self.cross_residual, attend_to_memory))
        branches.append((self.feed_forward_residual, feed_forward))
        x, ((own, weights), *cross, _) = self.through(branches, inputs_RD, False)
        return x, own, cross[0] if cross else weights
