"""BLEU, chrF, chrF++ and TER by sacreBLEU, with all references, signatures and intervals."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import _bootstrap_resample

from seq2seq_cli.bleu_tokenizers import bleu_tokenizer
from seq2seq_cli.errors import UsageError

METRICS = ("BLEU", "chrF", "chrF++", "TER")
"""The names of the metrics."""

KEYS = {"BLEU": "bleu", "chrF": "chrf", "chrF++": "chrf_plus_plus", "TER": "ter"}
"""The keys of the metrics in JSON, by name."""

RESAMPLES = 1000
SEED = 12345
"""sacreBLEU's defaults for tests of significance."""

_SEED_VARIABLE = "SACREBLEU_SEED"


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF by sacreBLEU, with their signatures."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    sentences: int
    references: int


@dataclass(frozen=True)
class Bootstrap:
    """The settings of bootstrap resampling, which estimates intervals (Koehn 2004).

    Attributes:
        resamples: number of samples of the sentences, drawn with replacement.
        seed: determines the samples.
    """

    resamples: int = RESAMPLES
    seed: int = SEED


@dataclass(frozen=True)
class MetricScore:
    """A score by one metric.

    Attributes:
        metric: a name of METRICS.
        score: from 0 to 100; TER may exceed 100.
        signature: sacreBLEU's.
        mean: of the scores of the bootstrap resamples; None if there are none.
        half_width: half the width of their central 95 %; None if there are none.
    """

    metric: str
    score: float
    signature: str
    mean: float | None = None
    half_width: float | None = None


def tokenizer_of(references: Sequence[Sequence[str]]) -> str:
    """Return the tokenizer of a test set, for all of its scores; see `bleu_tokenizer`."""
    return bleu_tokenizer(text for each in references for text in each)


def make_metric(name: str, tokenizer: str) -> Any:
    """Return a metric of sacreBLEU with its defaults, apart from the tokenizer.

    TER of Chinese counts characters, as BLEU does.

    Args:
        name: one of METRICS.
        tokenizer: of the test set, from `tokenizer_of`.
    """
    match name:
        case "BLEU":
            return BLEU(tokenize=tokenizer)
        case "chrF":
            return CHRF()
        case "chrF++":
            return CHRF(word_order=2)
        case _:
            is_chinese = tokenizer == "zh"
            return TER(normalized=is_chinese, asian_support=is_chinese)


def reference_streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Return the references as sacreBLEU takes them: the first of each sentence, the second, ….

    A stream has None for a sentence with fewer references.
    """
    most = max(map(len, references))
    return [[r[k] if k < len(r) else None for r in references] for k in range(most)]


def check_numbers(translations: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Check that there is a translation for each sentence with references, and at least one.

    Raises:
        UsageError: if not.
    """
    if not translations or len(translations) != len(references):
        raise UsageError(
            f"{len(translations)} translations cannot be scored against the references of "
            f"{len(references)} sentences"
        )


def score(
    translations: Sequence[str], references: Sequence[Sequence[str]], tokenizer: str | None = None
) -> Scores:
    """Score translations by BLEU and chrF, each against one or more references.

    Args:
        translations: a text for each sentence.
        references: one or more texts for each sentence.
        tokenizer: of the test set, if these are only some of its sentences.

    Raises:
        UsageError: if there is no translation, or the numbers differ.
    """
    bleu, chrf = score_by(("BLEU", "chrF"), translations, references, tokenizer=tokenizer)
    return Scores(
        bleu=bleu.score,
        bleu_signature=bleu.signature,
        chrf=chrf.score,
        chrf_signature=chrf.signature,
        sentences=len(translations),
        references=sum(len(r) for r in references),
    )


def score_by(
    metrics: Sequence[str],
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    bootstrap: Bootstrap | None = None,
    tokenizer: str | None = None,
) -> list[MetricScore]:
    """Score translations by each of the metrics.

    Args:
        metrics: names in METRICS.
        translations: a text for each sentence.
        references: one or more texts for each sentence.
        bootstrap: the settings of intervals; None for no intervals.
        tokenizer: as for `score`.

    Raises:
        UsageError: if there is no translation, or the numbers differ.
    """
    check_numbers(translations, references)
    streams = reference_streams(references)
    tokenizer = tokenizer or tokenizer_of(references)
    found = []
    for name in metrics:
        metric = make_metric(name, tokenizer)
        statistics = metric._extract_corpus_statistics(list(translations), streams)
        result = metric._aggregate_and_compute(statistics)
        interval = _interval(metric, statistics, result, bootstrap) if bootstrap else ()
        found.append(MetricScore(name, float(result.score), str(metric.get_signature()), *interval))
    return found


def _interval(
    metric: Any, statistics: Any, result: Any, bootstrap: Bootstrap
) -> tuple[float, float]:
    """Return the mean of resamples and half the width of their central 95 %.

    This is what `Metric.corpus_score` of sacreBLEU does, apart from scores of several types: it
    fails there if some resamples have a BLEU of zero.
    """
    metric.n_bootstrap = bootstrap.resamples
    with sacrebleu_seed(bootstrap.seed):
        metric.seed, resampled = _bootstrap_resample(statistics, metric, bootstrap.resamples)
    if len({type(each.score) for each in resampled}) > 1:
        for each in resampled:
            each.score = float(each.score)
    result.estimate_ci(resampled)
    return float(result._mean), float(result._ci)


def sentence_chrf(translations: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """Return the chrF of each sentence."""
    metric = CHRF()
    return [
        metric.sentence_score(found, list(wanted)).score
        for found, wanted in zip(translations, references, strict=True)
    ]


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """Set the seed of sacreBLEU's tests, which sacreBLEU reads from the environment."""
    before = os.environ.get(_SEED_VARIABLE)
    os.environ[_SEED_VARIABLE] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SEED_VARIABLE]
        else:
            os.environ[_SEED_VARIABLE] = before
