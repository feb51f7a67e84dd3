"""The content of a report about a run, from the files of its folder except the weights."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from seq2seq_cli.attention.evolution import Evolution, evolutions, thinned
from seq2seq_cli.config.command import training_command
from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.evaluation.faults import Faults
from seq2seq_cli.evaluation.metrics import MetricScore
from seq2seq_cli.runs.checkpoints import Checkpoint, checkpoint_folders
from seq2seq_cli.runs.metrics_log import DIAGNOSIS, START, TRAINING, VALIDATION, of_kind
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.summary import RunSummary, changed_keys, summarise
from seq2seq_cli.work import Warn

POINTS = 1000
"""Points of a curve; those of longer runs are thinned out."""


@dataclass(frozen=True)
class AttentionMap:
    """The attention of a translated sentence.

    Attributes:
        source_tokens, target_tokens: as written, EOS included.
        weights: of shape [target tokens, source tokens].
    """

    source_tokens: list[str]
    target_tokens: list[str]
    weights: list[list[float]]


@dataclass(frozen=True)
class SplitScores:
    """The scores of a run's model on its test split.

    Attributes:
        test_set: the name of the split, with the languages unless they are the run's default.
        checkpoint: the name of the checkpoint.
        search: a description of the search.
        sentences: number of sentences.
        scores: by each metric, with intervals.
        faults: shares of translations with faults.
        maps: of a few sentences.
    """

    test_set: str
    checkpoint: str
    search: str
    sentences: int
    scores: list[MetricScore]
    faults: Faults
    maps: list[AttentionMap]


@dataclass(frozen=True)
class Sample:
    """A dev sentence with its translations in the order of the validations.

    Attributes:
        source, reference: the pair.
        translations: (update, text), except those that equal the one before.
    """

    source: str
    reference: str
    translations: list[tuple[int, str]]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The content of a report about a run.

    Attributes:
        summary: the summary of the run.
        config: all values by dotted key; empty if the config is damaged.
        changed: the values that differ from the defaults.
        start: the entry of metrics.jsonl about data, model and device; empty in earlier runs.
        training, validations: the entries of metrics.jsonl, at most POINTS of training.
        diagnoses: the problems that training found.
        samples: dev sentences with their translations over time.
        evolutions: the attention in dev sentences over time, if it was stored.
        versions: of the packages, at the last checkpoint.
        command: the command that repeats the training.
        test: the scores on the test split; None if they were not computed.
    """

    summary: RunSummary
    config: dict[str, Any]
    changed: dict[str, Any]
    start: dict[str, Any]
    training: list[dict[str, Any]]
    validations: list[dict[str, Any]]
    diagnoses: list[dict[str, Any]]
    samples: list[Sample]
    evolutions: list[Evolution]
    versions: dict[str, str]
    command: str
    test: SplitScores | None = None


def gather(run: Run, test: SplitScores | None = None, warn: Warn = lambda text: None) -> RunReport:
    """Return the content of a report about a run.

    Args:
        run: the run's folder.
        test: the scores of its model on the test split, if they were computed.
        warn: called if broken lines of metrics.jsonl, or damaged attention files, are left out.
    """
    summary = summarise(run)
    config = run.config() if summary.model else None
    entries = run.metrics(warn)
    validations = of_kind(entries, VALIDATION)
    return RunReport(
        summary=summary,
        config=config.flat() if config else {},
        changed=changed_keys(config) if config else {},
        start=(of_kind(entries, START) or [{}])[0],
        training=thinned(of_kind(entries, TRAINING), POINTS),
        validations=validations,
        diagnoses=of_kind(entries, DIAGNOSIS),
        samples=samples_of(validations),
        evolutions=evolutions(run.attention.read(warn)),
        versions=_versions(run),
        command=(config and training_command(config)) or _by_its_config(run),
        test=test,
    )


def samples_of(validations: Sequence[dict[str, Any]]) -> list[Sample]:
    """Return the dev sentences that all validations translated, with their translations."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for entry in validations:
        for source, reference, translation in entry.get("samples", []):
            translations = found.setdefault((source, reference), [])
            if not translations or translations[-1][1] != translation:
                translations.append((entry["step"], translation))
    return [Sample(*pair, translations) for pair, translations in found.items()]


def _by_its_config(run: Run) -> str:
    return f"s2s train --config {shlex.quote(str(run.path / 'config.toml'))}"


def _versions(run: Run) -> dict[str, str]:
    for path in checkpoint_folders(run.checkpoints):
        with suppress(CheckpointError):  # the summary says what is damaged
            return Checkpoint(path).state.versions
    return {}
