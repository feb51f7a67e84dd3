"""The pictures of the chapters, as SVG files in pictures/ of the current folder."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from seq2seq_cli.attention.figure import figure
from seq2seq_cli.attention.maps import Attention, View
from seq2seq_cli.attention.themes import LIGHT
from seq2seq_cli.attention.tokens import Tokens

_COLOURS = ("#2a70b0", "#b03a06", "#3d8c40", "#7a4f9e", "#8a6d1f")
_MARKERS = "osD^v"


def heat_map(
    name: str, queries: Sequence[str], keys: Sequence[str], weights: np.ndarray, title: str
) -> str:
    """Draw a map of weights, as `s2s attention --svg` does.

    Args:
        name: of the file, without its ending.
        queries: the words of the rows.
        keys: the words of the columns.
        weights: [queries, keys], from 0 to 1.
        title: stands below.

    Returns:
        The path of the file.
    """
    weights = np.asarray(weights, np.float64)
    sides = [Tokens([*words], [*words], [*range(len(words))]) for words in (keys, queries)]
    attention = Attention(
        source=" ".join(keys),
        translation=" ".join(queries),
        source_side=sides[0],
        target_side=sides[1],
        input_side=sides[1],
        log_probabilities=np.zeros(len(queries)),
        maps={"cross": weights[np.newaxis, np.newaxis]},
        words=[],
    )
    view = View([*queries], [*keys], weights, title)
    return _write(name, figure(attention, view, "svg").decode())


def curves(
    name: str,
    series: Mapping[str, Mapping[int, float] | Sequence[float]],
    x: str,
    y: str,
    marked: bool = False,
    logarithmic: bool = False,
) -> str:
    """Draw lines of points.

    Args:
        name: of the file, without its ending.
        series: for each line its points: values by x, or values that begin with x = 0.
        x: what the horizontal axis is.
        y: what the vertical axis is.
        marked: whether each point is marked.
        logarithmic: whether the vertical axis is.

    Returns:
        The path of the file.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "s2s"}):
        drawn = Figure(figsize=(6.4, 3.4), facecolor=LIGHT.background, layout="constrained")
        FigureCanvasAgg(drawn)
        axes = drawn.add_subplot()
        for number, (label, points) in enumerate(series.items()):
            by_x = points if isinstance(points, Mapping) else dict(enumerate(points))
            axes.plot(
                *([*by_x], [*by_x.values()]),
                color=_COLOURS[number % len(_COLOURS)],
                marker=_MARKERS[number % len(_MARKERS)] if marked else None,
                label=label,
            )
        axes.set(xlabel=x, ylabel=y, yscale="log" if logarithmic else "linear")
        axes.tick_params(labelcolor=LIGHT.ink)
        axes.grid(color="#e4e4e4")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Title": f"{y} by {x}"})
    return _write(name, buffer.getvalue())


def _write(name: str, svg: str) -> str:
    path = Path("pictures") / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", "utf-8")
    return path.as_posix()
