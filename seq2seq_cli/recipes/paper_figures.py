"""`s2s recipe figures`: figures and tables of the papers, made again with models trained here."""

import dataclasses
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq_cli.attention.figure import figure as map_figure
from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.config import Config
from seq2seq_cli.data.pairs import spread
from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.evaluation.breakdown import GroupScore, by_length, score_groups
from seq2seq_cli.evaluation.test_sets import read_split
from seq2seq_cli.evaluation.test_split import evaluate
from seq2seq_cli.recipes import paper_plots
from seq2seq_cli.recipes.ablation import Row, ablate
from seq2seq_cli.recipes.paper_models import FIGURES, configs_of, run_name
from seq2seq_cli.recipes.paper_results import (
    AlignmentResult,
    AnyResult,
    Estimate,
    LengthResult,
    ModelResult,
    table,
)
from seq2seq_cli.runs.disk import disk_errors, write_durably
from seq2seq_cli.runs.metrics_log import VALIDATION, of_kind
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Notice, OnEvent, showing_phases
from seq2seq_cli.work import ShowWork, Warn

REPORT = "figures.md"
SENTENCES = 4
"""Sentences whose attention is drawn."""

_SHORTEST, _LONGEST = 8, 16  # words of these sentences


@dataclass(frozen=True)
class MadeFigure:
    """A figure that was made.

    Attributes:
        name: its key in FIGURES.
        title: what it shows.
        results: the numbers or texts that it shows.
    """

    name: str
    title: str
    results: list[AnyResult]


@dataclass(frozen=True)
class _Trained:
    """The trained models.

    Attributes:
        rows: the results of each model, one for each seed.
        configs: the configs by the name of the run.
    """

    folder: Path
    rows: dict[str, list[Row]]
    configs: dict[str, Config]
    warn: Warn
    show: ShowWork

    def load(self, run: str) -> LoadedRun:
        return load_run(Run(self.folder / run), self.warn)


def make_figures(
    names: Sequence[str],
    base: Config,
    seeds: int,
    folder: Path,
    on_event: OnEvent,
    device: str = "",
) -> list[MadeFigure]:
    """Train the models of the figures that are not trained yet; write and return the figures.

    Called again with the same folder, it continues after an interruption. A model that several
    figures need is trained once.

    Args:
        names: of the figures.
        base: the config that all models have in common.
        seeds: number of runs of each model, with consecutive seeds.
        folder: receives the runs, `results.json` and `results.md` of all runs, an SVG and the
            numbers of each figure as JSON, and `figures.md` with the tables.
        on_event: receives the events of each run.
        device: a description of it, for the summaries.

    Raises:
        UsageError: if the base config contradicts a model, or the folder has other runs.
    """
    configs = configs_of(names, base, seeds)
    found = {row.name: row for row in ablate(configs, folder, on_event, device=device)}
    models = dict.fromkeys(model for name in names for model in FIGURES[name].models)
    rows = {model: [found[run_name(model, seed)] for seed in range(seeds)] for model in models}
    trained = _Trained(
        folder, rows, configs, lambda text: on_event(Notice(text)), showing_phases(on_event)
    )
    made = []
    with disk_errors(folder):
        for name in names:
            made.append(MadeFigure(name, FIGURES[name].title, _MAKERS[name](name, trained)))
            records = [dataclasses.asdict(result) for result in made[-1].results]
            write_durably(folder / f"{name}.json", json.dumps(records, indent=1).encode())
        write_durably(folder / REPORT, to_markdown(made).encode())
    return made


def to_markdown(made: Sequence[MadeFigure]) -> str:
    """Return the tables of all figures."""
    return "\n".join(f"## {each.title}\n\n{table(each.results)}" for each in made)


def _lengths(name: str, trained: _Trained) -> list[AnyResult]:
    """Draw BLEU by the length of the source."""
    results: list[LengthResult] = []
    for model in FIGURES[name].models:
        groups = [_scored_by_length(row.name, trained) for row in trained.rows[model]]
        for same in zip(*groups, strict=True):
            bleu = Estimate.of([each.bleu for each in same])
            results.append(LengthResult(model, same[0].name, same[0].sentences, bleu))
    write_durably(trained.folder / f"{name}.svg", paper_plots.draw_lengths(results))
    return [*results]


def _scored_by_length(run: str, trained: _Trained) -> list[GroupScore]:
    found = evaluate(trained.load(run), trained.configs[run].data, "test", show=trained.show)
    return score_groups(by_length(found.sources), found.translations, found.references)


def _alignments(name: str, trained: _Trained) -> list[AnyResult]:
    """Draw the attention of the model of the first seed in a few test sentences."""
    (model,) = FIGURES[name].models
    run = trained.rows[model][0].name
    loaded = trained.load(run)
    fingerprint = loaded.state.data_fingerprint
    data = trained.configs[run].data
    test_set, _ = read_split(data, fingerprint, str(trained.folder / run), "test", trained.show)
    medium = [text for text in test_set.sources if _SHORTEST <= len(text.split()) <= _LONGEST]
    sentences = spread(medium or test_set.sources, SENTENCES)
    results: list[AnyResult] = []
    for number, read in enumerate(AttentionReader(loaded).read([(s, None) for s in sentences]), 1):
        assert read  # no sentence of a split is blank
        file = f"{name}-{number}.svg"
        write_durably(trained.folder / file, map_figure(read, read.view(), "svg"))
        results.append(AlignmentResult(read.source, read.translation, file))
    return results


def _models(name: str, trained: _Trained) -> list[AnyResult]:
    """Draw BLEU and perplexity of the models."""
    results = [
        ModelResult(
            model,
            Estimate.of([_perplexity(Run(trained.folder / row.name)) for row in rows]),
            Estimate.of([row.bleu for row in rows]),
            round(statistics.mean(row.parameters for row in rows)),
        )
        for model in FIGURES[name].models
        if (rows := trained.rows[model])
    ]
    write_durably(trained.folder / f"{name}.svg", paper_plots.draw_models(results))
    return [*results]


def _perplexity(run: Run) -> float:
    """Return the perplexity of a token of the dev split, at the best validation."""
    validations = of_kind(run.metrics(), VALIDATION)
    return math.exp(max(validations, key=lambda entry: entry["dev_bleu"])["dev_loss"])


_MAKERS: dict[str, Callable[[str, _Trained], list[AnyResult]]] = {
    "lengths": _lengths,
    "alignments": _alignments,
    "scores": _models,
    "heads": _models,
}
