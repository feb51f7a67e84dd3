"""Segments: the sentences of passages, or what is between the tags and placeholders of one."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from seq2seq_cli.documents.passages import Format, Passage, Span, is_text, missing_extra, splice

_CLOSING = r"[,;:.!?…)\]}”»]+(?=\s)"
"""What ends the text before a segment, such as the comma after a tag."""


class Segment(NamedTuple):
    """A stretch of text that is translated as one.

    text: as a reader sees it, on one line.
    passage: the index of its passage.
    span: its position in the passage.
    number: of the line or paragraph of the passage.
    is_part: whether its sentence has other parts, beyond a tag or placeholder.
    """

    text: str
    passage: int
    span: Span
    number: int
    is_part: bool


def find_segments(passages: Sequence[Passage], form: Format) -> list[Segment]:
    """Return the segments of all passages, in order.

    Raises:
        UsageError: if the sentence splitter is not installed.
    """
    segments = []
    for index, passage in enumerate(passages):
        if passage.left or not is_text(passage.text):
            continue
        for parts in _sentence_parts(passage.text, form):
            for start, end in parts:
                text = form.unescape(re.sub(form.breaks, " ", passage.text[start:end]))
                is_part = len(parts) > 1
                segments.append(Segment(text, index, (start, end), passage.number, is_part))
    return _with_continued(passages, segments)


def _with_continued(passages: Sequence[Passage], segments: list[Segment]) -> list[Segment]:
    """Mark the segments of sentences that go on in the next passage as parts."""
    marked = list(segments)
    for index, (before, after) in enumerate(pairwise(segments)):
        between = passages[before.passage + 1 : after.passage + 1]
        ends = re.search(r"[.!?…:][\"'”»)]*$", before.text)
        if between and all(passage.continues for passage in between) and not ends:
            marked[index] = marked[index]._replace(is_part=True)
            marked[index + 1] = after._replace(is_part=True)
    return marked


def with_translations(
    passages: Sequence[Passage],
    segments: Sequence[Segment],
    translations: Sequence[str],
    form: Format,
) -> list[str]:
    """Return the text of each passage with the translations of its segments.

    A translation gets as many line breaks as its segment has, at about the same positions. A
    segment whose translation is its own text stays as it was written.
    """
    changes: list[list[tuple[Span, str]]] = [[] for _ in passages]
    for segment, translation in zip(segments, translations, strict=True):
        if translation != segment.text:
            start, end = segment.span
            raw = passages[segment.passage].text[start:end]
            new = _with_breaks(raw, form.escape(translation), form.breaks)
            changes[segment.passage].append((segment.span, new))
    return [
        splice(passage.text, [span for span, _ in changed], [new for _, new in changed])
        for passage, changed in zip(passages, changes, strict=True)
    ]


def _sentence_parts(text: str, form: Format) -> Iterator[list[Span]]:
    """Yield the positions of the segments of each sentence that has any."""
    protected = [match.span() for match in re.finditer(form.protected, text) if match[0]]
    # Dots in a URL end no sentence; a line break ends no word.
    masked = re.sub(form.protected, lambda match: "x" * len(match[0]), text)
    masked = re.sub(form.breaks, lambda match: " " * len(match[0]), masked)
    outer = re.compile(rf"(?:[\s\ufeff]|{form.breaks}|{_CLOSING})*")
    for start, end in _sentences(masked):
        parts, position = [], start
        inside = [(max(a, start), min(b, end)) for a, b in protected if a < end and b > start]
        for left, right in [*inside, (end, end)]:
            skipped = outer.match(text, position, left)
            first = skipped.end() if skipped else position
            last = first + len(text[first:left].rstrip())
            if is_text(text[first:last]):
                parts.append((first, last))
            position = max(position, right)
        if parts:
            yield parts


def _sentences(text: str) -> list[Span]:
    """Return the positions of the sentences of a text; together they cover it."""
    try:
        from syntok import segmenter
    except ImportError as error:
        raise missing_extra("syntok", error) from error
    starts = [
        sentence[0].offset
        for paragraph in segmenter.analyze(text)
        for sentence in paragraph
        if sentence
    ]
    bounds = [0, *(start for start in starts[1:] if start > 0), len(text)]
    return [(start, end) for start, end in pairwise(bounds) if start < end]


def _with_breaks(raw: str, text: str, breaks: str) -> str:
    """Put the line breaks of a raw text into another, in the place of the nearest spaces."""
    spaces = [match.start() for match in re.finditer(" ", text)]
    found = list(re.finditer(breaks, raw))
    chosen: dict[int, str] = {}
    first = 0
    for position, match in enumerate(found, start=1):
        last = len(spaces) - (len(found) - position)  # a space for each of the next breaks
        last = len(spaces) if last <= 0 else last
        if first < last:
            wanted = match.start() / len(raw) * len(text)
            after = bisect_left(spaces, wanted, first, last)
            near = range(max(first, after - 1), min(after + 1, last))
            best = min(near, key=lambda i: abs(spaces[i] - wanted))
            chosen[spaces[best]] = match[0]
            first = best + 1
    return "".join(chosen.get(i, character) for i, character in enumerate(text))
