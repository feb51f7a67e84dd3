"""The trials of a tuning as a figure, drawn by matplotlib."""

import math
from collections.abc import Sequence
from typing import Any

from seq2seq_cli.recipes.plotting import new_figure, to_svg
from seq2seq_cli.recipes.search_space import Range, Space
from seq2seq_cli.recipes.trials import Trial

_COLUMNS = 3
_COLOURS = {"done": "#4c78a8", "stopped": "#bab0ac"}
_BEST = "#e45756"


def plot(trials: Sequence[Trial], space: Space) -> bytes:
    """Return an SVG with dev BLEU by trial, and by the values of each key.

    The same trials give the same bytes.
    """
    rows = math.ceil((1 + len(space)) / _COLUMNS)
    drawn = new_figure(4 * _COLUMNS, 3 * rows)
    panels = drawn.subplots(rows, _COLUMNS, squeeze=False).ravel()
    shown = [trial for trial in trials if trial.dev_bleu is not None]
    _draw_course(panels[0], shown)
    for axes, key in zip(panels[1:], space, strict=False):
        _draw_key(axes, shown, key, space)
    for axes in panels[1 + len(space) :]:
        axes.set_visible(False)
    return to_svg(drawn, "s2s recipe tune")


def _draw_course(axes: Any, shown: Sequence[Trial]) -> None:
    """Draw the dev BLEU of each trial, and the best so far."""
    _draw_points(axes, shown, [trial.number for trial in shown])
    best, course = -math.inf, list[float]()
    for trial in shown:
        if trial.state == "done" and trial.dev_bleu is not None:
            best = max(best, trial.dev_bleu)
        course.append(best if math.isfinite(best) else math.nan)
    numbers = [trial.number for trial in shown]
    axes.plot(numbers, course, color=_BEST, drawstyle="steps-post", label="best so far")
    axes.set(xlabel="trial", ylabel="dev BLEU")
    if shown:
        axes.legend(fontsize=8)


def _draw_key(axes: Any, shown: Sequence[Trial], key: str, space: Space) -> None:
    """Draw the dev BLEU by the values of a key."""
    dimension = space[key]
    if isinstance(dimension, Range):
        _draw_points(axes, shown, [float(trial.values[key]) for trial in shown])
        if dimension.log:
            axes.set_xscale("log")
    else:
        names = [str(value) for value in dimension.values]
        _draw_points(axes, shown, [names.index(str(trial.values[key])) for trial in shown])
        axes.set_xticks(range(len(names)), names, parse_math=False)
    axes.set(xlabel=key, ylabel="dev BLEU")


def _draw_points(axes: Any, shown: Sequence[Trial], positions: Sequence[float]) -> None:
    for state, colour in _COLOURS.items():
        points = [
            (position, trial.dev_bleu)
            for position, trial in zip(positions, shown, strict=True)
            if trial.state == state
        ]
        if points:
            axes.scatter(*zip(*points, strict=True), color=colour, s=20, label=state)
