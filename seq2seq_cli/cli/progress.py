"""Progress on stderr, drawn by Rich: live on a terminal, elsewhere as lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TransferSpeedColumn,
)

from seq2seq_cli.cli import console
from seq2seq_cli.cli.stages import LiveStages, StageLines
from seq2seq_cli.data.lines import estimated_lines
from seq2seq_cli.work import ShowWork, show_nothing

_MEGA = 1_000_000  # bytes in a megabyte


@contextmanager
def work_progress(shown: bool = True) -> Iterator[ShowWork]:
    """Show the stages of an operation, if `shown`."""
    if not shown:
        yield show_nothing
    elif not console.stderr.is_interactive:
        with StageLines(console.show_notice) as lines:
            yield lines
    else:
        with LiveStages(console.stderr) as live:
            yield live


@contextmanager
def line_progress(
    stage: str, input_file: Path | None, shown: bool, shards: int = 1
) -> Iterator[Callable[[int], None]]:
    """Show how many lines of a file, or of stdin, are done, if `shown`.

    Args:
        stage: the text to show.
        input_file: the file; None for stdin.
        shown: whether to show anything.
        shards: number of parts of the file, of which one is done.

    Yields:
        A function that takes the number of lines that are done.
    """
    total = estimated_lines(input_file) if input_file and shown else None
    total = total and -(-total // shards)
    with work_progress(shown) as show:
        yield lambda done: show(stage, "lines", done, total and max(done, total))


@contextmanager
def download_progress(name: str, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a download, if `shown`; the bar appears with the first bytes."""
    if shown and not console.stderr.is_interactive:
        with StageLines(console.show_notice) as lines:
            yield lambda received, total: lines(
                f"Downloading {name}", "MB", received // _MEGA, total // _MEGA or None
            )
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    bars = Progress(*columns, console=console.stderr, redirect_stdout=console.shares_terminal())

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
