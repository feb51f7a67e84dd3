"""Search over the seam of `models.seq2seq`: one compiled loop for every architecture."""

from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.special_tokens import BOS, EOS, PAD


class Hypotheses(NamedTuple):
    """The translations found.

    ids_BT: int32; ends with EOS unless the maximum length cut it, then PAD.
    log_probability_B: float32, the sum over the tokens, EOS included, in nats.
    """

    ids_BT: tf.Tensor
    log_probability_B: tf.Tensor


class GreedySearch:
    """Take the most probable token at each step, in one graph for batches of every shape.

    Args:
        model: any implementation of the seam.
    """

    def __init__(self, model: Seq2Seq):
        self._model = model
        self._compiled = tf.function(
            self.search,
            input_signature=[
                tf.TensorSpec([None, None], tf.int32),
                tf.TensorSpec([None], tf.int32),
            ],
        )

    def __call__(self, source_BS: tf.Tensor, max_length_B: tf.Tensor) -> Hypotheses:
        """Translate a batch of ids of at most `max_length_B` tokens each, EOS included."""
        return self._compiled(source_BS, max_length_B)

    def search(self, source_BS: tf.Tensor, max_length_B: tf.Tensor) -> Hypotheses:
        """Do the same without compiling; what `__call__` traces."""
        batch = tf.shape(source_BS)[0]
        length = tf.reduce_max(max_length_B)
        memory = self._model.encode(source_BS)
        state = self._model.initial_state(memory, length)

        def unfinished(t: tf.Tensor, _ids, done_B: tf.Tensor, *_) -> tf.Tensor:  # type: ignore
            return tf.logical_and(t < length, tf.logical_not(tf.reduce_all(done_B)))

        def step(t, ids, done_B, token_B, log_probability_B, state):  # type: ignore[no-untyped-def]
            logits_BV, _, state = self._model.decode_step(token_B, state, memory)
            log_probabilities_BV = tf.nn.log_softmax(forbid(logits_BV))
            token_B = tf.argmax(log_probabilities_BV, axis=-1, output_type=tf.int32)
            chosen_B = tf.gather(log_probabilities_BV, token_B, batch_dims=1)
            token_B = tf.where(done_B, PAD, token_B)
            log_probability_B += tf.where(done_B, 0.0, chosen_B)
            done_B = done_B | (token_B == EOS) | (t + 1 >= max_length_B)
            return t + 1, ids.write(t, token_B), done_B, token_B, log_probability_B, state

        steps, ids, _, _, log_probability_B, _ = tf.while_loop(
            unfinished,
            step,
            (
                0,
                tf.TensorArray(tf.int32, size=length, element_shape=[None]),
                max_length_B <= 0,
                tf.fill([batch], BOS),
                tf.zeros([batch]),
                state,
            ),
        )
        ids_BT = tf.transpose(ids.gather(tf.range(steps)))
        return Hypotheses(tf.reshape(ids_BT, [batch, steps]), log_probability_B)


def forbid(logits_BV: tf.Tensor) -> tf.Tensor:
    """Make impossible the tokens that no translation contains: PAD and BOS."""
    banned_V = tf.reduce_any(
        tf.range(tf.shape(logits_BV)[-1])[:, tf.newaxis] == tf.constant([PAD, BOS]), axis=1
    )
    return tf.where(banned_V, logits_BV.dtype.min, logits_BV)
