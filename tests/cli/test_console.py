"""What commands draw, on a terminal and elsewhere."""

import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console

from seq2seq_cli.cli import console

ROWS = [("name", "short"), ("long", "word " * 40 + "end")]
PRINT = f"from seq2seq_cli.cli import console; console.show_rows({ROWS!r})"


def printed(**environment: str) -> list[str]:
    """Return the lines that a process prints to a file."""
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        capture_output=True,
        check=True,
        env={**inherited, **environment},
    )
    return done.stdout.decode().splitlines()


def test_a_row_in_a_file_is_one_line_without_spaces_at_its_end():
    assert printed() == ["name  short", f"long  {ROWS[1][1]}"]


def test_columns_fold_the_lines_of_a_file():
    lines = printed(COLUMNS="50")
    assert len(lines) > 4
    assert max(map(len, lines)) <= 50
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("width", [30, 60])
def test_a_terminal_folds_between_words(width):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=width, no_color=True)
    console.show_rows([("long", "word " * 40)], terminal)
    lines = re.sub("\x1b\\[[0-9;]*m", "", terminal.file.getvalue()).splitlines()
    assert max(map(len, lines)) <= width
    assert "".join(lines).count("word") == 40


@pytest.mark.parametrize("show", [console.show_error, console.show_warning, console.show_notice])
def test_a_message_is_folded_between_words_on_a_terminal_alone(show, monkeypatch):
    for width in (30, None):
        to = Console(file=io.StringIO(), force_terminal=bool(width), width=width or 80)
        monkeypatch.setattr(console, "stderr", to)
        show("word " * 30 + "end")
        shown = to.file.getvalue().splitlines()
        assert len(shown) > 5 if width else len(shown) == 1
        assert "".join(shown).count("word") == 30


def test_a_command_to_copy_is_never_folded(monkeypatch):
    to = Console(file=io.StringIO(), force_terminal=True, width=30)
    monkeypatch.setattr(console, "stderr", to)
    console.show_next("s2s train --config " + "x" * 50)
    assert to.file.getvalue().count("\n") == 1
