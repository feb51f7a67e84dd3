"""How far a piece of work is, drawn by Rich on stderr: live on a terminal, elsewhere as lines."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from seq2seq_cli.cli import console


class ShowWork(Protocol):
    """Shows how far a piece of work is."""

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        """Show that a stage of the work has done so many of `total`, if that is known."""


@contextmanager
def work_progress(unit: str, shown: bool = True) -> Iterator[ShowWork]:
    """Show the stages of a piece of work, if `shown`.

    Args:
        unit: what is counted, such as "pairs".
        shown: whether anything is shown.
    """
    if not shown:
        yield lambda stage, done, total=None: None
    elif not console.stderr.is_terminal:
        yield WorkLines(unit)
    else:
        columns = (
            *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=16)),
            *(TextColumn("{task.fields[counted]}"), TimeElapsedColumn(), TimeRemainingColumn()),
        )
        with Progress(*columns, console=console.stderr, transient=True) as bars:
            yield WorkBars(unit, bars)


class WorkBars:
    """Shows a bar for each stage, with the time that the last one has left.

    Args:
        unit: what is counted.
        bars: where.
    """

    def __init__(self, unit: str, bars: Progress):
        self._unit = unit
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        """See ShowWork."""
        if stage not in self._tasks:
            for task in self._tasks.values():
                self._bars.update(task, total=1, completed=1)
            self._tasks[stage] = self._bars.add_task(stage, total=None, counted="")
        counted = _counted(self._unit, done, total)
        self._bars.update(self._tasks[stage], completed=done, total=total, counted=counted)


class WorkLines:
    """Prints a line every so often.

    Args:
        unit: what is counted.
        clock: returns seconds.
    """

    SECONDS_BETWEEN_LINES = 10.0

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic):
        self._unit = unit
        self._clock = clock
        self._last_line = clock()
        self._stage = ""
        self._began = 0.0  # the stage

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        """See ShowWork."""
        now = self._clock()
        if stage != self._stage:
            self._stage, self._began = stage, now
        if now - self._last_line < self.SECONDS_BETWEEN_LINES:
            return
        self._last_line = now
        counted = _counted(self._unit, done, total)
        line = f"{stage}: {counted}" if counted else stage
        if done and total:
            left = (now - self._began) * (total - done) / done
            line += f", {console.duration(left)} left"
        console.show_notice(line)


def _counted(unit: str, done: int, total: int | None) -> str:
    if total is not None:
        return f"{done:,} of {total:,} {unit}"
    return f"{done:,} {unit}" if done else ""


@contextmanager
def line_progress(shown: bool) -> Iterator[Callable[[], None]]:
    """Count lines on stderr where it is a terminal, if `shown`."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} lines"), TimeElapsedColumn())
    if not (shown and console.stderr.is_terminal):
        yield lambda: None
        return
    with Progress(*columns, console=console.stderr, transient=True) as bars:
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
    bars = Progress(*columns, console=console.stderr)

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
