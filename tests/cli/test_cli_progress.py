"""How far a piece of work is."""

import io

import pytest
from rich.console import Console

from seq2seq_cli.cli import console
from seq2seq_cli.cli.progress import (
    WorkLines,
    download_progress,
    line_progress,
    work_progress,
)


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
    with work_progress("pairs", shown) as progress:
        progress("Reading", 0)
        progress("Reading", 1000)
        progress("Writing", 10, 2000)


def show_download(shown: bool) -> None:
    with download_progress("x.zip", shown) as progress:
        progress(1, 2)
        progress(2, 2)


def show_lines(shown: bool) -> None:
    with line_progress(shown) as advance:
        advance()


@pytest.mark.parametrize("show", [show_work, show_download, show_lines])
def test_progress_is_shown_or_not(show, terminal):
    show(False)
    assert terminal.getvalue() == ""
    show(True)
    assert terminal.getvalue() != ""


def test_a_terminal_shows_each_stage_with_its_count(terminal):
    with work_progress("pairs") as progress:
        progress("Reading", 1000)
        progress("Writing", 10, 2000)
    shown = terminal.getvalue()
    assert "Reading" in shown
    assert "1,000 pairs" in shown
    assert "10 of 2,000 pairs" in shown


def test_elsewhere_quick_work_prints_nothing(no_terminal):
    show_work(True)
    show_lines(True)
    assert no_terminal.getvalue() == ""


def test_elsewhere_a_line_says_every_so_often_how_far_the_work_is(no_terminal):
    now = [0.0]
    progress = WorkLines("sentences", lambda: now[0])
    for now[0], stage, done, total in (
        (1.0, "Reading", 0, None),
        (9.0, "Reading", 0, None),
        (12.0, "Reading", 5000, None),
        (20.0, "Translating", 0, 900),
        (30.0, "Translating", 300, 900),
        (31.0, "Translating", 310, 900),
        (50.0, "Checking", 0, None),
    ):
        progress(stage, done, total)
    assert no_terminal.getvalue().splitlines() == [
        "Reading: 5,000 sentences",
        "Translating: 300 of 900 sentences, 20 s left",
        "Checking",
    ]
