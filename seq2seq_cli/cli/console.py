"""What several commands print, drawn by Rich."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

stdout = Console()
stderr = Console(stderr=True)


def show_error(message: str) -> None:
    """Print an error to stderr."""
    stderr.print(Text("error: ", style="bold red") + Text(message), soft_wrap=True)


def show_warning(message: str) -> None:
    """Print a warning to stderr."""
    stderr.print(Text("warning: ", style="bold yellow") + Text(message), soft_wrap=True)


def show_notice(message: str) -> None:
    """Print a notice to stderr."""
    stderr.print(Text(message), soft_wrap=True)


def show_rows(rows: list[tuple[str, str]], to: Console = stdout) -> None:
    """Print labels with their texts, in two columns."""
    to.print(two_columns(rows))


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
def download_progress(name: str, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a download, if `shown`; the bar appears with the first bytes."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    bars = ProgressBars(*columns, console=stderr)

    def progress(received: int, total: int) -> None:
        if not shown:
            return
        if not bars.tasks:
            bars.start()
            bars.add_task(f"Downloading {name}", total=total or None)
        bars.update(bars.task_ids[0], completed=received)

    try:
        yield progress
    finally:
        if bars.tasks:
            bars.stop()


@contextmanager
def pair_progress(shown: bool = True) -> Iterator[Callable[[str, int], None]]:
    """Show the current stage and how many pairs it has processed, if `shown`."""
    if not shown:
        yield lambda stage, done: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[done]}"))
    with ProgressBars(*columns, TimeElapsedColumn(), console=stderr) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, done: int) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bars.update(task, total=1, completed=1)
                tasks[stage] = bars.add_task(stage, total=None, done="")
            bars.update(tasks[stage], done=f"{done:,} pairs" if done else "")

        yield progress


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
