"""Scores of a model in training, on the dev split."""

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.data.pairs import in_memory
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.splits import Pair, group_references
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.evaluation.test_split import Scores, evaluate_translator
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.training.loss import cross_entropy


class Validator:
    """Scores the model, with its present weights, on the dev split.

    Args:
        config: of the training.
        model: the model.
        tokenizers: of both languages.
        dev: (source, target) of the dev split.
    """

    SAMPLES = 3

    def __init__(self, config: Config, model: Seq2Seq, tokenizers: Tokenizers, dev: list[Pair]):
        self._translator = Translator(model, tokenizers, config.decoding)
        self._data = TrainingData(in_memory(dev), tokenizers, config.training)
        self._sources, self._references = group_references(dev)
        # The samples are always the same sentences, neither very short nor very long.
        medium = [i for i, s in enumerate(self._sources) if 5 <= len(s.split()) <= 12]
        indices = medium or list(range(len(self._sources)))
        self._samples = indices[:: max(1, len(indices) // self.SAMPLES)][: self.SAMPLES]

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2)
        def batch_loss(source_BS: tf.Tensor, target_BT: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return cross_entropy(model((source_BS, target_BT[:, :-1])), target_BT[:, 1:])

        self._batch_loss = batch_loss

    def loss(self) -> float:
        """Return the mean cross-entropy, in nats per token, without label smoothing."""
        batches = self._data.batches(epoch=0)
        sums = in_parallel(lambda b: self._batch_loss(b.source_BS, b.target_BT), batches)
        total, tokens = np.sum(list(sums), axis=0)
        return float(total / tokens)

    def translate(self) -> tuple[Scores, list[tuple[str, str, str]]]:
        """Return the scores of a search by `[decoding]`, and a few (source, reference, found)."""
        scores, translations = evaluate_translator(
            self._translator, self._sources, self._references
        )
        samples = [
            (self._sources[i], self._references[i][0], translations[i]) for i in self._samples
        ]
        return scores, samples
