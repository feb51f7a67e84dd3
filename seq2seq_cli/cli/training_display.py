"""The display of training, drawn by Rich."""

import contextlib
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from seq2seq_cli.cli.console import counted, duration, shares_terminal, show_rows, stderr
from seq2seq_cli.cli.files import duplicate_stderr
from seq2seq_cli.cli.stages import Stage, StageLines, stage_row
from seq2seq_cli.training.events import Event, Heading, Notice, Phase, Progress, Summary, Validation

if TYPE_CHECKING:
    from seq2seq_cli.training.plan import Plan  # which imports TensorFlow

_ALWAYS_SHOWN = 5  # of the figures
_GAP = 2  # between two of them


class TrainingDisplay:
    """Shows the training: live on a terminal, elsewhere as a line every few seconds.

    Args:
        to: the console to print on.
        quiet: whether to show only notices.
        is_live: whether a part of the screen is updated in place, if the console can do that.
    """

    SECONDS_BETWEEN_LINES = 10.0

    def __init__(self, to: Console = stderr, quiet: bool = False, is_live: bool = True) -> None:
        self._to = to
        self._quiet = quiet
        self._stage: Stage | None = None
        self._lines = StageLines(self._write_line)
        self._spinner = Spinner("dots")
        self._progress: Progress | None = None
        self._last_line = 0.0
        self._open = contextlib.ExitStack()
        self._live = (
            Live(
                console=to,
                get_renderable=self._frame,
                refresh_per_second=8,
                redirect_stdout=shares_terminal(),
            )
            if to.is_interactive and is_live and not quiet
            else None
        )

    def __enter__(self) -> "TrainingDisplay":
        if self._live:
            self._open.enter_context(_on_own_descriptor(self._to))
            self._open.enter_context(self._live)
        elif not self._quiet:
            self._open.enter_context(self._lines)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end_phase()
        self._open.close()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if self._quiet and not isinstance(event, Notice):
            return
        match event:
            case Summary():
                self._progress = None
                show_rows(summary_rows(event), self._to)
            case Heading() | Notice():
                self._write_line(event.text)
            case Phase():
                self._begin(event)
            case Progress():
                self._end_phase()
                self._progress = event
                now = time.monotonic()
                if not self._live and now - self._last_line >= self.SECONDS_BETWEEN_LINES:
                    self._last_line = now
                    self._to.print(_progress_line(event), soft_wrap=True, highlight=False)
            case Validation():
                self._end_phase()
                if self._progress:
                    self._progress = replace(self._progress, dev_bleu=event.dev_bleu)
                _show_validation(event, self._to)

    def _begin(self, phase: Phase) -> None:
        counts = (phase.text, phase.unit, phase.done, phase.total)
        is_new = self._stage is None or phase.text != self._stage.text
        self._stage = Stage.after(self._stage, time.monotonic(), *counts)
        if not self._live:
            if is_new:
                self._write_line(phase.text)
                self._lines.printed()
            self._lines(*counts)
        elif is_new:
            self._live.refresh()

    def _end_phase(self) -> None:
        self._stage = None
        self._lines.end_stage()

    def _write_line(self, text: str) -> None:
        self._to.print(Text(text, style="dim"), soft_wrap=not self._to.is_terminal)

    def _frame(self) -> RenderableType:
        """Return the live part: the progress of training, and the current operation."""
        # Another thread calls this, so each is read once.
        progress, stage = self._progress, self._stage
        parts: list[RenderableType] = []
        if progress:
            parts += _progress_panel(progress, self._to.width)
        if stage:
            parts.append(stage_row(stage, self._spinner, time.monotonic()))
        return Group(*parts)


@contextmanager
def _on_own_descriptor(console: Console) -> Iterator[None]:
    """Let a console write to its terminal even while file descriptor 2 is redirected.

    It is redirected while TensorFlow is imported, to hide what TensorFlow prints.
    """
    before = console.file
    if not isinstance(before, io.TextIOWrapper):  # it has no descriptor
        yield
        return
    with duplicate_stderr(before) as file:
        console.file = file
        try:
            yield
        finally:
            console.file = before


def summary_rows(event: Summary) -> list[tuple[str, str]]:
    """Return labels and texts that describe the coming training run."""
    data, model, training = event.config.data, event.config.model, event.config.training
    limits = [
        training.epoch_limit and counted(training.epoch_limit, "epoch"),
        training.steps and counted(training.steps, "step"),
        training.budget_seconds and duration(training.budget_seconds),
    ]
    dropped = [f"{count:,} {reason}" for reason, count in event.dropped.items() if count]
    if training.part_pairs:
        size = f"of {training.part_pairs * training.parts:,} pairs"
    else:
        size = f"of about {training.batch_tokens:,} tokens"
    if training.parts > 1:
        size += f" in {training.parts} parts"
    computation = event.computation
    measured = [f"{name} {ms:.1f} ms" for name, ms in computation.milliseconds.items()]
    rows = [
        ("run", event.run),
        (
            "data",
            f"{event.corpus}, {data.direction}, {event.pairs:,} pairs",
        ),
        (
            "splits",
            f"{event.train_pairs:,} train, {event.dev_pairs:,} dev, {event.test_pairs:,} test; "
            f"{event.shared_pairs or 'no'} train pairs share a sentence with the others",
        ),
        ("dropped", ", ".join(dropped) or "nothing"),
        ("vocabulary", event.vocabulary),
        ("model", f"{model.description}, {event.parameters:,} parameters"),
        (
            "batches",
            f"{event.batches_per_epoch:,} per epoch, {size} each, "
            f"{event.padding_share:.1%} padding",
        ),
        ("until", " or ".join(limit for limit in limits if limit)),
        ("device", f"{computation.device}, {computation.described(training.compile)}"),
    ]
    if measured:
        rows.append(("measured", ", ".join(measured)))
    return rows


def plan_rows(plan: "Plan") -> list[tuple[str, str]]:
    """Return labels and texts that say what training would do and need."""
    training = plan.summary.config.training
    most = f"at most {plan.updates:,}" if plan.updates else "as many as the time allows"
    updates = f"{most}; fewer if dev BLEU does not rise in {training.patience} validations"
    parts = ", ".join(
        f"{name} {_gigabytes(size)}" for name, size in plan.memory._asdict().items() if size
    )
    memory = f"about {_gigabytes(plan.memory.total)} (an estimate): {parts}"
    if plan.available_memory is not None:
        memory += f"; {_gigabytes(plan.available_memory)} are available"
    return [
        *summary_rows(plan.summary),
        ("updates", updates),
        ("time", _time_needed(plan)),
        ("memory", memory),
    ]


def _time_needed(plan: "Plan") -> str:
    """Return an estimate of the training time as text."""
    each, compilation = plan.times.update, duration(plan.times.compilation)
    if plan.updates is None or plan.validations is None:
        made = max(0.0, plan.seconds - plan.times.compilation) / each
        parts = f"at most {made:,.0f} updates of {1000 * each:,.0f} ms, and validations"
    else:
        parts = f"{plan.updates:,} updates of {1000 * each:,.0f} ms, without "
        parts += counted(plan.validations, "validation")
    return f"about {duration(plan.seconds)} (an estimate): compilation {compilation}, {parts}"


def _gigabytes(number: int) -> str:
    return f"{number / 1e9:,.2f} GB"


def _figures(event: Progress) -> list[tuple[str, str]]:
    """Return names and values, the most important ones first."""
    left = event.seconds_left
    return [
        ("epoch", str(event.epoch)),
        ("step", f"{event.step:,}"),
        ("loss", f"{event.loss:.3f}"),
        ("dev BLEU", "-" if event.dev_bleu is None else f"{event.dev_bleu:.1f}"),
        ("left", "-" if left is None else duration(left)),
        ("pairs/s", f"{event.pairs_per_second:,.0f}"),
        ("rate", f"{event.learning_rate:.2e}"),
        ("padding", f"{event.padding_share:.0%}"),
    ]


def _progress_line(event: Progress) -> str:
    return "  ".join(f"{name} {value}" for name, value in _figures(event))


def _progress_panel(event: Progress, width: int) -> list[RenderableType]:
    """Return a bar, and a row with the figures that fit.

    The most important figures are always shown, in several rows if necessary.
    """
    bar = Table.grid()  # a bar by itself does not end its line
    bar.add_row(ProgressBar(total=1.0, completed=event.share_done, width=min(72, width)))
    figures = _figures(event)
    while len(figures) > _ALWAYS_SHOWN and _width(figures) > width:
        figures.pop()
    texts = [
        Text.assemble((name, "dim"), "\n", (value, "bold"), justify="right", no_wrap=True)
        for name, value in figures
    ]
    return [bar, Columns(texts, padding=(0, _GAP, 0, 0))]


def _width(figures: list[tuple[str, str]]) -> int:
    return sum(max(map(len, figure)) + _GAP for figure in figures) - _GAP


def _show_validation(event: Validation, to: Console) -> None:
    star = " (best)" if event.is_best else ""
    to.print(
        Text(
            f"step {event.step:,}: dev BLEU {event.dev_bleu:.1f}{star}, chrF {event.dev_chrf:.1f}, "
            f"loss {event.dev_loss:.3f}, after {duration(event.seconds)}",
            style="bold green" if event.is_best else "bold",
        ),
        soft_wrap=not to.is_terminal,
    )
    for source, reference, translation in event.samples:
        rows = [("  source", source), ("  reference", reference), ("  translation", translation)]
        show_rows(rows, to)
