"""The analysis of a system's translations: scores, groups, faults and the worst sentences."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seq2seq_cli.evaluation.breakdown import (
    GroupScore,
    by_length,
    by_rarest_word,
    score_groups,
)
from seq2seq_cli.evaluation.calibration import Calibration
from seq2seq_cli.evaluation.faults import Faults, find_faults
from seq2seq_cli.evaluation.metrics import METRICS, Bootstrap, MetricScore, score_by, sentence_chrf
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput

WORST = 20


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence with its translation and the translation's chrF."""

    number: int
    chrf: float
    source: str
    translation: str
    references: list[str]


@dataclass(frozen=True)
class Details:
    """The details behind the scores.

    Attributes:
        by_length: scores by the number of words of the source.
        by_rarest_word: scores by the number of occurrences of the source's rarest word in the
            training sources; empty if these are not known.
        worst: the WORST sentences with the lowest chrF, the lowest first.
        calibration: of the model's tokens; None for translations without their model.
    """

    by_length: list[GroupScore]
    by_rarest_word: list[GroupScore]
    worst: list[ScoredSentence]
    calibration: Calibration | None = None


@dataclass(frozen=True)
class ScoredOutput:
    """A system's translations of a test set with their scores.

    Attributes:
        output: the translations.
        scores: by each of METRICS.
        faults: shares of translations with faults.
        details: the details behind the scores; None if they were not requested.
    """

    output: SystemOutput
    scores: list[MetricScore]
    faults: Faults
    details: Details | None = None


def score_output(
    test_set: EvaluationSet,
    output: SystemOutput,
    bootstrap: Bootstrap | None = None,
    details: Details | None = None,
) -> ScoredOutput:
    """Score a system's translations of a test set. For `bootstrap` see score_by."""
    scores = score_by(METRICS, output.translations, test_set.references, bootstrap)
    faults = find_faults(test_set.sources, output.translations, test_set.references, output.cut)
    return ScoredOutput(output, scores, faults, details)


def find_details(
    test_set: EvaluationSet,
    output: SystemOutput,
    training_words: Counter[str] | None = None,
    calibration: Calibration | None = None,
) -> Details:
    """Return the details behind the scores.

    Args:
        test_set: the sentences and their references.
        output: the translations.
        training_words: the number of occurrences of each word in the training sources, if known.
        calibration: of the model's tokens, if known.
    """
    translations, references = output.translations, test_set.references
    rarity = by_rarest_word(test_set.sources, training_words) if training_words is not None else []
    return Details(
        score_groups(by_length(test_set.sources), translations, references),
        score_groups(rarity, translations, references),
        worst_sentences(test_set, translations),
        calibration,
    )


def worst_sentences(test_set: EvaluationSet, translations: Sequence[str]) -> list[ScoredSentence]:
    """Return the WORST sentences by chrF, the lowest first; of equals the earlier one first."""
    chrf = sentence_chrf(translations, test_set.references)
    order = np.argsort(chrf, kind="stable")[:WORST].tolist()
    return [
        ScoredSentence(i + 1, chrf[i], test_set.sources[i], translations[i], test_set.references[i])
        for i in order
    ]
