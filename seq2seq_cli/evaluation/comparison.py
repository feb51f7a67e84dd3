"""The comparison of systems on the same sentences: scores, groups, sentences and n-grams."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seq2seq_cli.errors import DataError
from seq2seq_cli.evaluation.breakdown import Group, by_length, by_rarest_word, score_groups
from seq2seq_cli.evaluation.metrics import METRICS, sentence_chrf
from seq2seq_cli.evaluation.ngrams import NgramDifference, ngram_differences
from seq2seq_cli.evaluation.significance import MetricComparison, Resampling, compare_scores
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput

SENTENCES = 10
"""Sentences with the largest gain, and with the largest loss."""


@dataclass(frozen=True)
class GroupComparison:
    """Scores of a group of sentences, in the order of the systems."""

    name: str
    sentences: int
    bleu: list[float]
    chrf: list[float]


@dataclass(frozen=True)
class SentenceDifference:
    """A sentence whose translations by the baseline and by a system differ in chrF."""

    number: int
    source: str
    references: list[str]
    baseline: str
    system: str
    baseline_chrf: float
    system_chrf: float

    @property
    def gain(self) -> float:
        """The system's chrF minus the baseline's."""
        return self.system_chrf - self.baseline_chrf


@dataclass(frozen=True)
class Difference:
    """The differences between a system and the baseline.

    Attributes:
        system: the name of the system.
        gained, lost: the sentences with the largest gain and loss of chrF, the largest first.
        ngrams_gained, ngrams_lost: the n-grams that it matches more and less often.
        better, worse, equal: numbers of sentences with a higher, lower and equal chrF.
    """

    system: str
    gained: list[SentenceDifference]
    lost: list[SentenceDifference]
    ngrams_gained: list[NgramDifference]
    ngrams_lost: list[NgramDifference]
    better: int
    worse: int
    equal: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison of systems with the first of them, the baseline.

    Attributes:
        test_set: the name of the test set.
        sentences, references: the numbers of both.
        systems: the names, the baseline first.
        minutes: of each system's training; None if they are not known.
        commands: the commands that train the systems; None if unknown or too long.
        trained_on: device, precision and versions of each run; None if unknown.
        metrics: scores, intervals and p-values.
        by_length, by_rarest_word: scores of groups, as in `breakdown`.
        differences: of each system but the baseline.
    """

    test_set: str
    sentences: int
    references: int
    systems: list[str]
    minutes: list[float | None]
    commands: list[str | None]
    trained_on: list[str | None]
    metrics: list[MetricComparison]
    by_length: list[GroupComparison]
    by_rarest_word: list[GroupComparison]
    differences: list[Difference]


def compare(
    test_set: EvaluationSet,
    outputs: Sequence[SystemOutput],
    training_words: Counter[str] | None = None,
    resampling: Resampling | None = None,
    metrics: Sequence[str] = METRICS,
) -> Comparison:
    """Compare systems that have translated the same sentences.

    Args:
        test_set: the sentences and their references.
        outputs: at least two, the baseline first.
        training_words: the number of occurrences of each word in the training sources, if known.
        resampling: the settings of the significance tests; None for sacreBLEU's defaults.
        metrics: names in METRICS.
    """
    rarity = by_rarest_word(test_set.sources, training_words) if training_words is not None else []
    baseline, *others = outputs
    return Comparison(
        test_set=test_set.name,
        sentences=len(test_set.sources),
        references=sum(map(len, test_set.references)),
        systems=[output.name for output in outputs],
        minutes=[output.minutes for output in outputs],
        commands=[output.command for output in outputs],
        trained_on=[output.trained_on for output in outputs],
        metrics=compare_scores(test_set, outputs, resampling or Resampling(), metrics),
        by_length=_compare_groups(by_length(test_set.sources), test_set, outputs),
        by_rarest_word=_compare_groups(rarity, test_set, outputs),
        differences=[_difference(test_set, baseline, output) for output in others],
    )


def check_same(test_set: EvaluationSet, name: str, other: EvaluationSet, other_name: str) -> None:
    """Check that two systems have translated the same sentences.

    Raises:
        DataError: if not; it says what differs.
    """
    why = ""
    if len(test_set.sources) != len(other.sources):
        why = (
            f"{name} has {len(test_set.sources):,} sentences, and {other_name} "
            f"{len(other.sources):,}"
        )
    for kind in ("sources", "references"):
        left, right = getattr(test_set, kind), getattr(other, kind)
        pairs = enumerate(zip(left, right, strict=False))
        different = [i for i, (one, another) in pairs if one != another]
        if not why and different:
            first = different[0]
            why = (
                f"{len(different):,} {kind} differ, the first in sentence {first + 1}: "
                f"{left[first]!r} and {right[first]!r}"
            )
    if why:
        raise DataError(
            f"{name} and {other_name} cannot be compared, since they did not translate the same "
            f"test set: {why}. Translate one test set by both (s2s eval --save-translations)"
        )


def _compare_groups(
    groups: Sequence[Group], test_set: EvaluationSet, outputs: Sequence[SystemOutput]
) -> list[GroupComparison]:
    by_system = [score_groups(groups, each.translations, test_set.references) for each in outputs]
    return [
        GroupComparison(
            scores[0].name,
            scores[0].sentences,
            [score.bleu for score in scores],
            [score.chrf for score in scores],
        )
        for scores in zip(*by_system, strict=True)
    ]


def _difference(
    test_set: EvaluationSet, baseline: SystemOutput, output: SystemOutput
) -> Difference:
    before = np.array(sentence_chrf(baseline.translations, test_set.references))
    after = np.array(sentence_chrf(output.translations, test_set.references))
    gain = after - before

    def sentences(order: np.ndarray) -> list[SentenceDifference]:
        return [
            SentenceDifference(
                number=i + 1,
                source=test_set.sources[i],
                references=test_set.references[i],
                baseline=baseline.translations[i],
                system=output.translations[i],
                baseline_chrf=float(before[i]),
                system_chrf=float(after[i]),
            )
            for i in order[:SENTENCES].tolist()
        ]

    best, worst = (np.argsort(sign * gain, kind="stable") for sign in (-1, 1))
    better, worse = int((gain > 0).sum()), int((gain < 0).sum())
    ngrams_gained, ngrams_lost = ngram_differences(
        baseline.translations, output.translations, test_set.references
    )
    return Difference(
        system=output.name,
        gained=sentences(best[:better]),
        lost=sentences(worst[:worse]),
        ngrams_gained=ngrams_gained,
        ngrams_lost=ngrams_lost,
        better=better,
        worse=worse,
        equal=len(gain) - better - worse,
    )
