"""A map as a figure for a paper or a slide, drawn by matplotlib (extra `plot`)."""

import importlib.util
import io
import json
import warnings
from typing import Any

import numpy as np

from seq2seq_cli.attention.labels import shortened, without_controls
from seq2seq_cli.attention.maps import Attention, View
from seq2seq_cli.attention.themes import GAMMA, Theme, ink_on, theme_for
from seq2seq_cli.errors import UsageError

_CELL = 0.42  # inches
_LARGEST = 40.0  # inches of a side; cells become smaller if there are more words
_DOTS = 200  # per inch, of a PNG
_CELLS_WITH_NUMBERS = 400
# The first comes with matplotlib; the others, if installed, have further scripts.
_FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Arial Unicode MS",
    "Hiragino Sans",
)


def check_matplotlib(wanted: str = "--png and --svg need") -> None:
    """Check that matplotlib is installed.

    Args:
        wanted: the beginning of the error, with its verb.

    Raises:
        UsageError: if it is not; says how to install it.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(f"{wanted} matplotlib. Install it: pip install 's2s[plot]'")


def figure(attention: Attention, view: View, format_name: str, dark: bool = False) -> bytes:
    """Return a figure of one map as the bytes of a file.

    Words in an SVG are text. The metadata field `Description` has the words and weights as JSON.
    The same map gives the same bytes. A character that no font contains is drawn as a box.

    Args:
        attention: its source and translation are written to the metadata.
        view: the map.
        format_name: `png` or `svg`.
        dark: light text on a dark background, for a dark slide.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.figure import Figure

    theme = theme_for(dark)
    rows, columns = view.weights.shape
    width, height = (min(_LARGEST, 2.2 + _CELL * number) for number in (columns, rows))
    drawn = Figure(figsize=(width, height), facecolor=theme.background, layout="constrained")
    FigureCanvasAgg(drawn)
    axes = drawn.add_subplot(facecolor=theme.background)
    colours = LinearSegmentedColormap.from_list("attention", theme.scale)
    scale = PowerNorm(GAMMA, 0, 1)
    mesh = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        view.weights,
        cmap=colours,
        norm=scale,
        edgecolors=theme.background,
        linewidth=1.5,
    )
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
    _label(axes, view, theme)
    if rows * columns <= _CELLS_WITH_NUMBERS:
        _write_numbers(axes, view, theme)
    bar = drawn.colorbar(mesh, ax=axes, shrink=0.6, pad=0.02, ticks=[0, 0.25, 0.5, 0.75, 1])
    bar.ax.set_yticklabels(["0", "25", "50", "75", "100 %"], color=theme.muted, fontsize=7)
    bar.ax.tick_params(color=theme.muted, length=2)
    bar.outline.set_visible(False)
    axes.set_xlabel(view.title, color=theme.muted, fontsize=8, labelpad=10)
    axes.xaxis.set_label_position("bottom")
    return _saved(drawn, attention, view, format_name)


def _label(axes: Any, view: View, theme: Theme) -> None:
    """Write the words beside rows and above columns. A $ is not mathematical markup."""
    sides = ((axes.xaxis, view.keys), (axes.yaxis, view.queries))
    for axis, words in sides:
        axis.set_ticks(range(len(words)), [shortened(word) for word in words], parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3, labelcolor=theme.ink, labelsize=10)
    axes.tick_params(axis="x", labelrotation=45)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _write_numbers(axes: Any, view: View, theme: Theme) -> None:
    for (row, column), weight in np.ndenumerate(view.weights):
        axes.text(
            column,
            row,
            f"{100 * weight:.0f}" if weight >= 0.005 else "",
            ha="center",
            va="center",
            fontsize=7,
            color=[part / 255 for part in ink_on(theme.colour(weight))],
        )


def _saved(drawn: Any, attention: Attention, view: View, format_name: str) -> bytes:
    from matplotlib import font_manager, rc_context

    record = {"queries": view.queries, "keys": view.keys, "weights": view.weights.tolist()}
    metadata: dict[str, str | None] = {
        "Title": without_controls(f"{attention.source} – {attention.translation}"),
        "Description": json.dumps({**record, "map": view.title}),
    }
    if format_name == "svg":
        metadata["Date"] = None  # else the time is written
    buffer = io.BytesIO()
    there = {font.name for font in font_manager.fontManager.ttflist}
    for text in drawn.findobj(lambda artist: hasattr(artist, "set_family")):
        text.set_family([*_FONTS[:1], *(font for font in _FONTS[1:] if font in there)])
    # Words stay text in an SVG, and the same figure gets the same names.
    with (
        rc_context({"svg.fonttype": "none", "svg.hashsalt": "s2s"}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        drawn.savefig(buffer, format=format_name, dpi=_DOTS, metadata=metadata, bbox_inches="tight")
    return buffer.getvalue()
