"""Figures of a map: PNG and SVG."""

import io
import json
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from test_maps import TRANSFORMER

from seq2seq_cli.attention.figure import check_matplotlib, figure
from seq2seq_cli.attention.maps import View
from seq2seq_cli.errors import UsageError

pytest.importorskip("matplotlib", reason="it comes with the extra `plot`")
Image = pytest.importorskip("PIL.Image", reason="it comes with the extra `plot`")

VIEW = TRANSFORMER.view()
HOSTILE = View(
    ["$x^2$", "\u202eabc", "<script>", "w" * 5000],
    ["a\x00b\x1b", "$", "&amp;", "日"],
    np.full((4, 4), 0.25),
    "cross-attention",
)


def png(view: View = VIEW, dark: bool = False):
    return Image.open(io.BytesIO(figure(TRANSFORMER, view, "png", dark)))


def svg(view: View = VIEW) -> ElementTree.Element:
    return ElementTree.fromstring(figure(TRANSFORMER, view, "svg"))


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_png_shows_the_numbers_of_the_map():
    record = json.loads(png().text["Description"])
    np.testing.assert_allclose(record["weights"], VIEW.weights, atol=1e-6)
    assert (record["queries"], record["keys"]) == (VIEW.queries, VIEW.keys)


def test_cells_of_a_png_with_higher_weights_are_darker():
    weights = np.array([[0.0, 1.0], [1.0, 0.0]])
    image = png(View(["a", "b"], ["c", "d"], weights, "")).convert("L")
    counts = np.bincount(np.asarray(image).ravel(), minlength=256)
    assert counts[:60].sum() > 5000  # two dark cells
    assert np.asarray(png(dark=True).convert("L"))[0, 0] < 40
    assert np.asarray(image)[0, 0] == 255


def test_words_are_text_in_an_svg():
    found = texts(svg())
    for word in [*VIEW.keys, *VIEW.queries, VIEW.title]:
        assert word in found
    assert f"{100 * VIEW.weights[0, 0]:.0f}" in found


def test_the_same_map_gives_the_same_bytes():
    assert figure(TRANSFORMER, VIEW, "svg") == figure(TRANSFORMER, VIEW, "svg")
    assert figure(TRANSFORMER, VIEW, "png") == figure(TRANSFORMER, VIEW, "png")


def test_hostile_words_are_escaped():
    root = svg(HOSTILE)
    found = texts(root)
    assert "$x^2$" in found
    assert "�abc" in found
    assert "<script>" in found
    assert "a�b�" in found
    assert max(map(len, found)) < 30
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert png(HOSTILE).width < 2000


def test_hundreds_of_words_fit_in_a_figure():
    view = View(["a"] * 200, ["b"] * 200, np.full((200, 200), 0.005), "")
    assert max(png(view).size) <= 9000


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 's2s\[plot\]'"):
        check_matplotlib()
