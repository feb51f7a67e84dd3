"""Figures of results as SVG, drawn by matplotlib."""

import io
from typing import Any


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of matplotlib; the size is in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn


def to_svg(drawn: Any, title: str) -> bytes:
    """Return a figure as SVG with its words as text. The same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "s2s"}):
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Title": title})
    return buffer.getvalue()
