"""The command that scores runs, or the translations of another system: eval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.evaluation_files import check_files, write_files
from seq2seq_cli.cli.files import Result, emit
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DataOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    QuietOption,
    RerankOption,
    RerankWeightOption,
    RunsOption,
    SetOption,
    SourceOption,
    TargetOption,
    ToOption,
    corpus_flags,
    decoding_flags,
    warn,
)
from seq2seq_cli.cli.resources import (
    FoundRun,
    find_runs,
    start_tensorflow,
)
from seq2seq_cli.cli.test_sets import (
    ConfidenceOption,
    Corpus,
    ReferenceFileOption,
    SeedOption,
    SetChoice,
    SourceFileOption,
    SplitOption,
    TestSetOption,
    TrainingFileOption,
    TsvOption,
    chosen_set,
    is_at_hand,
    refuse_options,
)
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.decoding.loading import LoadedRun
    from seq2seq_cli.evaluation.analysis import ScoredOutput
    from seq2seq_cli.evaluation.calibration import Calibration
    from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput
    from seq2seq_cli.work import ShowWork


_RESAMPLES, _SEED = 1000, 12345  # sacreBLEU's defaults

CheckpointOption = Annotated[
    list[str] | None,
    typer.Option(help="best, last, all, or an update such as 1200; the default is best."),
]
HypothesesOption = Annotated[
    Path | None,
    typer.Option(help="Score the translations in a file, one per line, instead of those of a run."),
]
ResamplesOption = Annotated[int, typer.Option(help="Number of resamples for --confidence.", min=2)]
DetailsOption = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Print scores by length and by rare words, calibration and the worst sentences.",
    ),
]
RowsOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write sources, translations and references (TSV)."),
]
SaveOption = Annotated[
    Path | None, typer.Option(help="Save the translations for `s2s compare` (JSON Lines).")
]
PageOption = Annotated[Path | None, typer.Option(help="Write a page with all details.")]


def evaluate(
    run: RunsOption = None,
    to: ToOption = None,
    checkpoint: CheckpointOption = None,
    split: SplitOption = None,
    source_file: SourceFileOption = None,
    reference_file: ReferenceFileOption = None,
    tsv: TsvOption = None,
    test_set: TestSetOption = None,
    hypotheses: HypothesesOption = None,
    confidence: ConfidenceOption = False,
    resamples: ResamplesOption = _RESAMPLES,
    seed: SeedOption = _SEED,
    details: DetailsOption = False,
    training_file: TrainingFileOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    output: RowsOption = None,
    save_translations: SaveOption = None,
    html: PageOption = None,
    beam: BeamOption = None,
    rerank: RerankOption = None,
    rerank_weight: RerankWeightOption = None,
    length_penalty: LengthPenaltyOption = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score a run on its leak-free test split or other sentences: BLEU, chrF, chrF++ and TER."""
    choice = SetChoice(split, source_file, reference_file, tsv, test_set, training_file)
    choice.check()
    if training_file and not (details or html):
        raise UsageError("--training-file is for --details and --html. Add one, or leave it out")
    flags = decoding_flags(
        beam=beam,
        length_penalty=length_penalty,
        batch_tokens=batch_tokens,
        rerank=rerank,
        rerank_weight=rerank_weight,
    )
    check_files(output, save_translations, html, hypotheses, choice)
    if not confidence and (resamples, seed) != (_RESAMPLES, _SEED):
        raise UsageError("--resamples and --seed are for --confidence. Add it, or leave them out")
    if hypotheses:
        given = {"--set": settings, "--checkpoint": checkpoint, "--device": device}
        given |= {option: value for _, value, option in flags}
        refuse_options(given, "is for a run, and excludes --hypotheses. Leave one of them out")
    wanted = checkpoint or ["best"]
    if (output or save_translations) and (len(wanted) > 1 or wanted == ["all"]):
        raise UsageError("--output and --save-translations need exactly one --checkpoint; give one")
    found = corpus = None
    detailed = counts_words = details or bool(html)
    if run or not hypotheses or choice.is_split:
        found = find_runs(run, settings, *corpus_flags(None, source, target), *flags, to=to)
        corpus = Corpus.of(found[0], data, to)
        if choice.is_split or (detailed and not training_file):
            uses_models = not hypotheses
            if not is_at_hand(corpus, choice.is_split, uses_models, quiet):
                counts_words = False
    elif to:
        raise UsageError("--to needs a run. Give --run, or leave out --to")
    device_used = "" if hypotheses else start_tensorflow(device)
    interval = (resamples, seed) if confidence else None
    scoring = _Scoring(choice, wanted, interval, detailed, counts_words)
    languages = _languages(corpus, source, target)
    scored_set, results = _score(scoring, found, corpus, hypotheses, languages, quiet)
    shown = results if details else [replace(scored, details=None) for scored in results]
    _show(scoring, scored_set, shown, device_used, as_json)
    # The scores have been printed, even if writing the files fails.
    write_files(scored_set, results, output, save_translations, html)


@dataclass(frozen=True)
class _Scoring:
    """What to score, and how, as the options say.

    Attributes:
        choice: of the test set.
        checkpoints: names as --checkpoint takes them.
        interval: resamples and seed of --confidence, if it is given.
        detailed: whether to compute the details behind the scores.
        counts_words: whether these include scores by rare words.
    """

    choice: SetChoice
    checkpoints: list[str]
    interval: tuple[int, int] | None
    detailed: bool
    counts_words: bool


def _score(
    scoring: _Scoring,
    found: list[FoundRun] | None,
    corpus: Corpus | None,
    hypotheses: Path | None,
    languages: tuple[str, str] | None,
    quiet: bool,
) -> "tuple[EvaluationSet, list[ScoredOutput]]":
    """Return the test set, and the scores of the given translations or of each checkpoint."""
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.evaluation.analysis import find_details, score_output
    from seq2seq_cli.evaluation.metrics import Bootstrap

    bootstrap = Bootstrap(*scoring.interval) if scoring.interval else None
    results = []
    with work_progress(not quiet) as show:
        test_set, words = chosen_set(scoring.choice, corpus, languages, scoring.counts_words, show)
        if hypotheses:
            outputs = _given(hypotheses, test_set)
        else:
            assert found
            outputs = _translated(found, scoring, test_set, corpus.to if corpus else None, show)
        for system, calibration in outputs:
            behind = None
            if scoring.detailed:
                behind = find_details(test_set, system, words, calibration)
            results.append(score_output(test_set, system, bootstrap, behind))
    return test_set, results


def _show(
    scoring: _Scoring,
    test_set: "EvaluationSet",
    results: "list[ScoredOutput]",
    device: str,
    as_json: bool,
) -> None:
    from seq2seq_cli.cli import evaluation_display as display

    where = {"split": scoring.choice.split_name} if scoring.choice.is_split else {}
    if not as_json and len(results) > 1:
        emit(Result(None, display.score_table(results)), as_json)
        results = [scored for scored in results if scored.details]
    for scored in results:
        record = display.evaluation_record(scored, test_set, where, device)
        emit(Result(record, display.drawn_evaluation(scored, test_set)), as_json)


def _languages(
    corpus: Corpus | None, source: str | None, target: str | None
) -> tuple[str, str] | None:
    if corpus:
        return corpus.data.languages_to(corpus.to)
    return (source, target) if source and target else None


def _given(
    hypotheses: Path, test_set: "EvaluationSet"
) -> "Iterator[tuple[SystemOutput, Calibration | None]]":
    from seq2seq_cli.evaluation.systems import SystemOutput
    from seq2seq_cli.evaluation.test_sets import printable, read_hypotheses

    lines, name = read_hypotheses(hypotheses, len(test_set.sources)), printable(hypotheses)
    yield SystemOutput(name, lines, origin={"hypotheses": name}), None


def _translated(
    found: list[FoundRun],
    scoring: _Scoring,
    test_set: "EvaluationSet",
    to: str | None,
    show: "ShowWork",
) -> "Iterator[tuple[SystemOutput, Calibration | None]]":
    """Yield the translations of each checkpoint, with its calibration if details are requested."""
    from seq2seq_cli.evaluation.calibration import calibrate
    from seq2seq_cli.evaluation.test_split import results_of_training, system_output

    at_checkpoints = _at_checkpoints(found, scoring.checkpoints, to)
    first = next(at_checkpoints)
    # Both use the weights of the present checkpoint.
    translator, scorer = first.translator(), first.scorer()
    results = results_of_training(found[0].run) if len(found) == 1 else None
    for loaded in chain([first], at_checkpoints):
        output = system_output(loaded, translator, test_set, show, results)
        calibration = None
        if scoring.detailed:
            firsts = [references[0] for references in test_set.references]
            pairs = list(zip(test_set.sources, firsts, strict=True))
            calibration = calibrate(*scorer.predictions(pairs))
        yield output, calibration


def _at_checkpoints(
    found: list[FoundRun], names: Sequence[str], to: str | None
) -> "Iterator[LoadedRun]":
    """Yield a run's model at each of its checkpoints, or an ensemble at the best ones.

    Raises:
        UsageError: if checkpoints of an ensemble are named.
    """
    from seq2seq_cli.decoding.loading import at_checkpoint, load_ensemble, load_run
    from seq2seq_cli.runs.selection import select

    if len(found) > 1:
        if names != ["best"]:
            raise UsageError(
                "--checkpoint is for one run, and several runs form an ensemble. Leave it out"
            )
        runs, configs = zip(*found, strict=True)
        yield load_ensemble(runs, warn, configs).towards(to)
        return
    run, config = found[0]
    first, *others = [each for name in names for each in select(run, name, warn)]
    loaded = load_run(run, warn, config, first).towards(to)
    yield loaded
    for checkpoint in others:
        yield at_checkpoint(loaded, checkpoint)
