"""The colours of attention figures, for light and dark backgrounds."""

from typing import NamedTuple

GAMMA = 0.75
"""The exponent that maps a weight to the colour scale, so that small weights are visible."""

Colour = tuple[int, int, int]

BLACK, WHITE = (0, 0, 0), (255, 255, 255)


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
    background="#ffffff",
    ink="#1b2130",
    muted="#5b6372",
    accent="#b03a06",
    scale=("#f5f3ee", "#cddfee", "#7db2da", "#2a70b0", "#0a2f66"),
)
DARK = Theme(
    background="#12151c",
    ink="#e9e7e1",
    muted="#a3abba",
    accent="#ffab6b",
    scale=("#1a1e28", "#234467", "#2a74b4", "#5fb3ea", "#d6f0ff"),
)


def theme_for(dark: bool) -> Theme:
    """Return the theme for a dark or a light background."""
    return DARK if dark else LIGHT


def ink_on(background: Colour) -> Colour:
    """Return black or white: the colour of text with the higher contrast, which is at least 4.5.

    The contrast is that of WCAG 2: (a + 0.05) / (b + 0.05), with a and b the higher and the lower
    of two luminances.
    """
    luminance = luminance_of(background)
    return BLACK if (luminance + 0.05) ** 2 > 1.05 * 0.05 else WHITE


def luminance_of(colour: Colour) -> float:
    """Return the relative luminance of WCAG 2: from 0, black, to 1, white."""
    parts = [part / 255 for part in colour]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rgb(colour: str) -> Colour:
    """Return red, green and blue, 0 to 255, of #rrggbb."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
