"""The progress of each stage of an operation: live on a terminal, elsewhere as lines."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from seq2seq_cli.cli.console import duration, shares_terminal


@dataclass(frozen=True)
class Stage:
    """An operation and its progress.

    Attributes:
        text: the name of the operation.
        unit: what is counted; empty if nothing is.
        done: the number that is done.
        total: the total number, or an estimate; None if it is not known.
        began: when the stage began, in seconds of a clock.
        done_before: the number that was done then.
    """

    text: str
    unit: str
    done: int
    total: int | None
    began: float
    done_before: int

    @classmethod
    def after(
        cls,
        before: "Stage | None",
        now: float,
        text: str,
        unit: str = "",
        done: int = 0,
        total: int | None = None,
    ) -> "Stage":
        """Return the stage `before` with other counts, or a new one that begins now."""
        if before and (before.text, before.unit) == (text, unit):
            return cls(text, unit, done, total, before.began, before.done_before)
        return cls(text, unit, done, total, now, done)

    def counted(self) -> str:
        """Return the number that is done, and the total; empty if nothing is counted."""
        if self.total is not None:
            return f"{self.done:,} of {self.total:,} {self.unit}"
        return f"{self.done:,} {self.unit}" if self.done else ""

    def time_left(self, now: float) -> str:
        """Return the remaining time of the stage as text; empty if it is not known."""
        made = self.done - self.done_before
        if self.total is None or made <= 0:
            return ""
        seconds = (now - self.began) * max(0, self.total - self.done) / made
        return f"{duration(seconds)} left"

    def line(self, now: float) -> str:
        """Return everything as one line."""
        time_left = self.time_left(now) or f"{duration(now - self.began)} so far"
        return f"{self.text}: {', '.join(part for part in (self.counted(), time_left) if part)}"


def stage_row(stage: Stage, spinner: Spinner, now: float) -> Table:
    """Return the progress of a stage, as a row that folds between words."""
    counted = stage.counted()
    times = [duration(now - stage.began), stage.time_left(now)]
    row = Table.grid(padding=(0, 1))
    row.add_row(
        spinner,
        Text(f"{stage.text}: {counted}" if counted else stage.text),
        Text(", ".join(filter(None, times)), style="dim", no_wrap=True),
    )
    return row


class LiveStages:
    """Shows the current stage, with a bar if its total is known.

    Args:
        to: the console to print on.
    """

    def __init__(self, to: Console):
        self._to = to
        self._stage: Stage | None = None
        self._spinner = Spinner("dots")
        self._live = Live(
            console=to,
            get_renderable=self._frame,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=shares_terminal(),  # otherwise results would not reach a pipe or a file
        )

    def __enter__(self) -> "LiveStages":
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def __call__(self, stage: str, unit: str = "", done: int = 0, total: int | None = None) -> None:
        """Record the progress of a stage; see ShowWork."""
        is_new = self._stage is None or stage != self._stage.text
        self._stage = Stage.after(self._stage, time.monotonic(), stage, unit, done, total)
        if is_new:
            self._live.refresh()

    def _frame(self) -> RenderableType:
        stage = self._stage  # another thread changes it
        if stage is None:
            return Group()
        row = stage_row(stage, self._spinner, time.monotonic())
        if not stage.total:
            return row
        bar = Table.grid()  # a bar by itself does not end its line
        width = min(72, self._to.width)
        bar.add_row(ProgressBar(total=stage.total, completed=stage.done, width=width))
        return Group(bar, row)


class StageLines:
    """Prints a line at intervals while a stage lasts.

    A stage that counts is printed when it reports its counts, any other stage from a thread.

    Args:
        write: prints a line.
        clock: returns seconds.
    """

    SECONDS_BETWEEN_LINES = 10.0

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._stage: Stage | None = None
        self._last_line = clock()
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "StageLines":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._has_ended.set()
        self._thread.join()

    def __call__(self, stage: str, unit: str = "", done: int = 0, total: int | None = None) -> None:
        """Record the progress of a stage, and print it if it is time; see ShowWork."""
        self._stage = Stage.after(self._stage, self._clock(), stage, unit, done, total)
        self._print_if_due()

    def end_stage(self) -> None:
        """Print no more lines until the next stage."""
        self._stage = None

    def printed(self) -> None:
        """Record that another line was printed just now."""
        self._last_line = self._clock()

    def tick(self) -> None:
        """Print a line if it is time, and the stage counts nothing."""
        stage = self._stage
        if stage and not stage.unit:
            self._print_if_due()

    def _print_if_due(self) -> None:
        with self._lock:
            stage, now = self._stage, self._clock()  # another thread changes the stage
            if stage and now - self._last_line >= self.SECONDS_BETWEEN_LINES:
                self._last_line = now
                self._write(stage.line(now))

    def _watch(self) -> None:
        while not self._has_ended.wait(1.0):
            self.tick()
