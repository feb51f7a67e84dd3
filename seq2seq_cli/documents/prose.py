"""Prose: plain text whose paragraphs are separated by empty lines."""

from collections.abc import Sequence

from seq2seq_cli.documents.passages import Format, Passage, Span, decode, passages_at, splice


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
    """Return the positions of lines with something on them that follow each other."""
    spans: list[Span] = []
    position = 0
    joins = False
    for line in text.split("\n"):
        end = position + len(line)
        is_empty = not line.strip("\ufeff \t\r\v\f")
        if not is_empty and joins:
            spans[-1] = (spans[-1][0], end)
        elif not is_empty:
            spans.append((position, end))
        joins = not is_empty
        position = end + 1
    return spans


PROSE = Format(read, write)
