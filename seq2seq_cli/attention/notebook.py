"""A map as an HTML table without scripts, for notebooks."""

from collections.abc import Sequence

import numpy as np

from seq2seq_cli.attention.themes import LIGHT, Colour, ink_on

_TABLE = """\
<figure style="margin:0;max-width:100%;overflow:auto">
<figcaption><bdi>{{ caption }}</bdi></figcaption>
<table style="border-collapse:separate;border-spacing:2px;font-variant-numeric:tabular-nums">
<thead><tr><td></td>
{%- for key in keys %}<th scope="col" style="{{ word }}"><bdi>{{ key }}</bdi></th>{% endfor -%}
</tr></thead>
<tbody>
{% for query, cells in rows %}<tr><th scope="row" style="{{ word }}"><bdi>{{ query }}</bdi></th>
{%- for weight, background, ink in cells -%}
<td title="{{ '%.6f'|format(weight) }}" style="background:rgb{{ background }};color:rgb{{ ink }};\
text-align:center;padding:0.3em 0.5em">{{ '%.0f'|format(100 * weight) if weight >= 0.005 }}</td>
{%- endfor %}</tr>
{% endfor %}</tbody>
</table>
</figure>
"""
_WORD = "text-align:right;padding:0.3em 0.5em;max-width:12em;overflow-wrap:anywhere"


def table_html(
    caption: str, queries: Sequence[str], keys: Sequence[str], weights: np.ndarray
) -> str:
    """Return a table: a row for each query, a column for each key, percentages in the cells.

    Args:
        caption: the text above it.
        queries: the words of the rows.
        keys: the words of the columns.
        weights: [queries, keys], from 0 to 1.
    """
    from jinja2 import Environment

    rows = [
        (query, [(float(weight), *_colours(float(weight))) for weight in row])
        for query, row in zip(queries, weights, strict=True)
    ]
    template = Environment(autoescape=True).from_string(_TABLE)
    return template.render(caption=caption, keys=keys, rows=rows, word=_WORD)


def _colours(weight: float) -> tuple[Colour, Colour]:
    """Return the colour of a cell, and that of the number in it."""
    colour = LIGHT.colour(weight)
    return colour, ink_on(colour)
