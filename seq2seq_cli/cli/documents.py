"""The translation of documents: `s2s translate --format`."""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.files import write_file
from seq2seq_cli.cli.options import warn
from seq2seq_cli.errors import DataError, UsageError, os_reason

if TYPE_CHECKING:
    from seq2seq_cli.decoding.translator import Translator

_SHOWN = 10  # maximum number of lines that a warning lists


class DocumentFormat(str, Enum):
    """The formats of --format."""

    lines = "lines"
    txt = "txt"
    markdown = "markdown"
    html = "html"
    srt = "srt"
    docx = "docx"
    po = "po"


FormatOption = Annotated[
    DocumentFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Format of a document whose text is translated: lines, txt, markdown, html, srt, "
        "docx or po. The default depends on the extension of --input; files with other "
        "extensions are translated line by line.",
    ),
]


def document_format(
    given: DocumentFormat | None,
    input_file: Path | None,
    output: Path | None,
    excluded: dict[str, bool],
) -> str | None:
    """Return the name of the format of the input; None if it is translated line by line.

    Args:
        given: the value of --format.
        input_file: the value of --input.
        output: the value of --output.
        excluded: options that apply only to lines, and whether each is given.

    Raises:
        UsageError: if --input or --output is missing, or an option does not apply to documents.
    """
    from seq2seq_cli.documents.formats import format_of

    name = given.value if given else format_of(input_file) if input_file else None
    if name is None or name == "lines":
        return None
    if input_file is None or output is None:
        missing = "--output" if input_file else "--input"
        raise UsageError(
            f"a document of the format {name} needs {missing} FILE. Add it, or use --format lines "
            "to translate line by line"
        )
    for option, is_given in excluded.items():
        if is_given:
            raise UsageError(
                f"{option} applies only to lines, but --input is {name}. Leave one out"
            )
    return name


def read_document(path: Path) -> bytes:
    """Return the bytes of a document.

    Raises:
        DataError: if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {os_reason(error)}") from error


def checked_document(path: Path, name: str) -> bytes:
    """Return the bytes of a document if it has its format. A pipe can be read only once.

    Raises:
        DataError: if it cannot be read, or has another format.
        UsageError: if the extra `documents` is not installed.
    """
    from seq2seq_cli.documents.formats import FORMATS
    from seq2seq_cli.documents.segments import find_segments

    form, content = FORMATS[name], read_document(path)
    find_segments(form.read(content, str(path)), form)
    return content


def translate_file(
    translator: "Translator", content: bytes, path: Path, output: Path, name: str, shows: bool
) -> None:
    """Translate a document, write it completely, and warn about text that was not translated.

    Args:
        translator: the translator.
        content: the bytes of the document.
        path: its path, for messages.
        output: the file to write.
        name: of its format.
        shows: whether to show progress.
    """
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.documents.formats import FORMATS, translate_document

    with work_progress(shows) as show:

        def translate(texts: Sequence[str]) -> list[str | None]:
            found = translator.translate(
                texts, progress=lambda done: show("Translating", "segments", done, len(texts))
            )
            return [None if each.cut or not each.text.strip() else each.text for each in found]

        done = translate_document(content, str(path), FORMATS[name], translate)
    write_file(output, done.content, "--output")
    if done.in_parts:
        warn(
            f"{path}: {_counted(done.in_parts, done.unit)} with a tag or a placeholder inside a "
            "sentence: the parts between them were translated separately"
        )
    if done.untranslated:
        warn(f"{path}: {_counted(done.untranslated, done.unit)} with text that was not translated")


def _counted(numbers: Sequence[int], unit: str) -> str:
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    more = ", …" if len(numbers) > _SHOWN else ""
    return f"{len(numbers)} {unit}{'s' * (len(numbers) > 1)} ({shown}{more})"
