"""The command that makes a page about runs: report."""

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import check_output, print_line, write_file
from seq2seq_cli.cli.options import (
    DataOption,
    DeviceOption,
    QuietOption,
    SourceOption,
    TargetOption,
    ToOption,
    corpus_flags,
    warn,
)
from seq2seq_cli.cli.resources import FoundRun, fetch_data, find_one, start_tensorflow
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config import Config
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.evaluation.run_report import SplitScores
    from seq2seq_cli.runs.run import Run
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
    to: ToOption = None,
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
    from seq2seq_cli.runs.naming import find_run

    check_output(output)
    if to and no_test:
        raise UsageError(
            "--to applies to the test scores, but --no-test leaves them out. Leave out one"
        )
    names: list[str | None] = list(runs) if runs else [None]
    found = [find_run(name, warn) for name in names]
    library()  # raises an error early if it is not installed
    tested = []
    if not no_test:
        flags = corpus_flags(None, source, target)
        tested = [_tested(find_one(str(run.path), None, *flags, to=to), data) for run in found]
        for each in tested:
            fetch_data(each.data, quiet)
        start_tensorflow(device)
    with work_progress(not quiet) as show:
        tests = [_test_scores(each, to, show) for each in tested]
        reports = [gather(run, test, warn) for run, test in zip_longest(found, tests)]
    write_file(output, report_page(reports).encode(), "--output")
    print_line(str(output))


class _Tested(NamedTuple):
    """A run whose model translates the test split, and the `[data]` with its location."""

    run: "Run"
    config: "Config"
    data: "DataConfig"


def _tested(found: FoundRun, data: str | None) -> _Tested:
    run, config = found
    return _Tested(run, config, config.data if data is None else config.data.moved_to(data))


def _test_scores(tested: _Tested, to: str | None, show: "ShowWork") -> "SplitScores":
    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.evaluation.split_scores import split_scores
    from seq2seq_cli.evaluation.test_sets import read_split

    loaded = load_run(tested.run, warn, tested.config).towards(to)
    fingerprint, name = loaded.state.data_fingerprint, str(tested.run.path)
    test_set, _ = read_split(tested.data, fingerprint, name, "test", show, to)
    return split_scores(loaded, test_set, show)
