"""The common part of all document formats: passages of text, and positions in a text."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from seq2seq_cli.errors import DataError, UsageError

PLACEHOLDERS = (
    r"(?:(?:https?|ftp)://|\bwww\.)[^\s<>\"')\]]+(?<![.,;:!?])"  # URLs
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
"""A regular expression for placeholders, URLs and e-mail addresses."""

BREAKS = r"[ \t]*\r?\n[ \t]*"
"""A line break inside a sentence, with the spaces around it."""


class Passage(NamedTuple):
    """A text of a document, in the syntax of its format.

    Attributes:
        text: the text, with the escapes and inline tags of the format.
        number: the number of its line or paragraph, from 1.
        left: whether it is not translated, because its position in the document is unknown.
        continues: whether it continues the previous passage, after a tag or in another font.
    """

    text: str
    number: int
    left: bool = False
    continues: bool = False


class Format(NamedTuple):
    """A document format.

    Attributes:
        read: returns the passages of a document, given its bytes and its name for errors.
        write: returns the document with another text for each passage, given both.
        protected: a regular expression for the parts of a passage that never change.
        breaks: a regular expression for a line break inside a sentence.
        unescape: returns a text as a reader sees it.
        escape: returns a text in the syntax of the format.
        unit: the unit of a passage's number.
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
    """Decode a text document. A byte order mark is kept.

    Raises:
        DataError: if it is not UTF-8 or contains NUL. The message names the line.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}:{line}: invalid UTF-8 (0x{content[error.start]:02x}). Convert it to UTF-8"
        ) from error
    if (found := text.find("\0")) >= 0:
        raise DataError(f"{name}:{line_at(text, found)}: contains a NUL character. Remove it")
    return text


def line_at(text: str, position: int) -> int:
    """Return the line number of a character, from 1."""
    return text.count("\n", 0, position) + 1


def passages_at(text: str, spans: Iterable[Span]) -> list[Passage]:
    """Return the passages at the given positions of a text, in order."""
    passages, number, counted = [], 1, 0
    for start, end in spans:
        number += text.count("\n", counted, start)
        counted = start
        passages.append(Passage(text[start:end], number))
    return passages


def splice(text: str, spans: Sequence[Span], texts: Sequence[str]) -> str:
    """Replace the text at each of the positions, which are in order."""
    parts, position = [], 0
    for (start, end), new in zip(spans, texts, strict=True):
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


def missing_extra(module: str, error: ImportError) -> UsageError:
    """Return the error for a missing package of the extra `documents`."""
    return UsageError(
        f"--format needs {module}. Install it: pip install 's2s[documents]'"
    ).with_traceback(error.__traceback__)


def is_text(text: str) -> bool:
    """Return whether a text contains a letter, and so something to translate."""
    return re.search(r"[^\W\d_]", text) is not None
