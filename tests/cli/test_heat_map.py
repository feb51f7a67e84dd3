"""The heat map of attention in the terminal."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from seq2seq_cli.attention.maps import View
from seq2seq_cli.cli.heat_map import HeatMap, blocks, printable

SOURCE = ["I", "will", "not", "inject", "disinfectant.", "</s>"]
TARGET = ["No", "inyectaré", "desinfectante.", "</s>"]


def view(queries: list[str], keys: list[str]) -> View:
    weights = np.random.default_rng(1).random((len(queries), len(keys)))
    return View(queries, keys, weights / weights.sum(axis=1, keepdims=True), "")


def drawn(shown: View, width: int, colours: str | None = None, **options) -> list[str]:
    console = Console(width=width, color_system=colours, file=io.StringIO(), force_terminal=True)
    console.print(HeatMap(shown, **options))
    return console.file.getvalue().split("\n")[:-1]


WORDS = st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=12)


@pytest.mark.parametrize("width", [20, 60, 120])
@given(queries=WORDS, keys=WORDS)
def test_no_line_is_wider_than_the_terminal(width, queries, keys):
    lines = drawn(view(queries, keys), width, probabilities=[0.5] * len(queries))
    assert all(cell_len(line) <= width for line in lines)


def test_words_that_do_not_fit_are_shown_in_full():
    lines = drawn(view(["q" * 50], ["k" * 70, "kind"]), 40)
    text = "".join(lines)
    assert text.count("q") == 50
    assert text.count("k") == 71


def test_columns_that_do_not_fit_follow_in_blocks():
    lines = drawn(view(TARGET, SOURCE), 40)
    heads = [line for line in lines if line.startswith("columns")]
    assert heads[0].startswith("columns 1 to")
    assert heads[-1].endswith("to 6 of 6")
    for word in SOURCE:
        assert sum(word in line.split() for line in lines if "%" not in line) >= 1
    assert sum("inyectaré" in line for line in lines) == len(heads)
    assert not any(line.startswith("columns") for line in drawn(view(TARGET, SOURCE), 120))


@given(st.lists(st.integers(1, 9), min_size=1), st.integers(1, 40))
def test_blocks_have_each_column_once_and_fit(widths, free):
    found = list(blocks(widths, free))
    assert [i for begin, end in found for i in range(begin, end)] == list(range(len(widths)))
    for begin, end in found:
        assert end - begin == 1 or sum(widths[begin:end]) - 1 <= free


def test_cells_are_per_cent_of_the_weights_in_their_order():
    shown = View(["a", "b"], ["c", "d"], np.array([[0.25, 0.75], [0.004, 0.996]]), "")
    first, second = drawn(shown, 60)[1:]
    assert re.findall(r"\d+|·", first) == ["25", "75"]
    assert re.findall(r"\d+|·", second) == ["·", "100"]


# Rich keeps the codes of a colour that it has drawn, so each terminal gets a weight of its own.
@pytest.mark.parametrize(
    ("colours", "code", "weight"),
    [
        ("truecolor", "48;2;", 0.99),
        ("256", "48;5;", 0.98),
        ("standard", None, 0.97),
        (None, None, 0.96),
    ],
)
def test_colours_are_what_the_terminal_has_and_else_blocks(colours, code, weight):
    shown = View(["a"], ["b", "c"], np.array([[weight, 1 - weight]]), "")
    text = "\n".join(drawn(shown, 60, colours))
    assert ("48;" in text) == (code is not None)
    assert ("█" in text) == (code is None)
    assert (code or "█") in text


def test_a_terminal_with_a_light_background_gets_light_colours(monkeypatch):
    shown = View(["a"], ["b", "c"], np.array([[0.0, 1.0]]), "")
    dark = drawn(shown, 60, "truecolor")[1]
    monkeypatch.setenv("COLORFGBG", "0;15")
    light = drawn(shown, 60, "truecolor")[1]
    assert "48;2;28;32;44" in dark
    assert "48;2;255;255;255" in light


def test_characters_that_would_disturb_the_terminal_are_escaped():
    hostile = "a\x1b[2J\u202eb\n\u2028\u2066c\r"
    assert printable(hostile) == "a\\u001b[2J\\u202eb\\u000a\\u2028\\u2066c\\u000d"
    assert printable("¿Qué? 日本語 👩‍🔬") == "¿Qué? 日本語 👩‍🔬"
    text = "\n".join(drawn(view([hostile], ["[bold]x[/bold]"]), 60))
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert "[bold]x[/bold]" in text
