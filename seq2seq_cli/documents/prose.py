"""Plain text in paragraphs. Empty lines separate paragraphs, and bullets or numbers begin items."""

import re
from collections.abc import Sequence

from seq2seq_cli.documents.passages import (
    PLACEHOLDERS,
    Format,
    Passage,
    Span,
    decode,
    is_text,
    passages_at,
    splice,
)

_BEGINNING = re.compile(r"[\s>]*(?P<mark>(?:[-*+•‣◦▪·–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))[ \t]+)?")
"""The start of a line before its text: quotation marks of e-mails, and an item's bullet."""


def read(content: bytes, name: str) -> list[Passage]:
    """Return the paragraphs.

    Raises:
        DataError: if it is not UTF-8.
    """
    text = decode(content, name)
    return passages_at(text, _spans(text))


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the text with other paragraphs, one for each paragraph that was read."""
    text = content.decode("utf-8")
    return splice(text, _spans(text), texts).encode("utf-8")


def _spans(text: str) -> list[Span]:
    """Return the positions of paragraphs and items, without the bullets.

    A line without letters, such as a rule, separates paragraphs like an empty line.
    """
    spans: list[Span] = []
    position = 0
    joins = False
    for line in text.split("\n"):
        end = position + len(line)
        beginning = _BEGINNING.match(line)
        assert beginning
        if not is_text(line):
            joins = False
        elif joins and not beginning["mark"]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((position + beginning.end(), end))
            joins = True
        position = end + 1
    return spans


# Tabs and three spaces separate columns.
PROSE = Format(
    read,
    write,
    protected=rf"(?<=\S)(?:\t| {{3}})[ \t]*|{PLACEHOLDERS}",
    breaks=r"[ \t]*\r?\n[ \t>]*",
)
