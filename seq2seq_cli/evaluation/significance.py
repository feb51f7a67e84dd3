"""Significance tests of the difference between the scores of two systems, by sacreBLEU.

Each system is compared with the first one, the baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest

from seq2seq_cli.evaluation.metrics import (
    METRICS,
    RESAMPLES,
    SEED,
    make_metric,
    reference_streams,
    sacrebleu_seed,
    tokenizer_of,
)
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput

TRIALS = 10_000
LEVEL = 0.05
"""A p-value below this is marked as significant."""


@dataclass(frozen=True)
class Resampling:
    """The settings of the significance tests.

    Attributes:
        resamples: number of samples of the paired bootstrap (Koehn 2004).
        trials: number of trials of the paired approximate randomisation (Riezler and Maxwell 2005).
        seed: determines both.
    """

    resamples: int = RESAMPLES
    trials: int = TRIALS
    seed: int = SEED


@dataclass(frozen=True)
class SystemScore:
    """A system's score by a metric, and its difference from the baseline.

    Attributes:
        score: from 0 to 100; TER may exceed 100.
        difference: the score minus the baseline's.
        mean: of the bootstrap resamples.
        half_width: half the width of their central 95 %.
        bootstrap_p: by the paired bootstrap; None for the baseline.
        randomisation_p: by the paired approximate randomisation; None for the baseline.
    """

    score: float
    difference: float
    mean: float
    half_width: float
    bootstrap_p: float | None
    randomisation_p: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the scores differ, and both p-values are below LEVEL.

        If a system equals the baseline, sacreBLEU returns the lowest p-value.
        """
        p_values = (self.bootstrap_p, self.randomisation_p)
        return self.difference != 0 and all(p is not None and p < LEVEL for p in p_values)


@dataclass(frozen=True)
class MetricComparison:
    """The scores of all systems by a metric.

    Attributes:
        metric: a name of METRICS.
        bootstrap_signature, randomisation_signature: sacreBLEU's.
        systems: in the order of the systems.
    """

    metric: str
    bootstrap_signature: str
    randomisation_signature: str
    systems: list[SystemScore]


def compare_scores(
    test_set: EvaluationSet,
    outputs: Sequence[SystemOutput],
    resampling: Resampling,
    metrics: Sequence[str] = METRICS,
) -> list[MetricComparison]:
    """Score all systems by each metric, and test their differences from the first."""
    # sacreBLEU tells systems by their names; these may be equal.
    systems = [(str(k), output.translations) for k, output in enumerate(outputs)]
    streams = reference_streams(test_set.references)
    tokenizer = tokenizer_of(test_set.references)
    found = []
    for name in metrics:
        results = {}
        for kind, samples in (("bs", resampling.resamples), ("ar", resampling.trials)):
            with sacrebleu_seed(resampling.seed):
                metric = make_metric(name, tokenizer)
                test = PairedTest(systems, {name: metric}, streams, kind, samples)
            signatures, scores = test()
            ((key, signature),) = signatures.items()
            results[kind] = str(signature), scores[key]
        (bootstrap, resampled), (randomisation, shuffled) = results["bs"], results["ar"]
        baseline = float(resampled[0].score)
        rows = [
            SystemScore(
                score=float(b.score),
                difference=float(b.score) - baseline,
                mean=float(b.mean),
                half_width=float(b.ci),
                bootstrap_p=b.p_value,
                randomisation_p=r.p_value,
            )
            for b, r in zip(resampled, shuffled, strict=True)
        ]
        found.append(MetricComparison(name, bootstrap, randomisation, rows))
    return found
