"""Markdown: the text of paragraphs, headings, lists and tables, without code, HTML and links."""

import html
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from seq2seq_cli.documents.passages import (
    PLACEHOLDERS,
    Format,
    Passage,
    Span,
    decode,
    is_text,
    line_at,
    missing_extra,
    splice,
)

_FRONT_MATTER = re.compile(  # YAML or TOML
    r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n.*?\r?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_INLINE = (
    r"(?<!\\)(?<!`)(?P<ticks>`+)(?!`)[^\0]*?(?<!`)(?P=ticks)(?!`)"  # code
    r"|</?[A-Za-z!][^<>]*>"  # a tag or an automatic link
    r"|(?<!\\)!?\[[^\[\]]*\]\[[^\[\]]*\]"  # a link by reference
    r"|(?<!\\)!?\[[^\[\]]*\](?!\()"  # the same, shortened; a footnote; a task
    r"|(?<!\\)\]\((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"  # the target of a link
    r"|(?<!\\)!?\[|(?<!\\)\]"
    r"|(?<!\\)\*+|(?<![\w\\])_+|(?<!\\)_+(?!\w)|(?<!\\)~~"  # emphasis
    r"|(?:\\|[ ]{2,})(?=\r?\n)"  # a hard line break
    r"|(?<![\w:]):[a-z][\w+-]*:(?!\w)"  # an emoji by its name
)


class _Text(NamedTuple):
    """A text of a document: its position (None if unknown), and its first line."""

    span: Span | None
    line: int


def read(content: bytes, name: str) -> list[Passage]:
    """Return the texts of the blocks.

    HTML blocks and texts of unknown position get an empty text and are `left`.

    Raises:
        DataError: if it is not UTF-8.
        UsageError: if markdown-it-py is not installed.
    """
    text = decode(content, name)
    passages = []
    for span, line in _texts(text):
        found = "" if span is None else text[span[0] : span[1]]
        passages.append(Passage(found, line, left=span is None))
    return passages


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the document with other texts, one for each text that was read."""
    text = content.decode("utf-8")
    found = zip(_texts(text), texts, strict=True)
    pairs = [(each.span, new) for each, new in found if each.span is not None]
    return splice(text, [span for span, _ in pairs], [new for _, new in pairs]).encode("utf-8")


def _texts(text: str) -> list[_Text]:
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise missing_extra("markdown-it-py", error) from error
    matter = _FRONT_MATTER.match(text)
    offset = matter.end() if matter else int(text.startswith("\ufeff"))
    first_line = line_at(text, offset)
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text[offset:])
    starts = [offset]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[_Text] = []
    position = offset
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text[offset:]):
        if token.map is None or not is_text(token.content):
            continue
        number = token.map[0] + first_line
        if token.type == "html_block":
            found.append(_Text(None, number))
        elif token.type == "inline":
            span = _position(text, token.content, starts[token.map[0] :], position)
            position = span[1] if span else position
            found.append(_Text(span, number))
    return found


def _position(text: str, content: str, starts: list[int], earliest: int) -> Span | None:
    """Return the position of a text of several lines, which begin at `starts`."""
    start = end = -1
    for line, (first, after) in zip(content.split("\n"), itertools.pairwise(starts), strict=False):
        plain = line.strip()
        in_cell = plain.replace("|", r"\|")  # a table needs the backslash
        for form in dict.fromkeys((plain, in_cell)):
            end = text.find(form, max(first, earliest), after)
            if end >= 0:
                break
        else:
            return None
        start = end if start < 0 else start
        end += len(form)
    return (start, end) if start >= 0 else None


def _unescape(text: str) -> str:
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text))


def _escape(text: str) -> str:
    text = re.sub(r"([\\`*_\[\]<>|~#]|&(?=#?\w+;))", r"\\\1", text)
    text = re.sub(r"(?<!\S)([-+=])", r"\\\1", text)  # a list or an underline, on a new line
    return re.sub(r"(?<!\S)(\d+)([.)])(?=\s|$)", r"\1\\\2", text)


MARKDOWN = Format(
    read,
    write,
    protected=rf"{_INLINE}|{PLACEHOLDERS}",
    breaks=r"[ \t]*(?:\r\n?|\n)[ \t>]*",
    unescape=_unescape,
    escape=_escape,
)
