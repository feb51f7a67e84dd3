"""Re-ranking: orders hypotheses by how well they and their source predict each other."""

from collections.abc import Sequence
from dataclasses import replace

import tensorflow as tf

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.ranking import length_penalty
from seq2seq_cli.decoding.scoring import Scorer
from seq2seq_cli.decoding.translator import Translation, distinct


class Reranker:
    """Ranks hypotheses by the search's score and by a model of the reverse direction.

        score'(Y, X) = score(Y, X) + lambda * log P(X|Y) / lp(X)

    Without a length penalty (`length_penalty = 0`) and a coverage penalty it is
    log P(Y|X) + lambda log P(X|Y): Li et al. (2016), "A diversity-promoting objective function for
    neural conversation models", section 4.5 (MMI-bidi). As in Yee, Dauphin and Auli (2019), "Simple
    and effective noisy channel modeling for neural machine translation", section 3.2, each term is
    divided by its own length; there is no language model here. lp is that of `ranking`; the
    source's length is in tokens of the reverse model, EOS included.

    Args:
        scorer: has the reverse model.
        config: has lambda (`rerank_weight`), the length penalty, and the number of results.
    """

    def __init__(self, scorer: Scorer, config: DecodingConfig):
        self._scorer = scorer
        self._config = config

    def __call__(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[Sequence[Translation]],
        parts: int | None = None,
    ) -> list[list[Translation]]:
        """Return the `n_best` hypotheses of each source with their new scores, the best first.

        Of equal texts, only the best is returned. If scores are equal, the order of the search is
        kept.

        Args:
            sources: the sentences.
            hypotheses: of each sentence; there may be none.
            parts: see Scorer.score.
        """
        pairs = {
            (each.text, source): None
            for source, found in zip(sources, hypotheses, strict=True)
            for each in found
        }
        scored = self._scorer.score([*pairs], parts)
        reverse = {
            pair: (score.log_probability or 0.0, len(score.tokens))
            for pair, score in zip(pairs, scored, strict=True)
        }
        return [
            self._ranked(found, [reverse[each.text, source] for each in found])
            for source, found in zip(sources, hypotheses, strict=True)
        ]

    def _ranked(
        self, found: Sequence[Translation], reverse: Sequence[tuple[float, int]]
    ) -> list[Translation]:
        """Return the best hypotheses of a source, given log P(X|Y) and |X| for each."""
        lengths = tf.constant([length for _, length in reverse], tf.int32)
        penalties = length_penalty(lengths, self._config).numpy().tolist()
        weight = self._config.rerank_weight
        rescored = [
            replace(each, score=each.score + weight * log / penalty, reverse_log_probability=log)
            for each, (log, _), penalty in zip(found, reverse, penalties, strict=True)
        ]
        ranked = sorted(rescored, key=lambda each: -each.score)
        return distinct(ranked)[: self._config.n_best]
