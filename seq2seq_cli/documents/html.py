"""HTML: the text between tags. Attributes, scripts, styles and code are not translated."""

import html
import re
from collections.abc import Sequence
from html.parser import HTMLParser

from seq2seq_cli.documents.passages import Format, Passage, Span, decode, passages_at, splice
from seq2seq_cli.errors import DataError

UNTRANSLATED = {
    "script", "style", "template", "noscript", "textarea", "svg", "math", "iframe", "object",
    "pre", "code", "kbd", "samp", "var", "tt",
}  # fmt: skip
"""Elements whose content is not translated."""

VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr",
}  # fmt: skip
"""Elements that have no end tag."""

INLINE = {
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
}  # fmt: skip
"""Inline elements, which do not end a sentence."""

_TAG = re.compile(r"</?([A-Za-z][\w-]*)")


def read(content: bytes, name: str) -> list[Passage]:
    """Return the texts between tags.

    Raises:
        DataError: if it is not UTF-8, or an element of UNTRANSLATED has no end tag.
    """
    text = decode(content, name)
    spans = _spans(text, name)
    ends = [0, *(end for _, end in spans)]
    return [
        passage._replace(continues=_is_inline(text[end:start]))
        for passage, (start, _), end in zip(passages_at(text, spans), spans, ends, strict=False)
    ]


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the page with other texts, one for each text that was read."""
    text = content.decode("utf-8")
    return splice(text, _spans(text, ""), texts).encode("utf-8")


def _stays(attributes: dict[str, str | None]) -> bool:
    """Return whether the attributes of an element forbid the translation of its content."""
    classes = (attributes.get("class") or "").split()
    return attributes.get("translate") == "no" or "notranslate" in classes


def _is_inline(markup: str) -> bool:
    """Return whether all tags between two texts are inline."""
    return all(tag.lower() in INLINE for tag in _TAG.findall(markup))


class _Parser(HTMLParser):
    """Records the positions where text to translate begins, and where other content begins."""

    def __init__(self, text: str, name: str):
        super().__init__()
        self._name = name
        self._lines = [0]
        for content in text.split("\n"):
            self._lines.append(self._lines[-1] + len(content) + 1)
        self._left: list[tuple[str, int]] = []  # (element that is not translated, its line)
        self.events: list[tuple[int, bool]] = []  # (position, whether the content is translated)
        try:
            # Character references are text. A malformed one would end the parsing of tags.
            self.feed(text.replace("&", "."))
            self.close()
        except AssertionError as error:  # some versions of Python, on an unknown declaration
            raise DataError(f"{name}:{self.getpos()[0]}: not HTML: {error}. Correct it") from error
        if self._left:
            tag, line = self._left[-1]
            raise DataError(f"{name}:{line}: <{tag}> has no </{tag}>. Add it")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note()
        no = _stays(dict(attrs)) and tag not in VOID
        if tag in UNTRANSLATED or no or (self._left and self._left[-1][0] == tag):
            self._left.append((tag, self.getpos()[0]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID or (self._left and self._left[-1][0] in {"svg", "math"}) or tag in {"svg"}:
            self._note()
        else:
            self.handle_starttag(tag, attrs)  # browsers ignore the slash

    def handle_endtag(self, tag: str) -> None:
        self._note()
        if self._left and self._left[-1][0] == tag:
            self._left.pop()

    def handle_data(self, data: str) -> None:
        self._note(not self._left)

    def handle_comment(self, data: str) -> None:
        self._note()

    def handle_decl(self, decl: str) -> None:
        self._note()

    def handle_pi(self, data: str) -> None:
        self._note()

    def unknown_decl(self, data: str) -> None:
        self._note()

    def _note(self, translated: bool = False) -> None:
        line, column = self.getpos()
        self.events.append((self._lines[line - 1] + column, translated))


def _spans(text: str, name: str) -> list[Span]:
    spans: list[Span] = []
    events = _Parser(text, name).events
    ends = [*(position for position, _ in events[1:]), len(text)]
    for (start, translated), end in zip(events, ends, strict=False):
        if not translated or start >= end:
            continue
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


HTML = Format(read, write, unescape=html.unescape, escape=_escape)
