"""What the stacks of Transformers are made of: feed-forward, residual, one block."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seq2seq_cli.models.layers.attention import MultiHeadAttention
from seq2seq_cli.models.layers.cache import KeysValues, attend_step
from seq2seq_cli.models.layers.normalisation import LayerNorm, factor_of
from seq2seq_cli.models.layers.regularisation import Dropout, DropoutKey
from seq2seq_cli.models.ops.products import Affine, rounded

MakeDropout = Callable[[float], Dropout]


def dropout_maker(key: DropoutKey) -> MakeDropout:
    """Return a function from a rate to a Dropout, each at a site of its own."""
    sites = itertools.count()

    def make(rate: float) -> Dropout:
        site = next(sites)
        return Dropout(rate, key, site, name=f"dropout_{site}")

    return make


class FeedForward(keras.layers.Layer):
    """The same two-layer network at each position.

        relu, gelu:  FFN(x) = f(x W1 + b1) W2 + b2                       Vaswani et al., equation 2
        swiglu:      FFN(x) = (swish(x W1 + b1) * (x V + c)) W2 + b2     Shazeer (2020), equation 6

    Shazeer's has no biases. With `swiglu` the layer has half as many weights again; the paper takes
    two thirds of the inner units to make up for it. GELU is exact (Hendrycks and Gimpel 2016).

    Args:
        units: width of inputs and outputs.
        inner_units: width in between.
        activation: `relu`, `gelu` or `swiglu`.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self, units: int, inner_units: int, activation: str, seed: Any = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.activation = activation
        glorot = keras.initializers.GlorotUniform(seed)

        def projection(inputs: int, outputs: int, name: str) -> tuple:
            kernel = self.add_weight((inputs, outputs), glorot, name=f"{name}_kernel")
            return kernel, self.add_weight((outputs,), "zeros", name=f"{name}_bias")

        self.inner_kernel, self.inner_bias = projection(units, inner_units, "inner")
        if activation == "swiglu":
            self.gate_kernel, self.gate_bias = projection(units, inner_units, "gate")
        self.output_kernel, self.output_bias = projection(inner_units, units, "output")
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return outputs of the shape of `inputs`."""
        return tf.cast(self.transform(inputs, self.maps()), inputs.dtype)

    def maps(self) -> dict[str, Affine]:
        """Return the maps that `transform` takes."""
        names = ["inner", "output"] + (["gate"] if self.activation == "swiglu" else [])
        return {name: Affine.of(self, name) for name in names}

    def transform(self, inputs: tf.Tensor, maps: dict[str, Affine]) -> tf.Tensor:
        """Return outputs of the shape of `inputs`, given `maps`, as products give them."""
        inputs = rounded(inputs)
        if self.activation == "relu":
            return maps["output"](maps["inner"](inputs, relu=True))
        inner = tf.cast(maps["inner"](inputs), self.compute_dtype)
        if self.activation == "gelu":
            inner = tf.nn.gelu(inner)
        else:
            inner = tf.nn.silu(inner) * tf.cast(maps["gate"](inputs), self.compute_dtype)
        return maps["output"](rounded(inner))


class Residual(keras.layers.Layer):
    """What stands around a sublayer f: a residual connection, dropout and normalisation.

        post:  norm(x + dropout(f(x)))     Vaswani et al. (2017), section 5.4
        pre:   x + dropout(f(norm(x)))     Xiong et al. (2020), "On layer normalization in the
                                           Transformer architecture"

    Pre-norm learns at higher rates and with little warm-up; its stack needs a last normalisation.

    Args:
        units: width of x.
        norm: `pre` or `post`.
        dropout: applied to f's outputs.
    """

    def __init__(self, units: int, norm: str, dropout: Dropout, **kwargs: Any):
        super().__init__(**kwargs)
        self.is_pre = norm == "pre"
        with keras.name_scope(self.name):
            self.norm = LayerNorm(units, name="norm")
        self.dropout = dropout
        self.built = True

    def before(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return what goes into f, as products take it."""
        return factor_of(inputs, self.norm if self.is_pre else None)

    def after(self, inputs: tf.Tensor, outputs: tf.Tensor, training: bool) -> tf.Tensor:
        """Join x, `inputs`, with f's outputs."""
        joined = self.dropout.add(inputs, outputs, training)
        return joined if self.is_pre else self.norm(joined)


class BlockOutput(NamedTuple):
    """What a block gives.

    outputs_BTD: the inputs of the next block.
    keys_values: all that self-attention saw, but for the prefix.
    weights_BHTS: of the cross-attention; without one, of the self-attention.
    """

    outputs_BTD: tf.Tensor
    keys_values: KeysValues
    weights_BHTS: tf.Tensor


class Block(keras.layers.Layer):
    """Self-attention, cross-attention if wanted, feed-forward; each in a Residual.

    An encoder's layer, a decoder's layer (`cross`) and a layer of a decoder-only model.

    Args:
        units: width of the inputs, the outputs and all heads together.
        heads: number of heads; divides `units`.
        inner_units: width inside the feed-forward network.
        norm: `pre` or `post`.
        activation: `relu`, `gelu` or `swiglu`.
        dropout: rate on the outputs of each sublayer.
        attention_dropout: rate on attention weights.
        make_dropout: gives each dropout its site.
        cross: whether there is a cross-attention.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
    """

    def __init__(
        self,
        units: int,
        heads: int,
        inner_units: int,
        norm: str,
        activation: str,
        dropout: float,
        attention_dropout: float,
        make_dropout: MakeDropout,
        cross: bool = False,
        seed: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)

        def attention(name: str) -> MultiHeadAttention:
            weights_dropout = make_dropout(attention_dropout)
            return MultiHeadAttention(units, heads, dropout=weights_dropout, seed=seed, name=name)

        def residual(name: str) -> Residual:
            return Residual(units, norm, make_dropout(dropout), name=name)

        with keras.name_scope(self.name):  # for the variables' paths
            self.self_attention = attention("self_attention")
            self.self_residual = residual("self_residual")
            if cross:
                self.cross_attention = attention("cross_attention")
                self.cross_residual = residual("cross_residual")
            self.feed_forward = FeedForward(
                units, inner_units, activation, seed, name="feed_forward"
            )
            self.feed_forward_residual = residual("feed_forward_residual")
        self.has_cross = cross
        self.built = True

    def call(
        self,
        inputs_BTD: tf.Tensor,
        attention_mask: tf.Tensor | None = None,
        causal: bool = False,
        prefix: KeysValues | None = None,
        memory: KeysValues | None = None,
        memory_mask_BS: tf.Tensor | None = None,
        training: bool = False,
    ) -> BlockOutput:
        """Transform a sequence.

        Args:
            inputs_BTD: the sequence.
            attention_mask: of the self-attention: `mask` of `scaled_dot_product_attention`.
            causal: see there.
            prefix: keys and values that stand before the sequence's own.
            memory: keys and values that the cross-attention sees.
            memory_mask_BS: bool, False on padding of `memory`.
            training: whether to drop.
        """
        x = inputs_BTD
        query, keys_values = self.self_attention.project_self(self.self_residual.before(x))
        seen = prefix.extend(keys_values) if prefix is not None else keys_values
        outputs, weights = self.self_attention.combine(
            query, seen, attention_mask, causal, training
        )
        x = self.self_residual.after(x, outputs, training)

        if memory is not None:
            query = self.cross_attention.project_query(self.cross_residual.before(x))
            outputs, weights = self.cross_attention.combine(
                query, memory, memory_mask_BS, training=training
            )
            x = self.cross_residual.after(x, outputs, training)

        outputs = self.feed_forward(self.feed_forward_residual.before(x))
        return BlockOutput(
            self.feed_forward_residual.after(x, outputs, training), keys_values, weights
        )

    def step_weights(self) -> dict[str, Affine]:
        """Return the maps that `step` takes."""
        maps = self.feed_forward.maps()
        maps["self"] = Affine.of(self.self_attention, "query", "key", "value")
        maps["self_output"] = Affine.of(self.self_attention, "output")
        if self.has_cross:
            maps["cross"] = Affine.of(self.cross_attention, "query")
            maps["cross_output"] = Affine.of(self.cross_attention, "output")
        return maps

    def step(
        self,
        inputs_RD: tf.Tensor,
        maps: dict[str, Affine],
        cache: KeysValues,
        position: tf.Tensor,
        memory: KeysValues,
        memory_mask_BS: tf.Tensor,
        in_place: bool,
    ) -> tuple[tf.Tensor, KeysValues, tf.Tensor]:
        """Do what `call` does for one position of each of R = B K rows, K of each sentence.

        Args:
            inputs_RD: the position's vectors.
            maps: `step_weights`.
            cache: keys and values of the positions before `position`, of R rows.
            position: int32 scalar, where in the cache the inputs belong.
            memory: keys and values of B sentences: what the cross-attention sees, or without one
                what stands before the sequence.
            memory_mask_BS: bool, False on padding of `memory`.
            in_place: whether to write over the cache.

        Returns:
            The inputs of the next block; the new cache; and weights_RHS over the memory, without a
            cross-attention over the cache too.
        """
        x = inputs_RD
        by_heads = [-1, *cache.keys_BHSD.shape[1::2]]
        projected = tf.cast(maps["self"](self.self_residual.before(x)), x.dtype)
        query, keys, values = (
            tf.reshape(each, by_heads) for each in tf.split(projected, 3, axis=1)
        )
        cache = cache.write(KeysValues(keys, values), position, in_place)
        written_1L = tf.range(tf.shape(cache.keys_BHSD)[2])[tf.newaxis] <= position
        source = (memory, memory_mask_BS)
        heads_RHD, weights = attend_step(
            query, (cache, written_1L), None if self.has_cross else source
        )
        outputs = maps["self_output"](tf.reshape(heads_RHD, tf.shape(x)))
        x = self.self_residual.after(x, outputs, training=False)

        if self.has_cross:
            query = tf.cast(maps["cross"](self.cross_residual.before(x)), x.dtype)
            query = tf.reshape(query, by_heads)
            heads_RHD, weights = attend_step(query, None, source)
            outputs = maps["cross_output"](tf.reshape(heads_RHD, tf.shape(x)))
            x = self.cross_residual.after(x, outputs, training=False)

        outputs = self.feed_forward.transform(self.feed_forward_residual.before(x), maps)
        return self.feed_forward_residual.after(x, outputs, training=False), cache, weights


def block_stepper(blocks: Sequence[Block], in_place: bool) -> Callable[..., tuple]:
    """Return a function that does a step of decoding in all of `blocks`, as `Block.step` in one.

    It takes inputs_RD, a state and a memory, and returns outputs_RD, the last block's weights_RHS
    and the next state.
    """
    maps = [block.step_weights() for block in blocks]

    def step(x: tf.Tensor, state: dict[str, tf.Tensor], memory: dict[str, tf.Tensor]) -> tuple:
        position = state["position"]
        after, weights = {"position": position + 1}, None
        for i, block in enumerate(blocks):
            own, source = layer_cache(state, i), layer_cache(memory, i)
            x, cache, weights = block.step(
                x, maps[i], own, position, source, memory["mask"], in_place
            )
            store(after, i, cache)
        return x, weights, after

    return step


def layer_cache(tensors: dict[str, tf.Tensor], layer: int) -> KeysValues:
    """Return a layer's keys and values from a memory or a state."""
    return KeysValues(tensors[f"keys_{layer}"], tensors[f"values_{layer}"])


def store(tensors: dict[str, tf.Tensor], layer: int, keys_values: KeysValues) -> None:
    """Put a layer's keys and values where `layer_cache` finds them."""
    tensors[f"keys_{layer}"], tensors[f"values_{layer}"] = keys_values


def empty_state(memory: dict[str, tf.Tensor], max_length: int | tf.Tensor) -> dict[str, tf.Tensor]:
    """Return position 0 and caches of `max_length`, for as many layers as `memory` has."""
    state = {"position": tf.constant(0)}
    for name, like_BHSD in memory.items():
        if name.startswith(("keys_", "values_")):
            batch, heads, width = tf.shape(like_BHSD)[0], like_BHSD.shape[1], like_BHSD.shape[3]
            state[name] = tf.zeros([batch, heads, max_length, width], like_BHSD.dtype)
    return state


def grow_state(state: dict[str, tf.Tensor], max_length: tf.Tensor) -> dict[str, tf.Tensor]:
    """Return a state of `empty_state` with caches of `max_length`, at least as long as they are."""
    after = dict(state)
    for layer in range(len(state) // 2):
        store(after, layer, layer_cache(state, layer).resize(max_length))
    return after
