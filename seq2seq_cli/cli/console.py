"""Output that several commands share, drawn by Rich."""

import os
import sys
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_UNLIMITED = 10_000  # columns


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal. A closed one is not."""
    return stream is not None and not stream.closed and stream.isatty()


def shares_terminal() -> bool:
    """Return whether stdout is a terminal, which live output must then share with results."""
    return is_terminal(sys.stdout)


def _console(stderr: bool = False) -> Console:
    """Return a console that folds lines on a terminal, or if COLUMNS gives a width.

    In a file it is never interactive, whatever FORCE_COLOR says.
    """
    stream = sys.stderr if stderr else sys.stdout
    console = Console(stderr=stderr, force_interactive=None if is_terminal(stream) else False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNLIMITED
    return console


stdout = _console()
stderr = _console(stderr=True)


def show_error(message: str) -> None:
    """Print an error to stderr."""
    _show(Text("error: ", style="bold red") + Text(message))


def show_warning(message: str) -> None:
    """Print a warning to stderr."""
    _show(Text("warning: ", style="bold yellow") + Text(message))


def show_notice(message: str) -> None:
    """Print a notice to stderr."""
    _show(Text(message))


def show_next(command: str) -> None:
    """Print the next command to stderr, on one line, so that it can be copied."""
    stderr.print(Text(f"Next: {command}"), soft_wrap=True)


def _show(text: Text) -> None:
    """Print a text to stderr; a terminal folds it between words."""
    stderr.print(text, soft_wrap=not stderr.is_terminal)


def show_rows(rows: list[tuple[str, str]], to: Console | None = None) -> None:
    """Print labels with their texts, in two columns; to stdout by default."""
    show_drawn(two_columns(rows), to)


def show_drawn(drawn: RenderableType, to: Console | None = None) -> None:
    """Print a Rich object; in a file, without spaces at the ends of lines.

    Args:
        drawn: what to print.
        to: where; None for stdout.
    """
    to = to or stdout
    if to.is_terminal:
        to.print(drawn)
        return
    with to.capture() as captured:
        to.print(drawn)
    for line in captured.get().removesuffix("\n").split("\n"):
        to.print(Text(line.rstrip()), soft_wrap=True)


def duration(seconds: float) -> str:
    """Return a time as 59 s, 4:05 min or 1:02:03 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d} h"


def size_text(size: int) -> str:
    """Return a number of bytes as text."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def counted(number: int, noun: str) -> str:
    """Return a count with its unit, such as 1 epoch or 1,200 epochs."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def two_columns(rows: list[tuple[str, str]]) -> Table:
    """Return labels with their texts as a table."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, Text(text))
    return table
