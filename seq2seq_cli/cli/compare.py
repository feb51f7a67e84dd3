"""The command that compares systems on the same sentences: compare."""

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.compared_systems import SetOptions, find_set, find_system, outputs_of
from seq2seq_cli.cli.files import Result, check_output, emit, print_line, write_file
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DataOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    QuietOption,
    SetOption,
    SourceOption,
    TargetOption,
    ToOption,
    decoding_flags,
)
from seq2seq_cli.cli.resources import start_tensorflow
from seq2seq_cli.cli.test_sets import (
    ReferenceFileOption,
    SeedOption,
    SetChoice,
    SourceFileOption,
    SplitOption,
    TestSetOption,
    TrainingFileOption,
    TsvOption,
    refuse_options,
)
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.evaluation.comparison import Comparison


SystemsArgument = Annotated[
    list[str],
    typer.Argument(
        help="RUN, RUN@CHECKPOINT, a file of `s2s eval --save-translations`, or a file of "
        "translations, one per line. The first is the baseline.",
        metavar="A B...",
    ),
]


class Metric(str, Enum):
    """The metrics, with their names in METRICS."""

    bleu = "BLEU"
    chrf = "chrF"
    chrf_plus_plus = "chrF++"
    ter = "TER"


MetricOption = Annotated[
    list[Metric] | None,
    typer.Option(
        "--metric",
        case_sensitive=False,
        help="Compare only by BLEU, chrF, chrF++ or TER. Repeat it for several.",
        metavar="METRIC",
    ),
]
SplitRunOption = Annotated[
    str | None,
    typer.Option(
        "--run",
        help="The run whose split to use: its name in runs/, its path, or a bundle.",
        autocompletion=completion.runs,
    ),
]
HTMLOption = Annotated[
    Path | None, typer.Option(help="Write a page with all outputs side by side.")
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print a table in Markdown.")]


def compare(
    systems: SystemsArgument,
    run: SplitRunOption = None,
    to: ToOption = None,
    split: SplitOption = None,
    source_file: SourceFileOption = None,
    reference_file: ReferenceFileOption = None,
    tsv: TsvOption = None,
    test_set: TestSetOption = None,
    training_file: TrainingFileOption = None,
    metric: MetricOption = None,
    resamples: Annotated[int, typer.Option(help="Number of bootstrap resamples.", min=2)] = 1000,
    trials: Annotated[
        int, typer.Option(help="Number of trials of approximate randomisation.", min=2)
    ] = 10_000,
    seed: SeedOption = 12345,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    html: HTMLOption = None,
    markdown: MarkdownOption = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print a table in LaTeX.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare systems that translated the same sentences, with significance tests."""
    _check_options(systems, [as_json, markdown, latex])
    choice = SetChoice(split, source_file, reference_file, tsv, test_set, training_file)
    choice.check()
    set_options = SetOptions(choice, run, data, (source, target), to)
    if html:
        check_output(html, [*(("system", Path(name)) for name in systems), *choice.files], "--html")
    flags = decoding_flags(beam=beam, length_penalty=length_penalty, batch_tokens=batch_tokens)
    found = [find_system(name, settings, flags, to) for name in systems]
    has_runs = any(system.run for system in found)
    if has_runs:
        if run is None and (source or target):
            raise UsageError(
                "--source and --target are those of the compared runs. Leave them out, or give "
                "--run"
            )
        start_tensorflow(device)
    else:
        given = {"--set": settings, "--device": device, "--data": data if run is None else None}
        if run is None and test_set is None:
            given |= {"--source": source, "--target": target}
        given |= {option: value for _, value, option in flags}
        refuse_options(given, "applies only to runs, and all systems are files. Leave it out")

    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.evaluation import comparison
    from seq2seq_cli.evaluation.significance import Resampling

    with work_progress(not quiet) as show:
        compared_set = find_set(found, set_options, quiet, show)
        outputs = outputs_of(found, compared_set, set_options, show)
        show("Testing significance")
        resampling, metrics = Resampling(resamples, trials, seed), metric or list(Metric)
        names = list(dict.fromkeys(each.value for each in metrics))
        compared = comparison.compare(
            compared_set.sentences, outputs, compared_set.words, resampling, names
        )
    _show(compared, markdown, latex, as_json)
    if html:
        from seq2seq_cli.evaluation.pages.comparison import comparison_page

        page = comparison_page(compared, compared_set.sentences, outputs)
        write_file(html, page.encode(), "--html")


def _check_options(systems: list[str], formats: list[bool]) -> None:
    if len(systems) < 2:
        raise UsageError("only one system is given. Give two or more, or use s2s eval")
    if sum(formats) > 1:
        raise UsageError("--json, --markdown and --latex exclude each other; give one of them")


def _show(compared: "Comparison", markdown: bool, latex: bool, as_json: bool) -> None:
    from seq2seq_cli.cli.comparison_display import drawn_comparison
    from seq2seq_cli.evaluation import tables

    if markdown:
        print_line(tables.to_markdown(compared).rstrip())
    elif latex:
        print_line(tables.to_latex(compared).rstrip())
    else:
        emit(Result(asdict(compared), drawn_comparison(compared)), as_json)
