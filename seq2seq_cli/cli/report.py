"""The command that makes a page about runs: report."""

from itertools import zip_longest
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
    ToOption,
    corpus_flags,
    warn,
)
from seq2seq_cli.cli.resources import FoundRun, fetch_data, find_one, start_tensorflow
from seq2seq_cli.cli.test_sets import Corpus, refuse_options

if TYPE_CHECKING:
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
    if no_test:
        given: dict[str, object] = {
            "--to": to,
            "--data": data,
            "--source": source,
            "--target": target,
            "--device": device,
        }
        refuse_options(
            given, "applies to the test scores, but --no-test leaves them out. Leave out one"
        )
    names: list[str | None] = list(runs) if runs else [None]
    found = [find_run(name, warn) for name in names]
    library()  # raises an error early if it is not installed
    tested, corpora = [], []
    if not no_test:
        flags = corpus_flags(None, source, target)
        tested = [find_one(str(run.path), None, *flags, to=to) for run in found]
        corpora = [Corpus.of(each, data, to) for each in tested]
        for corpus in corpora:
            fetch_data(corpus.data, quiet)
        start_tensorflow(device)
    with work_progress(not quiet) as show:
        pairs = zip(tested, corpora, strict=True)
        tests = [_test_scores(each, corpus, show) for each, corpus in pairs]
        reports = [gather(run, test, warn) for run, test in zip_longest(found, tests)]
    write_file(output, report_page(reports).encode(), "--output")
    print_line(str(output))


def _test_scores(found: FoundRun, corpus: Corpus, show: "ShowWork") -> "SplitScores":
    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.evaluation.split_scores import split_scores
    from seq2seq_cli.evaluation.test_sets import read_split

    loaded = load_run(found.run, warn, found.config).towards(corpus.to)
    given = corpus.data, corpus.fingerprint, corpus.run
    test_set, _ = read_split(*given, "test", show, corpus.to)
    return split_scores(loaded, test_set, show)
