"""How far a piece of work is."""

import io

import pytest
from rich.console import Console

from seq2seq_cli.cli import console
from seq2seq_cli.cli.progress import download_progress, line_progress, work_progress


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    """What goes to stderr, which is a terminal here."""
    file = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=file, force_terminal=True, width=80))
    return file


@pytest.fixture
def no_terminal(monkeypatch) -> io.StringIO:
    """What goes to stderr, which is a file here."""
    file = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=file, width=80))
    return file


def show_work(shown: bool) -> None:
    with work_progress(shown) as show:
        show("Reading", "pairs", 0)
        show("Reading", "pairs", 1000)
        show("Writing", "pairs", 10, 2000)


def show_download(shown: bool) -> None:
    with download_progress("x.zip", shown) as progress:
        progress(1, 2)
        progress(2, 2)


@pytest.mark.parametrize("show", [show_work, show_download])
def test_progress_is_shown_or_not(show, terminal):
    show(False)
    assert terminal.getvalue() == ""
    show(True)
    assert terminal.getvalue() != ""


def test_a_terminal_shows_each_stage_with_its_count(terminal):
    with work_progress() as show:
        show("Reading", "pairs", 1000)
        show("Writing", "pairs", 10, 2000)
    shown = terminal.getvalue()
    assert "Reading" in shown
    assert "1,000 pairs" in shown
    assert "10 of 2,000 pairs" in shown


def test_without_a_terminal_quick_work_prints_nothing(no_terminal):
    show_work(True)
    assert no_terminal.getvalue() == ""


def test_progress_shows_the_number_of_lines_of_a_file(terminal, tmp_path):
    path = tmp_path / "in"
    path.write_text("a\nb\n")
    with line_progress("Scoring", path, True) as show:
        show(1)
    assert "1 of 2 lines" in terminal.getvalue()
    with line_progress("Scoring", None, True) as show:
        show(1234)
    assert "1,234 lines" in terminal.getvalue()
