"""Scores given translations by their log-probability."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import RawIOBase
from typing import Any

import numpy as np
import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.lines import BadLineError
from seq2seq_cli.data.tokenizers.pair import Tokenizer, Tokenizers
from seq2seq_cli.decoding.constraints import exclude_special_tokens
from seq2seq_cli.decoding.encoding import (
    EncodedSentence,
    batches,
    cut_sides,
    encode_sentences,
    memory_errors,
    padded_batch,
)
from seq2seq_cli.decoding.lines import in_windows
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.special_tokens import BOS, PAD

Pair = tuple[str, str]


@dataclass(frozen=True)
class Score:
    """A model's score of one translation.

    Attributes:
        log_probability: in nats, EOS included; None if source and translation are blank.
        tokens: as written, EOS included.
        token_log_probabilities: of each token, given the source and the tokens before it.
        cut: the sides, "source" and "translation", that were longer than
            `decoding.max_source_tokens` and were cut.
    """

    log_probability: float | None
    tokens: list[str]
    token_log_probabilities: list[float]
    cut: tuple[str, ...] = ()


_BLANK = Score(None, [], [])


class Scorer:
    """Scores with a model at its current weights.

    Args:
        model: any Seq2Seq.
        tokenizers: of both languages.
        config: batch sizes and the maximum length.
        compiled: whether to use a graph; without one, the first scores come sooner, all others
            later.
        member_tokenizers: see Translator.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: Tokenizers,
        config: DecodingConfig,
        compiled: bool = True,
        member_tokenizers: Sequence[Tokenizer] = (),
    ):
        self._tokenizers = tokenizers
        self._source_tokenizers = member_tokenizers or [tokenizers.source]
        self._config = config

        def run(source_BS: tf.Tensor, target_BT: tf.Tensor) -> tf.Tensor:
            return forced_log_probabilities(model, source_BS, target_BT)

        def predict(source_BS: tf.Tensor, target_BT: tf.Tensor) -> tf.Tensor:
            return forced_predictions(model, source_BS, target_BT)

        signature = [tf.TensorSpec([None, None], tf.int32)] * 2
        self._run, self._predict = run, predict
        if compiled:
            self._run = tf.function(run, input_signature=signature, autograph=False)
            self._predict = tf.function(predict, input_signature=signature, autograph=False)

    def score(self, pairs: Sequence[Pair], parts: int | None = None) -> list[Score]:
        """Return a score for each (source, translation), in order.

        Args:
            pairs: sources and translations.
            parts: how many batches are computed in parallel; None for as many as suit the machine.
        """
        scores = [_BLANK] * len(pairs)
        for i, source, target, row in self._forced(pairs, self._run, parts):
            scores[i] = self._score(source, target, row)
        return scores

    def predictions(self, pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence and correctness of the predictions of given translations.

        Returns:
            confidence: float32 of shape [tokens], the probability of the most probable token.
            correct: bool of shape [tokens], whether that is the translation's.
        """
        rows = [row[:, : target.length] for _, _, target, row in self._forced(pairs, self._predict)]
        confidence, correct = np.concatenate([np.zeros([2, 0], np.float32), *rows], axis=1)
        return confidence, correct > 0

    def _forced(
        self,
        pairs: Sequence[Pair],
        run: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        parts: int | None = None,
    ) -> Iterator[tuple[int, EncodedSentence, EncodedSentence, np.ndarray]]:
        """Yield (index, source, target, row of the result of `run`) for pairs that are not blank.

        `run` takes source_BS and target_BT. The first axis of its result is the batch.
        """
        wanted = [i for i, sides in enumerate(pairs) if any(side.strip() for side in sides)]
        sources = self._encode(self._source_tokenizers, {i: pairs[i][0] for i in wanted})
        targets = self._encode([self._tokenizers.target], {i: pairs[i][1] for i in wanted})
        lengths = {i: max(sources[i].length, targets[i].length) for i in wanted}

        def compute(chosen: list[int]) -> np.ndarray:
            sides = [[side[i] for i in chosen] for side in (sources, targets)]
            with memory_errors(len(chosen), lengths[chosen[0]], self._config):
                return run(*(tf.constant(padded_batch(side)) for side in sides)).numpy()

        rows = list(batches(lengths, self._config, parts))
        for chosen, results in zip(rows, in_parallel(compute, rows, parts), strict=True):
            for i, row in zip(chosen, results, strict=True):
                yield i, sources[i], targets[i], row

    def _encode(
        self, tokenizers: Sequence[Tokenizer], texts: dict[int, str]
    ) -> dict[int, EncodedSentence]:
        encoded = encode_sentences(tokenizers, list(texts.values()), self._config)
        return dict(zip(texts, encoded, strict=True))

    def _score(
        self, source: EncodedSentence, target: EncodedSentence, log_probability_T: np.ndarray
    ) -> Score:
        by_token = log_probability_T[: target.length]
        pieces = self._tokenizers.target.pieces(target.ids[0].tolist())
        cut = cut_sides(source.cut, target.cut)
        return Score(float(by_token.sum()), pieces, by_token.tolist(), cut)


def forced_log_probabilities(model: Seq2Seq, source_BS: Any, target_BT: Any) -> tf.Tensor:
    """Return log_probability_BT of given targets, in nats; 0 on padding.

    Args:
        model: any Seq2Seq.
        source_BS: int32 ids, right-padded with PAD.
        target_BT: int32 ids, EOS included, right-padded with PAD.
    """
    losses_R = tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.reshape(target_BT, [-1]), _forced_logits(model, source_BS, target_BT)
    )
    return tf.where(target_BT != PAD, -tf.reshape(losses_R, tf.shape(target_BT)), 0.0)


def forced_predictions(model: Seq2Seq, source_BS: Any, target_BT: Any) -> tf.Tensor:
    """Return float32 of shape [B, 2, T]: confidence, and 1 if the prediction is right, else 0.

    The confidence is the probability of the most probable token. For the arguments see
    forced_log_probabilities; values at padding have no meaning.
    """
    logits_RV = _forced_logits(model, source_BS, target_BT)
    confidence_R = tf.reduce_max(tf.nn.softmax(logits_RV), axis=1)
    predicted_R = tf.argmax(logits_RV, axis=1, output_type=tf.int32)
    correct_R = tf.cast(predicted_R == tf.reshape(target_BT, [-1]), tf.float32)
    shape = tf.shape(target_BT)
    return tf.stack([tf.reshape(confidence_R, shape), tf.reshape(correct_R, shape)], axis=1)


def _forced_logits(model: Seq2Seq, source_BS: Any, target_BT: Any) -> tf.Tensor:
    """Return logits_RV of the next tokens, where R = B T and the model reads the given targets."""
    batch = tf.shape(target_BT)[0]
    begun_BT = tf.concat([tf.fill([batch, 1], BOS), target_BT[:, :-1]], axis=1)
    logits_BTV = model.decode(begun_BT, model.encode(source_BS))
    vocabulary = logits_BTV.shape[2]
    return exclude_special_tokens(tf.reshape(logits_BTV, [-1, vocabulary]), model.target_tags)


def score_lines(scorer: Scorer, stream: RawIOBase, name: str) -> Iterator[tuple[int, Pair, Score]]:
    """Score a stream of "source TAB translation" line by line; see `lines.in_windows`.

    An empty line is a pair of two blank texts.
    """
    return in_windows(stream, name, _pair, lambda pairs, first: scorer.score(pairs), "scored")


def _pair(line: str) -> Pair:
    if not line.strip():
        return "", ""
    columns = line.split("\t")
    if len(columns) < 2:
        raise BadLineError("1 column where 2 are expected (source TAB translation)")
    return columns[0], columns[1]
