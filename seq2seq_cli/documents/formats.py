"""Document formats by name, and the translation of a document."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from seq2seq_cli.documents.docx import DOCX
from seq2seq_cli.documents.html import HTML
from seq2seq_cli.documents.markdown import MARKDOWN
from seq2seq_cli.documents.passages import Format
from seq2seq_cli.documents.po import PO
from seq2seq_cli.documents.prose import PROSE
from seq2seq_cli.documents.segments import find_segments, with_translations
from seq2seq_cli.documents.srt import SRT

FORMATS: dict[str, Format] = {
    "txt": PROSE,
    "markdown": MARKDOWN,
    "html": HTML,
    "srt": SRT,
    "docx": DOCX,
    "po": PO,
}
"""The key is a value of --format."""

_ENDINGS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".srt": "srt",
    ".docx": "docx",
    ".po": "po",
}


class TranslatedDocument(NamedTuple):
    """A document in another language.

    Attributes:
        content: its bytes.
        unit: what the numbers count: "line" or "paragraph".
        in_parts: the numbers of the sentences that were translated in parts, because they contain
            tags or placeholders.
        untranslated: the numbers of the texts that were not translated.
    """

    content: bytes
    unit: str
    in_parts: list[int]
    untranslated: list[int]


def format_of(path: Path) -> str | None:
    """Return the format for the extension of a file. It is None for .txt and unknown extensions."""
    return _ENDINGS.get(path.suffix.lower())


def translate_document(
    content: bytes,
    name: str,
    form: Format,
    translate: Callable[[Sequence[str]], Sequence[str | None]],
) -> TranslatedDocument:
    """Translate the text of a document and keep everything else.

    Args:
        content: its bytes.
        name: the document's name, for errors.
        form: its format.
        translate: returns a translation of each text, in order, or None to keep the text. It is
            called once.

    Raises:
        DataError: if the document does not have the format. The message names the line.
        UsageError: if the extra `documents` is not installed.
    """
    passages = form.read(content, name)
    segments = find_segments(passages, form)
    found = translate([segment.text for segment in segments])
    untranslated = [passage.number for passage in passages if passage.left]
    translations = []
    for segment, translation in zip(segments, found, strict=True):
        if translation is None:
            untranslated.append(segment.number)
        translations.append(segment.text if translation is None else translation)
    texts = with_translations(passages, segments, translations, form)
    in_parts = sorted({segment.number for segment in segments if segment.is_part})
    new = form.write(content, texts)
    return TranslatedDocument(new, form.unit, in_parts, sorted(set(untranslated)))
