"""A map as an image of pixels, for TensorBoard and animations.

Words are drawn beside it if Pillow and matplotlib's font are installed (extra `plot`).
"""

import functools
import importlib.util
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq_cli.attention.labels import shortened
from seq2seq_cli.attention.themes import Theme, rgb

_CELL = 30  # pixels of a side, if the map is not large
_SMALLEST_CELL = 4
_LARGEST = 1200  # pixels of a side of all cells
_GAP = 2
_MARGIN = 12
_FONT_SIZE = 15
_LEAST_FOR_WORDS = 12  # pixels of a cell


def can_write_words() -> bool:
    """Return whether words can be written into images."""
    return importlib.util.find_spec("PIL") is not None and _font_file() is not None


def heat_map_image(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    theme: Theme,
    caption: str = "",
) -> np.ndarray:
    """Return an image of a map: uint8 [height, width, 3].

    Its size depends only on the words and on whether there is a caption.

    Args:
        weights: [queries, keys], from 0 to 1.
        queries: the words of the rows.
        keys: the words of the columns.
        theme: the colours.
        caption: a line below the map.
    """
    cell = max(_SMALLEST_CELL, min(_CELL, _LARGEST // max(weights.shape)))
    cells = _cells(weights, cell, theme)
    if not can_write_words():
        return cells
    return _with_words(cells, cell, (queries, keys), theme, caption)


def _cells(weights: np.ndarray, cell: int, theme: Theme) -> np.ndarray:
    """Return only the cells, with gaps between them if they are large enough."""
    colours = np.array([[theme.colour(weight) for weight in row] for row in weights], np.uint8)
    image = colours.repeat(cell, axis=0).repeat(cell, axis=1)
    if cell > 4 * _GAP:
        for edge in range(_GAP):
            image[edge::cell] = image[:, edge::cell] = rgb(theme.background)
    return image


def _with_words(
    cells: np.ndarray,
    cell: int,
    words: tuple[Sequence[str], Sequence[str]],
    theme: Theme,
    caption: str,
) -> np.ndarray:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(str(_font_file()), _FONT_SIZE)
    is_labelled = cell >= _LEAST_FOR_WORDS
    queries, keys = ([shortened(each) if is_labelled else "" for each in side] for side in words)
    height, width, _ = cells.shape
    left = _MARGIN + max(math.ceil(font.getlength(word)) for word in queries) + 6
    labels = [_slanted(word, font, theme) for word in keys]
    top = _MARGIN + max(label.height for label in labels)
    ends = [(j + 0.5) * cell + label.width for j, label in enumerate(labels)]
    right = left + max(width, math.ceil(max(ends)), math.ceil(font.getlength(caption)) - left)
    bottom = top + height + (_FONT_SIZE + _MARGIN if caption else 0)
    image = Image.new("RGB", (right + _MARGIN, bottom + _MARGIN), theme.background)
    image.paste(Image.fromarray(cells), (left, top))
    draw = ImageDraw.Draw(image)
    for i, word in enumerate(queries):
        place = (left - 6, top + (i + 0.5) * cell)
        draw.text(place, word, theme.ink, font, anchor="rm")
    for j, label in enumerate(labels):
        place = (left + round((j + 0.35) * cell), top - label.height)
        image.paste(label, place, label)
    draw.text((_MARGIN, bottom), caption, theme.muted, font, anchor="ls")
    return np.asarray(image)


def _slanted(word: str, font: Any, theme: Theme) -> Any:
    """Return an image of a word that rises to the right, on a transparent background."""
    from PIL import Image, ImageDraw

    size = max(1, math.ceil(font.getlength(word))), _FONT_SIZE + 6
    flat = Image.new("RGBA", size, (*rgb(theme.ink), 0))
    ImageDraw.Draw(flat).text((0, size[1] / 2), word, theme.ink, font, anchor="lm")
    return flat.rotate(45, Image.Resampling.BICUBIC, expand=True)


@functools.cache
def _font_file() -> Path | None:
    """Return the font file of matplotlib, without importing matplotlib."""
    found = importlib.util.find_spec("matplotlib")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "mpl-data/fonts/ttf/DejaVuSans.ttf"
    return path if os.path.isfile(path) else None
