"""The interface between architectures and decoding.

Suffixes name the dimensions of a tensor, here, in the other models and in `decoding`:

    B batch   S source length   T target length   D units   H heads   V vocabulary   K beams
    C candidates   N hypotheses returned   P prefix length   R rows: the K hypotheses of B sentences
    L capacity of a cache   X rows or keys of any kind, such as the tokens of a batch
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from seq2seq_cli.models.dropout_key import DropoutKey

Memory = dict[str, tf.Tensor]
State = dict[str, tf.Tensor]


class StepOutput(NamedTuple):
    """The result of one decoding step.

    Attributes:
        logits_BV: float32, unnormalised log-probabilities of the next token.
        attention_BS: float32, weights over the source. They sum to 1, and are 0 on padding. All are
            0 if the model has no attention.
        state: the state for the next step, of the same structure, shapes and dtypes.
    """

    logits_BV: tf.Tensor
    attention_BS: tf.Tensor
    state: State


class AttentionMaps(NamedTuple):
    """The attention of a model that reads a given target.

    Attributes:
        logits_BTV: float32, of the token after each target token.
        maps: for each kind of attention the float32 weights_BHTS of each layer, the first layer
            first. The kinds are:

            cross    target positions over the source; only if the model has attention
            encoder  the source over itself
            decoder  target positions over the target's up to themselves
            stack    source and target positions over both, side by side
    """

    logits_BTV: tf.Tensor
    maps: dict[str, list[tf.Tensor]]

    def to_source(self, source_length: int) -> tf.Tensor:
        """Return weights_BTS of the last layer, which `decode_step` reports; there is attention.

        They are the mean over the heads. That of a stack is the part over the source, scaled to sum
        to 1.

        Args:
            source_length: the length S of the source, padding included.
        """
        if "cross" in self.maps:
            return tf.reduce_mean(self.maps["cross"][-1], axis=1)
        return scaled_mean(self.maps["stack"][-1][:, :, source_length:, :source_length])


def scaled_mean(weights: tf.Tensor) -> tf.Tensor:
    """Return the mean over the heads, BHTS or BHS, scaled to sum to 1 over S; 0 where all are 0."""
    mean = tf.reduce_mean(weights, axis=1)
    return tf.math.divide_no_nan(mean, tf.reduce_sum(mean, axis=-1, keepdims=True))


Step = Callable[[tf.Tensor, State, Memory], StepOutput]


class Seq2Seq(keras.Model):
    """An encoder and an auto-regressive decoder.

    Training uses `encode`, `hidden` and `logits`, and sets `dropout_key`. A search uses `encode`,
    `initial_state`, `make_step`, `repeat_for_beams` and `grow_cache`. The other methods follow from
    these. A model with several layers or heads of attention overrides `attention_maps`.

    `memory` does not change during decoding. `state` changes at each decoding step; the first axis
    of each of its tensors that is not a scalar is B.

    The hypotheses of a sentence are adjacent rows. Their memory is the result of
    `repeat_for_beams` for the memory of the sentence.

    Attributes:
        has_attention: whether a decoding step attends to the source.
        dropout_key: determines the dropout masks of the next update.
        first_tag: the first of the last ids of the source vocabulary, which are tags; None if there
            are none.
        target_tags: number of the last ids of the target vocabulary that are tags.
    """

    has_attention: bool = True
    first_tag: int | None = None
    target_tags: int = 0

    def __init__(self, name: str):
        super().__init__(name=name)
        self.dropout_key = DropoutKey()

    @abstractmethod
    def encode(self, source_BS: tf.Tensor, training: bool = False) -> Memory:
        """Encode source ids (int32, right-padded with PAD); the first axis of every result is B."""

    @abstractmethod
    def hidden(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """Return hidden_BTD, from which `logits` predicts the token after each of `target_BT`."""

    @abstractmethod
    def logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Return the logits of vectors of any rank.

        They may have the precision of matrix products, to save a pass over them. The loss casts
        them to float32.
        """

    def decode(self, target_BT: tf.Tensor, memory: Memory, training: bool = False) -> tf.Tensor:
        """Return logits_BTV of the token after each of `target_BT` (teacher forcing)."""
        return self.logits(self.hidden(target_BT, memory, training))

    def joined_matrices(self) -> dict[str, int]:
        """Return, by path, the number of matrices that a weight holds side by side, if several."""
        return {}

    @abstractmethod
    def initial_state(self, memory: Memory, max_length: int | tf.Tensor) -> State:
        """Return the state before the first token of at most `max_length`."""

    def repeat_for_beams(self, memory: Memory, times: int | tf.Tensor) -> Memory:
        """Return the memory that `decode_step` takes for `times` rows of each sentence."""
        return {name: tf.repeat(tensor, times, axis=0) for name, tensor in memory.items()}

    def grow_cache(self, state: State, max_length: tf.Tensor) -> State:
        """Return the same state with a total capacity of `max_length` tokens."""
        del max_length  # a state that does not grow has capacity for any number
        return state

    @abstractmethod
    def make_step(self, in_place: bool = False) -> Step:
        """Return a function that reads one token (int32) of each row and predicts the next.

        Values that depend only on the weights are computed once. The number of steps must not
        exceed the capacity of the state.

        Args:
            in_place: whether a decoding step may overwrite the state that it is given.
        """

    def decode_step(self, token_B: tf.Tensor, state: State, memory: Memory) -> StepOutput:
        """Do a single decoding step; see `make_step`."""
        return self.make_step()(token_B, state, memory)

    def attention_maps(self, source_BS: tf.Tensor, target_BT: tf.Tensor) -> AttentionMaps:
        """Return all attention weights of teacher forcing, without dropout.

        Here it is the one map that `decode_step` reports, as one layer with one head.

        Args:
            source_BS: int32 ids, right-padded with PAD.
            target_BT: int32 ids, like `source_BS`; each row begins with BOS.
        """
        logits_BTV, weights_BTS = self.reported_attention(source_BS, target_BT)
        maps = {"cross": [weights_BTS[:, tf.newaxis]]} if self.has_attention else {}
        return AttentionMaps(logits_BTV, maps)

    def reported_attention(
        self, source_BS: tf.Tensor, target_BT: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return logits_BTV and weights_BTS of `decode_step` for a given target.

        The arguments are those of `attention_maps`.
        """
        memory = self.encode(source_BS)
        state, step = self.initial_state(memory, tf.shape(target_BT)[1]), self.make_step()
        logits, attention = [], []
        for token_B in tf.unstack(target_BT, axis=1):
            logits_BV, attention_BS, state = step(token_B, state, memory)
            logits.append(logits_BV)
            attention.append(attention_BS)
        return tf.stack(logits, axis=1), tf.stack(attention, axis=1)

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Return logits_BTV for `(source_BS, target_BT)`; the target begins with BOS."""
        source_BS, target_BT = inputs
        return self.decode(target_BT, self.encode(source_BS, training), training)
