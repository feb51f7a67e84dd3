"""Segments: sentences, or the parts of a sentence between tags and placeholders."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from seq2seq_cli.documents.passages import Format, Passage, Span, is_text, missing_extra, splice

_CLOSING = r"[,;:.!?…)\]}”»]+(?=\s)"
"""Punctuation that belongs to the text before a segment, such as a comma after a tag."""

_REFERENCE = r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z]\w*);"
"""A character reference of HTML and Markdown. Other formats leave it as it is."""


class Segment(NamedTuple):
    """A piece of text that is translated as a unit.

    Attributes:
        text: the text as a reader sees it, on one line.
        passage: the index of its passage.
        span: its position in the passage.
        number: the line or paragraph number of the passage.
        is_part: whether a tag or placeholder separates it from other parts of its sentence.
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
        if passage.left or not is_text(form.unescape(passage.text)):
            continue
        for parts in _sentence_parts(passage.text, form):
            for start, end in parts:
                text = form.unescape(re.sub(form.breaks, " ", passage.text[start:end]))
                is_part = len(parts) > 1
                segments.append(Segment(text, index, (start, end), passage.number, is_part))
    return _with_continued(passages, segments)


def _with_continued(passages: Sequence[Passage], segments: list[Segment]) -> list[Segment]:
    """Mark the segments of sentences that continue in the next passage as parts."""
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

    A translation gets as many line breaks as its segment has, at about the same positions. If the
    translation equals the segment's text, the segment is not changed.
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
    """Yield the positions of the segments of each sentence. Sentences without any are skipped."""
    protected = [match.span() for match in re.finditer(form.protected, text) if match[0]]
    # A dot in a URL does not end a sentence. A line break does not end a word.
    masked = re.sub(form.protected, lambda match: "x" * len(match[0]), text)
    masked = re.sub(form.breaks, lambda match: " " * len(match[0]), masked)
    plain, positions = _with_characters(masked, form)
    starts = [positions[start] for start in _sentence_starts(plain) if start > 0]
    masked = _filled(masked, form)
    outer = re.compile(rf"(?:[\s\ufeff]|{_CLOSING})*")
    for start, end in pairwise([0, *starts, len(text)]):
        parts, position = [], start
        inside = [(max(a, start), min(b, end)) for a, b in protected if a < end and b > start]
        for left, right in [*inside, (end, end)]:
            skipped = outer.match(masked, position, left)
            first = skipped.end() if skipped else position
            last = first + len(masked[first:left].rstrip())
            if is_text(masked[first:last]):
                parts.append((first, last))
            position = max(position, right)
        if parts:
            yield parts


def _with_characters(text: str, form: Format) -> tuple[str, list[int]]:
    """Return a text with characters for references such as &times;.

    Returns:
        The new text, and the position of each of its characters in the old one.
    """
    parts, positions, end = [], [], 0
    for match in re.finditer(_REFERENCE, text):
        character = form.unescape(match[0]) or " "
        parts += [text[end : match.start()], character]
        positions += [*range(end, match.start()), *[match.start()] * len(character)]
        end = match.end()
    return "".join([*parts, text[end:]]), [*positions, *range(end, len(text))]


def _filled(text: str, form: Format) -> str:
    """Return a text of the same length, in which each reference is its character, repeated."""

    def repeated(match: re.Match[str]) -> str:
        reference = match[0]
        return ((form.unescape(reference) or " ") * len(reference))[: len(reference)]

    return re.sub(_REFERENCE, repeated, text)


def _sentence_starts(text: str) -> list[int]:
    """Return the positions at which the sentences of a text begin, except the first one."""
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
    return starts[1:]


def _with_breaks(raw: str, text: str, breaks: str) -> str:
    """Copy the line breaks of a raw text to another text, where they replace the nearest spaces."""
    spaces = [match.start() for match in re.finditer(" ", text)]
    found = list(re.finditer(breaks, raw))
    chosen: dict[int, str] = {}
    first = 0
    for position, match in enumerate(found, start=1):
        last = len(spaces) - (len(found) - position)  # leave a space for each later break
        last = len(spaces) if last <= 0 else last
        if first < last:
            wanted = match.start() / len(raw) * len(text)
            after = bisect_left(spaces, wanted, first, last)
            near = range(max(first, after - 1), min(after + 1, last))
            best = min(near, key=lambda i: abs(spaces[i] - wanted))
            chosen[spaces[best]] = match[0]
            first = best + 1
    return "".join(chosen.get(i, character) for i, character in enumerate(text))
