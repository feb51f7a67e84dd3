"""What the formats of documents share: passages of text, and positions in a text."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from seq2seq_cli.errors import DataError, UsageError

PLACEHOLDERS = (
    r"(?:https?|ftp)://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+"  # URLs
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\$\{[^{}\n]*\}|\$[A-Za-z_]\w*"
    r"|\{\{[^{}\n]*\}\}|\{%.*?%\}|\{#[^{}\n]*#\}|<%.*?%>"  # of templates
    r"|%\{[^{}\s]*\}|\{[^{}\s]*\}"
    r"|\{\w+,\s*(?:plural|select|selectordinal|number|date|time)\b"  # of ICU, in two levels
    r"[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\}"
    r"|%(?:\(\w+\)|\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?"
    r"(?:hh|ll|[hlLzjt])?[diouxXeEfFgGcrsa%@]"
    r"|%L?\d+(?![\w%])"  # of Qt
)
"""Texts that a program replaces, URLs and addresses, as a regular expression."""

BREAKS = r"[ \t]*\r?\n[ \t]*"
"""A line break within a sentence, with the spaces around it."""


class Passage(NamedTuple):
    """A text of a document, as it is written there.

    text: with the escapes and the inline tags of its format.
    number: of its line, or of its paragraph, from 1.
    left: whether it stays as it is, since its position in the document is not known.
    continues: whether the passage before goes on here, after a tag or in another font.
    """

    text: str
    number: int
    left: bool = False
    continues: bool = False


class Format(NamedTuple):
    """A format of documents.

    read: returns the passages of a document, given its bytes and its name for errors.
    write: returns the document with another text for each passage, given both.
    protected: a regular expression of what never changes inside a passage.
    breaks: a regular expression of a line break inside a sentence.
    unescape: returns what a reader sees of a text.
    escape: returns a text as the format writes it.
    unit: what the number of a passage counts.
    """

    read: Callable[[bytes, str], list[Passage]]
    write: Callable[[bytes, Sequence[str]], bytes]
    protected: str = PLACEHOLDERS
    breaks: str = BREAKS
    unescape: Callable[[str], str] = str
    escape: Callable[[str], str] = str
    unit: str = "line"


Span = tuple[int, int]  # the first character, and the one after the last


def decode(content: bytes, name: str) -> str:
    """Decode a document of text. A byte order mark stays.

    Raises:
        DataError: if it is not UTF-8 or has a NUL, with the line.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}:{line}: invalid UTF-8 (0x{content[error.start]:02x}). Convert it to UTF-8"
        ) from error
    if (found := text.find("\0")) >= 0:
        raise DataError(f"{name}:{line_at(text, found)}: a NUL character, which no text has")
    return text


def line_at(text: str, position: int) -> int:
    """Return the number of the line of a character, from 1."""
    return text.count("\n", 0, position) + 1


def passages_at(text: str, spans: Iterable[Span]) -> list[Passage]:
    """Return the passages at positions of a text, in order."""
    passages, number, counted = [], 1, 0
    for start, end in spans:
        number += text.count("\n", counted, start)
        counted = start
        passages.append(Passage(text[start:end], number))
    return passages


def splice(text: str, spans: Sequence[Span], texts: Sequence[str]) -> str:
    """Return a text with another one at each of the positions, which are in order."""
    parts, position = [], 0
    for (start, end), new in zip(spans, texts, strict=True):
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


def missing_extra(module: str | None, error: ImportError) -> UsageError:
    """Return the error for a missing package of the extra `documents`."""
    return UsageError(
        f"--format needs {module}. Install it: pip install 's2s[documents]'"
    ).with_traceback(error.__traceback__)


def is_text(text: str) -> bool:
    """Return whether a text has anything to translate: a letter."""
    return re.search(r"[^\W\d_]", text) is not None
