"""Curves in the terminal, drawn by plotille in braille dots."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

Points = Sequence[tuple[float, float]]

_COLOURS = ("cyan", "red", "yellow", "green", "magenta", "blue")
_BESIDE = 26  # columns of the axis and its label
_LOWEST = 20  # columns of a curve


def drawn_curves(title: str, series: Mapping[str, Points], to: Console, height: int = 10) -> Text:
    """Return curves over the updates as text.

    Args:
        title: what the values are.
        series: (update, value) points, by the name of the curve.
        to: the console, whose width and colours are used.
        height: in lines.
    """
    import plotille

    drawn = [(name, points) for name, points in series.items() if points]
    if not drawn:
        return Text(f"{title}: no figures yet")
    figure = plotille.Figure()
    figure.width = max(_LOWEST, min(to.width, 100) - _BESIDE)
    figure.height = height
    figure.with_colors = bool(to.color_system)
    figure.x_label, figure.y_label = "update", title
    figure.y_ticks_fkt = _tick
    figure.x_ticks_fkt = _update
    figure.set_y_limits(*_limits([value for _, points in drawn for _, value in points]))
    figure.set_x_limits(0, max(update for _, points in drawn for update, _ in points) or 1)
    for number, (name, points) in enumerate(drawn):
        updates, values = zip(*points, strict=True)
        colour = _COLOURS[number % len(_COLOURS)] if figure.with_colors else None
        marker = None if figure.with_colors or len(drawn) == 1 else chr(ord("A") + number)
        figure.plot(updates, values, label=name, lc=colour, marker=marker)
    lines = figure.show(legend=len(drawn) > 1).replace("Legend:\n-------\n", "")
    return Text.from_ansi(lines)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest value of an axis; zero if there are no values."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1, high + 1)


def _update(value: float, _: float) -> str:
    return f"{value:,.0f}"


def _tick(value: float, _: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
