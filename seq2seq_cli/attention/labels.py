"""Words as labels of figures."""

import unicodedata

BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""The characters that change the direction of the text after them."""

_WITHOUT_FORM = ("Cc", "Cs", "Cn", "Zl", "Zp")  # categories
_LONGEST = 24  # characters


def shortened(word: str) -> str:
    """Return a word without control characters, and shortened to a length, with … at the cut."""
    kept = without_controls(word)
    return kept if len(kept) <= _LONGEST else kept[: _LONGEST - 1] + "…"


def without_controls(text: str) -> str:
    """Replace the characters that fonts and XML do not support, and spaces of other widths."""
    return "".join(map(_drawn, text))


def _drawn(character: str) -> str:
    category = unicodedata.category(character)
    if category in _WITHOUT_FORM or character in BIDI_CONTROLS:
        return "\N{REPLACEMENT CHARACTER}"
    return " " if category == "Zs" else character
