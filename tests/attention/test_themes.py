import numpy as np
import pytest

from seq2seq_cli.attention.themes import DARK, LIGHT, ink_on, luminance_of
from seq2seq_cli.cli import heat_map


def contrast(first: tuple, second: tuple) -> float:
    low, high = sorted([luminance_of(first), luminance_of(second)])
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_black_and_white_is_that_of_the_standard():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scale", ["light", "dark", "terminal", "light terminal"])
def test_numbers_are_readable_on_every_colour(monkeypatch, scale):
    monkeypatch.setenv("COLORFGBG", "0;15" if scale == "light terminal" else "")
    colour = {"light": LIGHT.colour, "dark": DARK.colour}.get(scale, heat_map._colour)
    for weight in np.linspace(0, 1, 501):
        background = colour(float(weight))
        assert contrast(ink_on(background), background) >= 4.5
