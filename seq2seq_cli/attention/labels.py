"""Words as labels of figures."""

_LONGEST = 24  # characters


def shortened(word: str) -> str:
    """Return a word without control characters, and shortened to a length, with … at the cut."""
    kept = without_controls(word)
    return kept if len(kept) <= _LONGEST else kept[: _LONGEST - 1] + "…"


def without_controls(text: str) -> str:
    """Replace the characters that fonts and XML do not support."""
    return "".join(c if c.isprintable() else "�" for c in text)
