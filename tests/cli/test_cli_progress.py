"""How far a piece of work is."""

import io

import pytest
from rich.console import Console

from seq2seq_cli.cli import console
from seq2seq_cli.cli.files import print_line
from seq2seq_cli.cli.progress import download_progress, line_progress, work_progress

TERMINAL = {"force_terminal": True, "force_interactive": True, "width": 80}


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    """What goes to stderr, which is a terminal here."""
    file = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=file, **TERMINAL))
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


def test_results_reach_stdout_if_only_stderr_is_a_terminal(terminal, capsys):
    with work_progress() as working, download_progress("x.zip") as downloading:
        working("Translating", "lines", 1)
        downloading(1, 2)
        print_line("un gato")
    assert capsys.readouterr().out == "un gato\n"
    assert "gato" not in terminal.getvalue()


def test_colours_in_a_file_do_not_make_it_a_terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not console._console().is_interactive
    assert not console._console(stderr=True).is_interactive


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
