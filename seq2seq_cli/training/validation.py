"""Scores on the dev split during training."""

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seq2seq_cli.config import Config
from seq2seq_cli.data.pairs import in_memory, spread
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.splits import Pair, group_references
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.decoding.encoding import padded, token_ids
from seq2seq_cli.decoding.loading import load_reverse
from seq2seq_cli.decoding.translator import Translator
from seq2seq_cli.errors import DataError
from seq2seq_cli.evaluation.faults import is_copy
from seq2seq_cli.evaluation.metrics import Scores, score
from seq2seq_cli.models.seq2seq import Seq2Seq
from seq2seq_cli.runs.attention_history import SentenceAttention
from seq2seq_cli.runtime.parallel import in_parallel
from seq2seq_cli.training.attention_figures import AttentionFigures, attention_figures
from seq2seq_cli.training.kept_attention import KeptAttention
from seq2seq_cli.training.loss import cross_entropy
from seq2seq_cli.training.team import ALONE, Team
from seq2seq_cli.work import ShowWork, Warn, show_nothing

VALIDATING = "Validating"

_ENOUGH = 10  # minimum number of sentences for comparing translations with each other
_UNKNOWN = {"<unk>", "[UNK]", "⁇"}  # the tokenizers' text of an unknown token


class Faults(NamedTuple):
    """Shares of faulty translations. The attributes are those of Validation."""

    same_share: float = 0.0
    unknown_share: float = 0.0
    copied_share: float = 0.0


class Translated(NamedTuple):
    """The figures of the translations of the dev split.

    Attributes:
        scores: BLEU and chrF.
        samples: (source, reference, translation) of a few sentences.
        faults: shares of faulty translations.
    """

    scores: Scores
    samples: list[tuple[str, str, str]]
    faults: Faults


class Validator:
    """Scores the model, with its current weights, on the dev split.

    The workers of a run translate a share of the sentences each, and compute the loss of a
    share of the batches.

    Args:
        config: of the training.
        model: the model.
        tokenizers: of both languages.
        dev: (source, target) of the dev split.
        warn: called for each damaged checkpoint of the run of `decoding.rerank`.
        team: the workers, if this process is their chief.

    Attributes:
        shares: the functions that compute the share of a worker, by their names.

    Raises:
        CheckpointError: if that run cannot be loaded.
        UsageError: if it is not of the opposite direction.
    """

    SAMPLES = 3
    ATTENTION_SAMPLES = 16

    def __init__(
        self,
        config: Config,
        model: Seq2Seq,
        tokenizers: Tokenizers,
        dev: list[Pair],
        warn: Warn,
        team: Team = ALONE,
    ):
        self.shares = {"losses": self._losses, "translations": self._translations}
        self._team = team
        tokenizers = tokenizers.towards(config.data.target_language)
        self._model, self._tokenizers = model, tokenizers
        rerank = None
        if config.decoding.rerank:
            languages = config.data.languages_to(None)
            reverse = load_reverse(config.decoding.rerank, languages, warn)
            rerank = reverse.reranker(config.decoding)
        self._translator = Translator(model, tokenizers, config.decoding, rerank=rerank)
        try:
            self._data = TrainingData(in_memory(dev), tokenizers, config.training)
        except DataError as error:
            raise DataError(f"the dev split: {error}") from error
        self._sources, self._references = group_references(dev)
        # The samples are always the same sentences, neither very short nor very long.
        medium = [i for i, s in enumerate(self._sources) if 5 <= len(s.split()) <= 12]
        self._for_attention = self._attention_samples()
        indices = medium or list(range(len(self._sources)))
        self._samples = indices[:: max(1, len(indices) // self.SAMPLES)][: self.SAMPLES]
        self._kept = KeptAttention(
            tokenizers,
            [(self._sources[i], self._references[i][0]) for i in indices],
            config.training,
        )

        ids = tf.TensorSpec([None, None], tf.int32)

        @tf.function(input_signature=[ids, ids], autograph=False)
        def batch_loss(source_BS: tf.Tensor, target_BT: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return cross_entropy(model((source_BS, target_BT[:, :-1])), target_BT[:, 1:])

        self._batch_loss = batch_loss

    def loss(self, show: ShowWork = show_nothing, averaged: bool = True) -> float:
        """Return the mean cross-entropy, in nats per token, without label smoothing.

        Args:
            show: shows how many batches are done.
            averaged: whether the model has the averages of the weights now, if there are any.
        """
        sums = self._team.compute(
            "losses", averaged, lambda worker, workers: self._losses(worker, workers, show)
        )
        total, tokens = np.sum(np.array(sums, np.float32), axis=0)
        return float(total / tokens)

    def _losses(
        self, worker: int, workers: int, show: ShowWork = show_nothing
    ) -> list[tuple[float, float]]:
        """Return (loss, tokens) of each batch of a worker's share."""
        batches = [*itertools.islice(self._data.batches(epoch=0), worker, None, workers)]
        show(VALIDATING, "batches of the dev loss", 0, len(batches))
        sums = in_parallel(lambda b: self._batch_loss(b.source_BS, b.target_BT), batches)
        return [(float(loss), float(tokens)) for loss, tokens in sums]

    def translate(self, show: ShowWork = show_nothing) -> Translated:
        """Translate the split by the search of `[decoding]`, and score the result.

        The model has the averages of the weights now, if there are any.
        """
        translations = self._team.compute(
            "translations", True, lambda worker, workers: self._translations(worker, workers, show)
        )
        samples = [
            (self._sources[i], self._references[i][0], translations[i]) for i in self._samples
        ]
        scores = score(translations, self._references)
        return Translated(scores, samples, self._faults(translations))

    def _translations(self, worker: int, workers: int, show: ShowWork = show_nothing) -> list[str]:
        """Return the translations of a worker's share of the sentences."""
        sources = self._sources[worker::workers]

        def translated(done: int) -> None:
            show(VALIDATING, "sentences", done, len(sources))

        translated(0)
        found = self._translator.translate(sources, worker, translated, every=workers)
        return [each.text for each in found]

    def attention(self) -> AttentionFigures | None:
        """Return the spread of attention in a few sentences, and whether it moves.

        It is None if all pairs are very short or long, or if the model has no attention.
        """
        chosen = self._for_attention
        if not chosen or not self._model.has_attention:
            return None
        source, target = self._tokenizers.source, self._tokenizers.target
        return attention_figures(
            self._model,
            padded(token_ids(source, [self._sources[i] for i in chosen])),
            padded(token_ids(target, [self._references[i][0] for i in chosen])),
        )

    def attention_maps(self) -> list[SentenceAttention]:
        """Return the maps of the sentences whose attention is kept; always the same sentences.

        A model without attention has none.
        """
        return self._kept.read(self._model) if self._model.has_attention else []

    def _attention_samples(self) -> list[int]:
        """Return the indices of a few pairs whose sides have 3 to 12 words."""
        pairs = zip(self._sources, self._references, strict=True)
        counts = [(len(source.split()), len(wanted[0].split())) for source, wanted in pairs]
        chosen = [i for i, sides in enumerate(counts) if min(sides) >= 3 and max(sides) <= 12]
        return spread(chosen, self.ATTENTION_SAMPLES)

    def _faults(self, translations: list[str]) -> Faults:
        """Return the shares of faulty translations."""
        number = len(translations)
        ((_, same),) = Counter(translations).most_common(1)
        rows = zip(self._sources, translations, self._references, strict=True)
        words = [text.split() for text in translations]
        return Faults(
            same_share=same / number if number >= _ENOUGH else 0.0,
            unknown_share=sum(bool(w) and set(w) <= _UNKNOWN for w in words) / number,
            copied_share=sum(is_copy(*row) for row in rows) / number,
        )
