"""What commands print, drawn by Rich."""

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as ProgressBars
from rich.table import Table
from rich.text import Text

from seq2seq_cli.data.checking.findings import Findings
from seq2seq_cli.data.checking.outliers import ENOUGH
from seq2seq_cli.data.statistics import Statistics
from seq2seq_cli.training.events import Result

stdout = Console()
stderr = Console(stderr=True)


def show_error(message: str) -> None:
    """Print what went wrong, to stderr."""
    stderr.print(Text("error: ", style="bold red") + Text(message), soft_wrap=True)


def show_warning(message: str) -> None:
    """Print what is worth a look, to stderr."""
    stderr.print(Text("warning: ", style="bold yellow") + Text(message), soft_wrap=True)


def show_notice(message: str) -> None:
    """Print what is good to know, to stderr."""
    stderr.print(Text(message), soft_wrap=True)


def show_rows(rows: list[tuple[str, str]], to: Console = stdout) -> None:
    """Print labels with their texts, in two columns."""
    to.print(two_columns(rows))


def prompts(history: Path) -> Generator[str, None, None]:
    """Ask for sentences on the terminal until an empty one or Ctrl-D.

    Lines can be edited, and those of former times recalled from the file `history`.
    """
    import readline

    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(1000)
    # Python writes the prompt to stdout, which is for results alone where it is no terminal.
    prompt = "> " if sys.stdout.isatty() else ""
    try:
        while True:
            if not prompt:
                stderr.print("> ", end="")
            try:
                line = input(prompt)
            except EOFError:
                stderr.print()
                return
            if not line.strip():
                return
            yield line
    finally:
        with contextlib.suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


@contextmanager
def line_progress(shown: bool) -> Iterator[Callable[[], None]]:
    """Count lines on stderr where it is a terminal, if `shown`."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} lines"), TimeElapsedColumn())
    if not (shown and stderr.is_terminal):
        yield lambda: None
        return
    with ProgressBars(*columns, console=stderr, transient=True) as bars:
        task = bars.add_task("lines", total=None)
        yield lambda: bars.advance(task)


@contextmanager
def download_progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far a download is; the bar appears with the first bytes."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    bars = ProgressBars(*columns, console=stderr)

    def report(received: int, total: int) -> None:
        if not bars.tasks:
            bars.start()
            bars.add_task(f"Downloading {name}", total=total or None)
        bars.update(bars.task_ids[0], completed=received)

    try:
        yield report
    finally:
        if bars.tasks:
            bars.stop()


@contextmanager
def pair_progress() -> Iterator[Callable[[str, int], None]]:
    """Show what is being done, and with how many pairs it has been done."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[done]}"))
    with ProgressBars(*columns, TimeElapsedColumn(), console=stderr) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bars.update(task, total=1, completed=1)
                tasks[stage] = bars.add_task(stage, total=None, done="")
            bars.update(tasks[stage], done=f"{done:,} pairs" if done else "")

        yield report


def show_statistics(found: Statistics) -> None:
    """Print a corpus' figures as three tables."""
    dropped = ", ".join(f"{n:,} {why}" for why, n in found.dropped.items()) or "nothing"
    show_rows(
        [
            ("corpus", found.corpus),
            ("pairs", f"{found.pairs:,} in {found.groups:,} independent groups"),
            ("dropped", dropped),
            ("fingerprint", found.fingerprint),
        ]
    )
    sides = Table("side", "words", "distinct", "mean length", box=None, header_style="bold cyan")
    for point in found.sides[0].length_percentiles:
        sides.add_column(point)
    for side in found.sides:
        lengths = (str(n) for n in side.length_percentiles.values())
        figures = (f"{side.words:,}", f"{side.distinct_words:,}", f"{side.mean_length:.1f}")
        sides.add_row(side.language, *figures, *lengths)
    stdout.print(sides)
    columns = ("split", "pairs", "sources", "references each")
    seen = (f"{side.language} words seen in train" for side in found.sides)
    splits = Table(*columns, *seen, box=None, header_style="bold cyan")
    for split in found.splits:
        splits.add_row(
            split.name,
            f"{split.pairs:,}",
            f"{split.sources:,}",
            f"{split.references_per_source:.2f}",
            f"{split.source_coverage:.1%}",
            f"{split.target_coverage:.1%}",
        )
    stdout.print(splits)


def show_selftest(checks: list[tuple[str, float, bool]]) -> None:
    """Print each property, how far the model is from it, and whether it holds."""
    table = Table("property", "largest deviation", "", box=None, header_style="bold cyan")
    table.columns[1].justify = "right"
    for name, deviation, holds in checks:
        verdict = Text("holds", style="green") if holds else Text("FAILS", style="bold red")
        table.add_row(name, f"{deviation:.1e}", verdict)
    stdout.print(table)


def show_check(findings: Findings) -> None:
    """Print what is wrong with a corpus: the files, what was found, and what a copy leaves out."""
    names = {file.split: Path(file.files[0]).name for file in findings.files}
    rows = []
    for file in findings.files:
        few = "" if file.judged else f"; under {ENOUGH} good ones: ratio, language, order unjudged"
        rows.append((file.split, f"{', '.join(file.files)}: {file.lines:,} lines{few}"))
    for unseen in findings.unseen:
        if unseen.rate:
            share = f"{unseen.rate:.2%} of characters unseen in train: {unseen.characters}"
            rows.append((f"{unseen.split} {unseen.language}", share))
    show_rows(rows)
    if findings.findings:
        table = Table(
            "found", "lines", "share", "where", "what", box=None, header_style="bold cyan"
        )
        for column in table.columns:
            column.overflow = "fold"
        for column in table.columns[1:3]:
            column.justify = "right"
        for found in findings.findings:
            rows_of = zip(found.places, found.examples, strict=True)
            for number, (place, example) in enumerate(rows_of):
                head = (found.kind, f"{found.count:,}", f"{found.share:.2%}")
                where = Text(f"{names[found.split]}:{place}")
                table.add_row(*(head if number == 0 else ("", "", "")), where, Text(example))
        stdout.print(table)
    if findings.fixed:
        kinds = {"left out": findings.fixed.left_out, "repaired": findings.fixed.repaired}
        show_rows(
            [
                ("written", f"{', '.join(findings.fixed.files)}: {findings.fixed.written:,} lines"),
                *(
                    (label, ", ".join(f"{n:,} {kind}" for kind, n in counts.items()) or "nothing")
                    for label, counts in kinds.items()
                ),
            ]
        )
    stdout.print("Nothing is wrong." if findings.is_clean else "Something was found.")


def show_result(result: Result) -> None:
    """Say what a training came to and what to do next."""
    best = (
        f"; best dev BLEU {result.best_dev_bleu:.1f} at step {result.best_step}"
        if result.best_dev_bleu is not None
        else ""
    )
    stderr.print(
        f"Ended after {result.step} steps and {duration(result.seconds)}: {result.reason}{best}.",
        highlight=False,
        soft_wrap=True,
    )
    stderr.print(
        f'Next: s2s translate --run {result.run} "I like apples."', highlight=False, soft_wrap=True
    )


def duration(seconds: float) -> str:
    """Write a time as 59 s, 4:05 min or 1:02:03 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d} h"


def two_columns(rows: list[tuple[str, str]]) -> Table:
    """Return labels with their texts as a table."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, Text(text))
    return table
