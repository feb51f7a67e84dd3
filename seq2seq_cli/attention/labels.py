"""Words as labels of figures."""

_LONGEST = 24  # characters


def shortened(word: str) -> str:
    """Return a word without control characters, and cut to a length, with … for what is missing."""
    kept = without_controls(word)
    return kept if len(kept) <= _LONGEST else kept[: _LONGEST - 1] + "…"


def without_controls(text: str) -> str:
    """Replace the characters that neither a font nor XML has."""
    return "".join(c if c.isprintable() else "�" for c in text)
