"""The common part of the models that consist of Transformer blocks."""

from abc import abstractmethod
from typing import Any

import tensorflow as tf

from seq2seq_cli.config.model import AttentionStackConfig
from seq2seq_cli.models.layers.blocks import Block
from seq2seq_cli.models.layers.embeddings import Embeddings
from seq2seq_cli.models.layers.normalisation import Norm
from seq2seq_cli.models.layers.regularisation import dropout_maker
from seq2seq_cli.models.layers.relative_positions import NO_DISTANCES, Distances, Relative
from seq2seq_cli.models.ops.cache import KeysValues
from seq2seq_cli.models.ops.products import dense, product_dtype, to_product_dtype
from seq2seq_cli.models.seq2seq import Memory, Seq2Seq, State, Step, StepOutput
from seq2seq_cli.vocabularies import Vocabularies


class AttentionStack(Seq2Seq):
    """A model whose target side is a stack of blocks with caches of keys and values.

    A subclass creates the blocks, embeds tokens, and reads the attention to the source from the
    last block's weights. Its memory holds the `mask` of the source, and each block's keys and
    values of it; its state holds the position and each block's cache.

    Args:
        config: the model's table.
        vocabularies: their sizes.
        seed: an int or a keras.random.SeedGenerator for the initial weights.
        name: the model's.

    Attributes:
        config: the model's table.
        shares_layers: whether a stack is one block that is applied repeatedly.
    """

    def __init__(
        self,
        config: AttentionStackConfig,
        vocabularies: Vocabularies,
        seed: Any,
        name: str,
    ):
        super().__init__(name)
        self.config = config
        self.shares_layers = config.weight_sharing != "none"
        self._make_dropout = dropout_maker(self.dropout_key)
        self.embeddings = Embeddings(
            vocabularies, config.units, config.tied_embeddings, seed, name="embeddings"
        )

    @property
    @abstractmethod
    def target_blocks(self) -> list[Block]:
        """The blocks that a target token goes through."""

    @property
    def all_blocks(self) -> list[Block]:
        """The blocks of the target, and those of an encoder if there is one."""
        return self.target_blocks

    @property
    @abstractmethod
    def target_norm(self) -> Norm | None:
        """The normalisation after them, which a pre-norm stack needs."""

    @property
    @abstractmethod
    def target_distances(self) -> Distances | None:
        """The Distances of the target's self-attention, or None."""

    @abstractmethod
    def step_positions(
        self, position: tf.Tensor, capacity: tf.Tensor, memory: Memory, rows: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the positions of a step's queries and keys, R1 and RX, int32; R may be 1.

        Args:
            position: int32 scalar, in the target.
            capacity: of the caches.
            memory: the result of `encode`.
            rows: the number R of rows.
        """

    @abstractmethod
    def embed_next(self, token_R: tf.Tensor, position: tf.Tensor, memory: Memory) -> tf.Tensor:
        """Return vectors_RD of the tokens at a position (int32 scalar) of the target."""

    @abstractmethod
    def attention_to_source(self, weights_RHX: tf.Tensor, memory: Memory) -> tf.Tensor:
        """Return attention_RS, given the last block's weights."""

    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """See Seq2Seq.logits."""
        return self.embeddings.logits(hidden)

    def joined_matrices(self) -> dict[str, int]:
        """See Seq2Seq.joined_matrices. Each head of an attention has its own matrices."""
        found: dict[str, int] = {}
        for block in self.all_blocks:
            found |= block.joined_matrices()
        return found

    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """See Seq2Seq.initial_state: a cache of `max_length` keys and values for each block."""
        state = {"position": tf.constant(0)}
        for i, _ in enumerate(self.target_blocks):
            like_BHSD = layer_cache(memory, i).keys_BHSD
            batch, heads, width = tf.shape(like_BHSD)[0], like_BHSD.shape[1], like_BHSD.shape[3]
            shape = [batch, heads, max_length, width]
            state |= cache_tensors(i, KeysValues.empty(shape, like_BHSD.dtype))
        return state

    def grow_cache(self, state: State, max_length: tf.Tensor) -> State:
        """See Seq2Seq.grow_cache. `max_length` is at least the capacity of the caches."""
        after = {"position": state["position"]}
        for i, _ in enumerate(self.target_blocks):
            after |= cache_tensors(i, layer_cache(state, i).grow(max_length))
        return after

    def repeat_for_beams(self, memory: Memory, times: int | tf.Tensor) -> Memory:
        """See Seq2Seq.repeat_for_beams. The rows of a sentence attend to the same keys."""
        del times
        return memory

    def make_step(self, in_place: bool = False) -> Step:
        """See Seq2Seq.make_step."""
        maps_of = {id(block): block.maps() for block in self.target_blocks}  # maybe one block
        blocks = [(block, maps_of[id(block)]) for block in self.target_blocks]
        logits_map = self.embeddings.logits_map()
        has_cross, distances = self.target_blocks[0].has_cross, self.target_distances

        def step(token_R: tf.Tensor, state: State, memory: Memory) -> StepOutput:
            position = state["position"]
            after, weights_RHX = {"position": position + 1}, None
            x = self.embed_next(token_R, position, memory)
            rows, sentences = tf.shape(token_R)[0], tf.shape(memory["mask"])[0]
            source_RS = tf.repeat(memory["mask"], rows // sentences, axis=0)
            written_1L = tf.range(capacity(state))[tf.newaxis] <= position
            seen_RX = written_1L if has_cross else join_masks(source_RS, written_1L)
            relative = NO_DISTANCES
            if distances is not None:
                query_R1, keys_RX = self.step_positions(position, capacity(state), memory, rows)
                turn, bias = distances.turn(query_R1), distances.bias(query_R1, keys_RX)
                relative = Relative(turn, None if bias is None else tf.squeeze(bias, 2))
            for i, (block, maps) in enumerate(blocks):
                cache, source = layer_cache(state, i), layer_cache(memory, i)
                x, cache, weights_RHX = block.step(
                    x,
                    maps,
                    cache,
                    position,
                    memory=source,
                    self_mask_RX=seen_RX,
                    memory_mask_RS=source_RS,
                    in_place=in_place,
                    relative=relative,
                )
                after |= cache_tensors(i, cache)
            logits_RV = tf.cast(dense(self.normalised(x), *logits_map), tf.float32)
            return StepOutput(logits_RV, self.attention_to_source(weights_RHX, memory), after)

        return step

    def normalised(self, x: tf.Tensor) -> tf.Tensor:
        """Return the input of `logits` from the last block's outputs, in the dtype of products."""
        if self.target_norm is None:
            return to_product_dtype(x)
        return self.target_norm(x, dtype=product_dtype(x.dtype))


def layer_cache(tensors: dict[str, tf.Tensor], layer: int) -> KeysValues:
    """Return a layer's keys and values from a memory or a state."""
    return KeysValues(tensors[f"keys_{layer}"], tensors[f"values_{layer}"])


def cache_tensors(layer: int, keys_values: KeysValues) -> dict[str, tf.Tensor]:
    """Return a layer's keys and values by the names that `layer_cache` reads."""
    keys, values = keys_values
    return {f"keys_{layer}": keys, f"values_{layer}": values}


def capacity(state: State) -> tf.Tensor:
    """Return the number of positions that the caches of a state have, int32."""
    return tf.shape(layer_cache(state, 0).keys_BHSD)[2]


def join_masks(first_RS: tf.Tensor, then_1L: tf.Tensor) -> tf.Tensor:
    """Return two masks of keys as one, for all rows."""
    return tf.concat([first_RS, tf.repeat(then_1L, tf.shape(first_RS)[0], axis=0)], axis=1)
