"""Greedy decoding of one sentence as one plain graph. It reads and returns SentencePiece ids."""

import numpy as np
import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.sentencepiece import SentencePiece
from seq2seq_cli.decoding.constraints import exclude_special_tokens
from seq2seq_cli.decoding.encoding import length_limits
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.special_tokens import BOS, EOS, PAD


class GreedyDecoder:
    """Does the same as `decoding.search` for one sentence and one hypothesis.

    Its graph contains only operations that other runtimes support, too.

    Args:
        model: any Seq2Seq.
        source: the tokenizer of the source language.
        target: the tokenizer of the target language.
        config: the limits on lengths.
    """

    def __init__(
        self,
        model: Seq2Seq,
        source: SentencePiece,
        target: SentencePiece,
        config: DecodingConfig,
    ):
        self._model = model
        self._source = source
        self._target = target
        self._most = config.max_source_tokens
        self._maximum_S, _ = length_limits(np.arange(self._most + 1), config)

    def __call__(self, pieces: tf.Tensor) -> dict[str, tf.Tensor]:
        """Translate a sentence.

        Args:
            pieces: int32, of shape [S]: the ids of its pieces in the source model, and one more
                id, which stands for the end of the sentence.

        Returns:
            translation: int32, of shape [T]: the ids of its pieces in the target model.
        """
        leading = tf.constant(self._source.leading, tf.int32)
        ids_S = tf.concat([leading, self._source.from_model(pieces[:-1])], axis=0)
        ids_S = tf.concat([ids_S[: self._most - 1], [EOS]], axis=0)
        ids_T = self._decode(ids_S[tf.newaxis], tf.gather(self._maximum_S, tf.size(ids_S)))
        return {"translation": self._target.to_model(ids_T)}

    def _decode(self, source_1S: tf.Tensor, maximum: tf.Tensor) -> tf.Tensor:
        """Return the ids of a translation, without EOS."""
        memory = self._model.encode(source_1S)
        state = self._model.initial_state(memory, maximum)
        step = self._model.make_step()

        def goes_on(t: tf.Tensor, token_1: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
            return (t < maximum) & (token_1[0] != EOS)

        def advance(
            t: tf.Tensor, token_1: tf.Tensor, ids_T: tf.Tensor, *values: tf.Tensor
        ) -> tuple:
            logits_1V, _, after = step(token_1, dict(zip(state, values, strict=True)), memory)
            logits_1V = exclude_special_tokens(logits_1V, self._model.target_tags)
            token_1 = tf.argmax(logits_1V, axis=1, output_type=tf.int32)
            ids_T = tf.where(tf.range(maximum) == t, token_1, ids_T)
            token_1.set_shape([1])
            for name, tensor in state.items():
                after[name].set_shape(tensor.shape)
            return t + 1, token_1, ids_T, *(after[name] for name in state)

        start = (tf.constant(0), tf.constant([BOS]), tf.fill([maximum], PAD), *state.values())
        t, token_1, ids_T, *_ = tf.while_loop(goes_on, advance, start)
        return ids_T[: t - tf.cast(token_1[0] == EOS, tf.int32)]
