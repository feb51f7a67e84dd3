"""SRT subtitles: the texts, without numbers, times and tags."""

import re
from collections.abc import Sequence

from seq2seq_cli.documents.passages import (
    PLACEHOLDERS,
    Format,
    Passage,
    Span,
    decode,
    line_at,
    missing_extra,
    passages_at,
    splice,
)
from seq2seq_cli.errors import DataError

_ARROW = re.compile(r"-[ -] *>")  # srt accepts these
"""The arrow between the times of a subtitle."""


def read(content: bytes, name: str) -> list[Passage]:
    """Return the texts of the subtitles.

    Raises:
        DataError: if it is not UTF-8, or a subtitle has no times.
        UsageError: if srt is not installed.
    """
    text = decode(content, name)
    return passages_at(text, _spans(text, name))


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the subtitles with other texts, one for each text that was read."""
    text = content.decode("utf-8")
    return splice(text, _spans(text, ""), texts).encode("utf-8")


def _spans(text: str, name: str) -> list[Span]:
    try:
        import srt
    except ImportError as error:
        raise missing_extra("srt", error) from error
    spans, position = [], 0
    try:
        for subtitle in srt.parse(text.replace("\ufeff", " ", 1).replace("\r\n", " \n")):
            position = next(_ARROW.finditer(text, position)).start()
            start = text.find("\n", position) + 1 or len(text)
            position = start + len(subtitle.content)
            # srt treats a subtitle without times as text of the previous one.
            if number := re.search(r"\n\s*\n(?=\d+\s*\n)", text[start:position]):
                raise DataError(
                    f"{name}:{line_at(text, start + number.end())}: the subtitle has no times. "
                    "Add them"
                )
            spans.append((start, position))
    except OverflowError as error:
        line = line_at(text, position)
        raise DataError(
            f"{name}:{line}: a time after this line is too large. Correct it"
        ) from error
    except srt.SRTParseError as error:
        line = line_at(text, error.expected_start)
        raise DataError(
            f"{name}:{line}: not an SRT subtitle: "
            f"{error.unmatched_content.strip()[:60]!r}. Correct it"
        ) from error
    return spans


_TAG = r"</?[A-Za-z][^<>\n]*>|\{\\[^{}\n]*\}"
_CAPITALS = "".join(filter(str.isupper, map(chr, range(0x10000))))
_SPEAKER = (
    r"(?:^|(?<=\n))[-–—][ \t]*"
    rf"|(?:^|(?<=\n)|(?<=[-–—] ))[{_CAPITALS}][{_CAPITALS}\d_]*(?:[ .'-]+[{_CAPITALS}\d_]+)*:(?=\s)"
)
"""A dash at the beginning of a line, or a name in capitals."""

# Notes between brackets or music symbols are separate texts.
SRT = Format(
    read,
    write,
    protected=rf"(?:{_TAG})(?:[-–—][ \t]+)?|{_SPEAKER}|[\[\]♪♫]|{PLACEHOLDERS}",
)
