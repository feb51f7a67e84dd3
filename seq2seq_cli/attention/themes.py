"""The colours of attention figures, for light and dark backgrounds."""

from typing import NamedTuple

GAMMA = 0.75
"""The exponent that maps a weight to the colour scale, so that small weights are visible."""

Colour = tuple[int, int, int]


class Theme(NamedTuple):
    """The colours of a figure, as #rrggbb; `scale` is for weights from 0 to 1."""

    background: str
    ink: str
    muted: str
    accent: str
    scale: tuple[str, ...]

    def colour(self, weight: float) -> Colour:
        """Return red, green and blue, 0 to 255, of a weight from 0 to 1."""
        position = min(1.0, max(0.0, weight)) ** GAMMA * (len(self.scale) - 1)
        below = min(int(position), len(self.scale) - 2)
        ends = zip(rgb(self.scale[below]), rgb(self.scale[below + 1]), strict=True)
        red, green, blue = (round(a + (b - a) * (position - below)) for a, b in ends)
        return red, green, blue


LIGHT = Theme(
    *("#ffffff", "#1b2130", "#5b6372", "#b03a06"),
    ("#f5f3ee", "#cddfee", "#7db2da", "#2a70b0", "#0a2f66"),
)
DARK = Theme(
    *("#12151c", "#e9e7e1", "#a3abba", "#ffab6b"),
    ("#1a1e28", "#234467", "#2a74b4", "#5fb3ea", "#d6f0ff"),
)


def theme_for(dark: bool) -> Theme:
    """Return the theme for a dark or a light background."""
    return DARK if dark else LIGHT


def rgb(colour: str) -> Colour:
    """Return red, green and blue, 0 to 255, of #rrggbb."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
