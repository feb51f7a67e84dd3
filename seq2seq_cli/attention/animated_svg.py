"""How attention forms in a sentence as an animated SVG, without scripts.

CSS changes the colours. If the system requests reduced motion, and in programs that do not
animate, the last validation is shown.
"""

import json
import unicodedata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seq2seq_cli.attention.evolution import Evolution
from seq2seq_cli.attention.labels import shortened, without_controls
from seq2seq_cli.attention.themes import Colour, Theme, theme_for

_CELL, _GAP = 34, 2
_LETTER = 8.2  # width of a letter of 14 pixels, a little more than most have
_WIDE_LETTER = 14  # width of a Chinese, Japanese or Korean character
_SLOPE = 0.71  # of words above the columns
_CURVE = 44  # height of the curve of dev BLEU
_FRAME, _LAST = 0.45, 2.5  # seconds of a validation, and of the last one


def animated_svg(evolution: Evolution, dark: bool = False) -> bytes:
    """Return a repeating animation: the colours change from each validation to the next.

    The element `metadata` has the updates, dev BLEU, words and weights as JSON.

    Args:
        evolution: of the attention in a sentence.
        dark: light text on a dark background.
    """
    queries = [shortened(word) for word in evolution.queries]
    keys = [shortened(word) for word in evolution.keys]
    theme, frames = theme_for(dark), evolution.frames
    left = round(22 + max(map(_width, queries)))
    top = round(20 + _SLOPE * max(map(_width, keys)))
    curve_top = top + _CELL * len(queries) + 34
    ends = [(j + 0.5) * _CELL + _SLOPE * _width(word) for j, word in enumerate(keys)]
    width = left + round(max(_CELL * len(keys), *ends, 230)) + 16
    times = _Times(len(frames))
    cells, keyframes = _cells(evolution, theme, times, left, top)
    curve = _curve([frame.dev_bleu for frame in frames], left, curve_top, width - 16)
    last_x, last_y = curve[-1]
    dots = [(times.at(i), f"transform: translate({x}px, {y}px)") for i, (x, y) in enumerate(curve)]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("animation.svg.j2").render(
        theme=theme,
        width=width,
        height=curve_top + _CURVE + 40,
        left=left,
        top=top,
        side=_CELL - _GAP,
        curve_top=curve_top,
        title=without_controls(f"{evolution.source} → {evolution.reference}"),
        description=f"The attention of {len(frames)} validations: {frames[0].caption}, to "
        f"{frames[-1].caption}.",
        metadata=json.dumps(_record(evolution)),
        queries=[(top + (i + 0.5) * _CELL, word) for i, word in enumerate(queries)],
        keys=[(left + (j + 0.6) * _CELL, word) for j, word in enumerate(keys)],
        cells=cells,
        keyframes=[*keyframes, ("dot", [*dots, (100, dots[-1][1])])],
        curve=" ".join(f"{x},{y}" for x, y in curve),
        dot=f"{last_x}px, {last_y}px",
        captions=[(round(i * _FRAME, 2), frame.caption) for i, frame in enumerate(frames)],
        seconds=times.seconds,
        frame=times.at(1),
        last=times.share(_LAST),
    )
    return text.encode()


class _Times:
    """The times at which validations are shown, in per cent of the duration."""

    def __init__(self, number: int):
        self.seconds = round((number - 1) * _FRAME + _LAST, 2)

    def at(self, index: int) -> float:
        """Return the time at which a validation appears."""
        return self.share(index * _FRAME)

    def share(self, seconds: float) -> float:
        """Return a time in per cent."""
        return round(100 * seconds / self.seconds, 2)


def _width(word: str) -> float:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in word)
    return _WIDE_LETTER * wide + _LETTER * (len(word) - wide)


def _cells(
    evolution: Evolution, theme: Theme, times: _Times, left: int, top: int
) -> tuple[list[dict[str, Any]], list[tuple[str, list[tuple[float, str]]]]]:
    """Return the cells with the colours of the last validation, and their other colours."""
    cells, keyframes = [], []
    for i, query in enumerate(evolution.queries):
        for j, key in enumerate(evolution.keys):
            weights = [float(frame.weights[i, j]) for frame in evolution.frames]
            colours = [_hex(theme.colour(weight)) for weight in weights]
            name = f"c{i}-{j}" if len(set(colours)) > 1 else ""
            if name:
                keyframes.append((name, _without_repetitions(colours, times)))
            cells.append(
                {
                    "x": left + j * _CELL,
                    "y": top + i * _CELL,
                    "fill": colours[-1],
                    "name": name,
                    "title": without_controls(f"{query} – {key}: {100 * weights[-1]:.0f} %"),
                }
            )
    return cells, keyframes


def _without_repetitions(colours: list[str], times: _Times) -> list[tuple[float, str]]:
    """Return the colours with their times, except those that equal both neighbours."""
    last = len(colours) - 1
    kept = [
        (times.at(i), f"fill: {colour}")
        for i, colour in enumerate(colours)
        if i in (0, last) or not colours[i - 1] == colour == colours[i + 1]
    ]
    return [*kept, (100, f"fill: {colours[-1]}")]


def _curve(values: list[float], left: int, top: int, right: int) -> list[tuple[float, float]]:
    """Return the points of the curve of dev BLEU, which begins at 0."""
    most, steps = max(values) or 1.0, max(1, len(values) - 1)
    return [
        (round(left + i / steps * (right - left), 1), round(top + _CURVE * (1 - value / most), 1))
        for i, value in enumerate(values)
    ]


def _record(evolution: Evolution) -> dict[str, Any]:
    """Return the content of the animation as JSON values."""
    frames = [
        {"step": f.step, "dev_bleu": round(f.dev_bleu, 2), "weights": f.weights.round(4).tolist()}
        for f in evolution.frames
    ]
    return {"queries": evolution.queries, "keys": evolution.keys, "validations": frames}


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
