"""A map of attention as a heat map in the terminal, drawn by Rich."""

import os
import unicodedata
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from seq2seq_cli.attention.labels import BIDI_CONTROLS
from seq2seq_cli.attention.maps import View
from seq2seq_cli.attention.themes import Colour, ink_on

_SHADES = " ░▒▓█"
_WIDEST = 16  # columns of a terminal that a word takes before it is folded
_NARROWEST = {True: 4, False: 6}  # of a cell, with colours and without
_SHARE_OF_LABELS = 3  # the words at the left take at most this part of the width
# From no attention to all of it, on a dark and on a light background.
_DARK = [(28, 32, 44), (31, 62, 112), (37, 112, 190), (86, 178, 240), (214, 240, 255)]
_LIGHT = [(255, 255, 255), (207, 226, 250), (120, 174, 240), (33, 104, 200), (8, 36, 102)]
_INVISIBLE = {"Cc", "Cs", "Zl", "Zp"}


class HeatMap:
    """Queries as rows, keys as columns, weights as colours and percentages.

    It is never wider than the terminal: columns that do not fit follow in further blocks, and long
    words are folded. Without colours, block characters of four shades are used.

    Args:
        view: the map.
        probabilities: of the queries, shown beside them; empty to leave them out.
        coloured: whether to use colours; None to ask the terminal.
    """

    def __init__(
        self, view: View, probabilities: Sequence[float] = (), coloured: bool | None = None
    ):
        self._view = view
        self._coloured = coloured
        self._keys = [printable(key) for key in view.keys]
        self._labels = [printable(query) for query in view.queries]
        self._notes = [f"{100 * p:3.0f}%" for p in probabilities] or [""] * len(self._labels)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a title and the lines of each block of columns."""
        coloured = self._coloured
        if coloured is None:
            coloured = console.color_system in ("truecolor", "256")
        note = max(map(cell_len, self._notes), default=0)
        most = max(4, options.max_width // _SHARE_OF_LABELS - note)
        label = min(most, max(map(cell_len, self._labels), default=1))
        left = label + note + (2 if note else 1)
        widths = self._widths(options.max_width - left, coloured)
        for begin, end in blocks(widths, options.max_width - left):
            if begin > 0:
                yield Text()
            if end - begin < len(widths):
                yield Text(f"columns {begin + 1} to {end} of {len(widths)}", style="dim")
            yield from self._head(widths, begin, end, left)
            for row in range(len(self._labels)):
                yield from self._row(row, widths, begin, end, (label, note), coloured)

    def _widths(self, free: int, coloured: bool) -> list[int]:
        """Return the width of each column, the space before the next one included."""
        most = max(_NARROWEST[coloured], min(_WIDEST, free))
        return [
            min(most, max(_NARROWEST[coloured], min(_WIDEST, cell_len(key)) + 1))
            for key in self._keys
        ]

    def _head(self, widths: list[int], begin: int, end: int, left: int) -> Iterator[Text]:
        """Yield the keys above their columns, in as many lines as the longest key needs."""
        folded = [fold(self._keys[i], widths[i] - 1) for i in range(begin, end)]
        height = max(map(len, folded))
        for line in range(height):
            text = Text(" " * left, no_wrap=True)
            for parts, width in zip(folded, widths[begin:end], strict=True):
                number = line - (height - len(parts))
                part = parts[number] if number >= 0 else ""
                text.append(set_cell_size(part, width), "bold")
            text.rstrip()
            yield text

    def _row(
        self,
        row: int,
        widths: list[int],
        begin: int,
        end: int,
        left: tuple[int, int],
        coloured: bool,
    ) -> Iterator[Text]:
        """Yield the lines of a query: weights in the first, the rest of a long word in others."""
        label, note = left
        first, *others = fold(self._labels[row], label)
        text = Text(no_wrap=True)
        text.append(" " * (label - cell_len(first)) + first, "bold")
        text.append(" " + self._notes[row].rjust(note) if note else "", "dim")
        weights = self._view.weights[row]
        best = int(weights.argmax())
        for i in range(begin, end):
            cell = _coloured_cell if coloured else _shaded_cell
            text.append(" ").append_text(cell(float(weights[i]), widths[i] - 1, i == best))
        yield text
        for other in others:
            yield Text(" " * (label - cell_len(other)) + other, style="bold", no_wrap=True)


def printable(text: str) -> str:
    """Escape characters that would move the cursor or change the direction of the text."""
    return "".join(
        f"\\u{ord(c):04x}" if unicodedata.category(c) in _INVISIBLE or c in BIDI_CONTROLS else c
        for c in text
    )


def fold(text: str, width: int) -> list[str]:
    """Split a text into lines of at most `width` terminal columns."""
    return chop_cells(text, width) if cell_len(text) > width else [text]


def blocks(widths: Sequence[int], free: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of the columns that fit side by side, at least one at a time."""
    begin, used = 0, 0
    for i, width in enumerate(widths):
        # The last column needs no space after it.
        if i > begin and used + width - 1 > free:
            yield begin, i
            begin, used = i, 0
        used += width
    if widths:
        yield begin, len(widths)


def _coloured_cell(weight: float, width: int, is_best: bool) -> Text:
    colour = _colour(weight)
    style = Style(
        color=Color.from_rgb(*ink_on(colour)), bgcolor=Color.from_rgb(*colour), bold=is_best
    )
    return Text(_per_cent(weight).rjust(3).center(width), style)


def _shaded_cell(weight: float, width: int, is_best: bool) -> Text:
    shade = _SHADES[min(len(_SHADES) - 1, int(weight * 4 + 0.75))]
    number = _per_cent(weight)
    return Text(shade * (width - 3) + number.rjust(3), Style(bold=is_best))


def _per_cent(weight: float) -> str:
    return f"{100 * weight:.0f}" if weight >= 0.005 else "·"


def _colour(weight: float) -> Colour:
    """Return the interpolated colour of the scale for a weight from 0 to 1."""
    scale = _LIGHT if _is_light() else _DARK
    position = min(1.0, max(0.0, weight)) ** 0.7 * (len(scale) - 1)
    i = min(int(position), len(scale) - 2)
    share = position - i
    red, green, blue = (
        round(a + (b - a) * share) for a, b in zip(scale[i], scale[i + 1], strict=True)
    )
    return red, green, blue


def _is_light() -> bool:
    """Return whether the terminal says that its background is light, as some do."""
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
