"""The functions of a SavedModel: graphs from strings to translations and scores."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.types.experimental import ConcreteFunction

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.decoding.encoding import length_limits
from seq2seq_cli.decoding.scoring import forced_log_probabilities
from seq2seq_cli.decoding.search import Search
from seq2seq_cli.export.graph_texts import canonical_texts, encoded, on_one_line
from seq2seq_cli.models.seq2seq import Seq2Seq

Outputs = dict[str, tf.Tensor]

_TEXT = tf.TensorSpec([None], tf.string, "text")


class TextFunctions:
    """The functions of a SavedModel, for batches of every size.

    Args:
        model: any Seq2Seq.
        tokenizers: the tokenizers of both languages.
        config: the limits on lengths, and the penalties of greedy decoding.
    """

    def __init__(self, model: Seq2Seq, tokenizers: Tokenizers, config: DecodingConfig):
        self._model = model
        self._tokenizers = tokenizers
        self._config = config
        lengths = np.arange(config.max_source_tokens + 1)
        self._maximum_S, self._minimum_S = length_limits(lengths, config)

    def functions(self) -> dict[str, ConcreteFunction]:
        """Return the functions by name."""
        number = tf.TensorSpec([], tf.int32)
        penalty = tf.TensorSpec([], tf.float32)
        return {
            "translate": _traced(self.translate, _TEXT),
            "translate_beam": _traced(self.translate_beam, _TEXT, number, number, penalty),
            "score": _traced(self.score, _TEXT, tf.TensorSpec([None], tf.string)),
        }

    def translate(self, text: tf.Tensor) -> Outputs:
        """Translate greedily.

        Args:
            text: strings, of shape [B].

        Returns:
            translation: strings, of shape [B]; empty for a blank text.
            log_probability: float32, of shape [B], in nats; 0 for a blank text.
        """
        search = Search(self._model, self._config, compiled=False)
        found = self._found(search, text)
        names = {"translation": "translations", "log_probability": "log_probabilities"}
        return {name: found[several][:, 0] for name, several in names.items()}

    def translate_beam(
        self, text: tf.Tensor, beam: tf.Tensor, n_best: tf.Tensor, length_penalty: tf.Tensor
    ) -> Outputs:
        """Translate by beam search.

        Args:
            text: strings, of shape [B].
            beam: int32, how many hypotheses the search keeps.
            n_best: int32, how many translations to return for each text; at most `beam`.
            length_penalty: float32, alpha of `decoding.ranking`.

        Returns:
            translations: strings, of shape [B, n_best], the best first. Missing translations are
                empty. A blank text has one translation, which is empty.
            scores: float32, of the same shape, by which they are ranked. A missing translation
                has minus infinity.
            log_probabilities: float32, of the same shape, those of the model, in nats. A missing
                translation has minus infinity.
        """
        most = self._tokenizers.target.vocabulary_size
        checks = [
            _check((beam >= 1) & (beam <= most), f"beam must be from 1 to {most}"),
            _check((n_best >= 1) & (n_best <= beam), "n_best must be from 1 to beam"),
            _check(length_penalty >= 0, "length_penalty must be at least 0"),
        ]
        with tf.control_dependencies(checks):
            beam = tf.identity(beam)
        asked = {"beam": beam, "n_best": n_best, "length_penalty": length_penalty}
        config = self._config.model_copy(update=asked)  # without validation
        return self._found(Search(self._model, config, compiled=False), text)

    def score(self, text: tf.Tensor, translation: tf.Tensor) -> Outputs:
        """Score given translations.

        Args:
            text: strings, of shape [B].
            translation: strings, of shape [B].

        Returns:
            log_probability: float32, of shape [B], in nats, EOS included.
        """
        most = self._config.max_source_tokens
        is_paired = tf.size(text) == tf.size(translation)
        check = _check(is_paired, "translation must have one string per text")
        with tf.control_dependencies([check]):
            source_BS, _ = encoded(self._tokenizers.source, canonical_texts(text), most)
        target_BT, _ = encoded(self._tokenizers.target, canonical_texts(translation), most)
        by_token_BT = forced_log_probabilities(self._model, source_BS, target_BT)
        return {"log_probability": tf.reduce_sum(by_token_BT, axis=1)}

    def _found(self, search: Search, text: tf.Tensor) -> Outputs:
        texts_B = canonical_texts(text)
        source_BS, lengths_B = encoded(
            self._tokenizers.source, texts_B, self._config.max_source_tokens
        )
        is_blank_B = texts_B == ""
        maximum_B = tf.where(is_blank_B, 0, tf.gather(self._maximum_S, lengths_B))
        found = search(source_BS, maximum_B, tf.gather(self._minimum_S, lengths_B))
        batch, number, length = tf.unstack(tf.shape(found.ids_BNT))
        texts = self._tokenizers.target.detokenize_in_graph(
            tf.reshape(found.ids_BNT, [batch * number, length])
        )
        is_empty_BN = is_blank_B[:, tf.newaxis] & (tf.range(number) == 0)
        return {
            "translations": tf.reshape(on_one_line(texts), [batch, number]),
            "scores": tf.where(is_empty_BN, 0.0, found.score_BN),
            "log_probabilities": tf.where(is_empty_BN, 0.0, found.log_probability_BN),
        }


def _traced(function: Callable, *specs: tf.TensorSpec) -> ConcreteFunction:
    return tf.function(function, input_signature=specs, autograph=False).get_concrete_function()


def _check(condition: tf.Tensor, message: str) -> tf.Operation:
    return tf.debugging.Assert(condition, [message])
