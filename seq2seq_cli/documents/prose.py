"""Prose: plain text whose paragraphs are separated by empty lines, and items of lists by marks."""

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
"""What stands before the text of a line: the marks of quotations, and that of an item."""


def read(content: bytes, name: str) -> list[Passage]:
    """Return the paragraphs.

    Raises:
        DataError: if it is not UTF-8.
    """
    text = decode(content, name)
    return passages_at(text, _spans(text))


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the text with other paragraphs, which must be as many."""
    text = content.decode("utf-8")
    return splice(text, _spans(text), texts).encode("utf-8")


def _spans(text: str) -> list[Span]:
    """Return the positions of paragraphs and of items, without the marks of items.

    A line without letters, such as a rule, separates as an empty line does.
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
