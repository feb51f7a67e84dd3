"""What several commands print, drawn by Rich."""

from rich.console import Console
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
