"""The command that makes a page about runs: report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import check_output, print_line, write_file
from seq2seq_cli.cli.options import (
    DataOption,
    DeviceOption,
    QuietOption,
    SourceOption,
    TargetOption,
    corpus_flags,
    find_data,
    find_runs,
    start_tensorflow,
    warn,
)

if TYPE_CHECKING:
    from seq2seq_cli.cli.options import FoundRuns
    from seq2seq_cli.evaluation.run_report import SplitScores
    from seq2seq_cli.work import ShowWork


def make_report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of runs in runs/, or paths; the default is the newest run.",
            autocompletion=completion.runs,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    no_test: Annotated[
        bool,
        typer.Option("--no-test", help="Leave out test scores and attention maps."),
    ] = False,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write a self-contained page about one run, or several side by side."""
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.evaluation.pages.charts import library
    from seq2seq_cli.evaluation.pages.report import report_page
    from seq2seq_cli.evaluation.run_report import gather
    from seq2seq_cli.runs.run import find_run

    check_output(output)
    names: list[str | None] = list(runs) if runs else [None]
    found = [find_run(name, warn) for name in names]
    library()  # or the error that it is not installed, before anything is computed
    if not no_test:
        start_tensorflow(device or "auto")
    reports = []
    with work_progress(not quiet) as show:
        for run in found:
            test = None
            if not no_test:
                flags = corpus_flags(None, source, target)
                test = _test_scores(find_runs([str(run.path)], None, *flags), data, quiet, show)
            reports.append(gather(run, test))
    write_file(output, report_page(reports).encode(), "--output")
    print_line(str(output))


def _test_scores(
    found: "FoundRuns", data: str | None, quiet: bool, show: "ShowWork"
) -> "SplitScores":
    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.evaluation.split_scores import split_scores
    from seq2seq_cli.evaluation.test_sets import read_split

    run, config = found.runs[0], found.configs[0]
    corpus = config.data if data is None else config.data.moved_to(data)
    find_data(corpus, quiet)
    loaded = load_run(run, warn, config)
    fingerprint = loaded.state.data_fingerprint
    of, _ = read_split(corpus, fingerprint, str(run.path), "test", show)
    return split_scores(loaded, of, show)
