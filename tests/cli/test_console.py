"""What several commands print."""

import io

import pytest
from rich.console import Console

from seq2seq_cli.cli import console


@pytest.fixture
def printed(monkeypatch) -> io.StringIO:
    """What goes to stderr, which is a terminal here."""
    file = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=file, force_terminal=True, width=80))
    return file


def show_pairs(shown: bool) -> None:
    with console.pair_progress(shown) as progress:
        progress("Reading", 0)
        progress("Reading", 1000)
        progress("Writing", 10)


def show_download(shown: bool) -> None:
    with console.download_progress("x.zip", shown) as progress:
        progress(1, 2)
        progress(2, 2)


def show_lines(shown: bool) -> None:
    with console.line_progress(shown) as advance:
        advance()


@pytest.mark.parametrize("show", [show_pairs, show_download, show_lines])
def test_progress_is_shown_or_not(show, printed):
    show(False)
    assert printed.getvalue() == ""
    show(True)
    assert printed.getvalue() != ""
