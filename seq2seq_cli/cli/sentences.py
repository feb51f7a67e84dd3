"""What the commands that show sentences share: the input and the page."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import (
    check_distinct,
    check_files,
    check_output,
    check_text,
    open_input,
    write_file,
)
from seq2seq_cli.cli.options import Flag, warn, warn_of_cut
from seq2seq_cli.cli.resources import FoundRun, find_one
from seq2seq_cli.errors import DataError, UsageError

if TYPE_CHECKING:
    from seq2seq_cli.attention.maps import Attention, ReadRun

_LARGEST_PAGE = 200 << 20  # bytes that are written without a warning

Pair = tuple[str, str | None]
"""A source, and its given translation if there is one."""


SentencesArgument = Annotated[
    list[str] | None, typer.Argument(help="Sentences. Without them, stdin is read, line by line.")
]
ShownRunsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        help="A run's name in runs/, or its path; several are shown side by side.",
        autocompletion=completion.runs,
    ),
]
TargetTextOption = Annotated[
    str | None,
    typer.Option("--target", help="A given translation, which the model reads instead of its own."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", help="Write a page with all maps of all sentences."),
]


def read_pairs(
    sentences: list[str] | None, target: str | None, input_file: Path | None
) -> list[Pair]:
    """Return the sentences of the arguments, of the file or of stdin.

    Raises:
        UsageError: if there is no sentence, a text is not UTF-8, or options contradict each other.
    """
    check_files(bool(sentences), input_file)
    for number, sentence in enumerate(sentences or [], start=1):
        check_text(sentence, f"sentence {number}")
    if target is not None:
        check_text(target, "--target")
        if not sentences or len(sentences) > 1:
            raise UsageError(
                "--target is the translation of one sentence, which is the argument. In a file, a "
                "translation follows its sentence after a tab"
            )
    if sentences:
        return [(sentence, target) for sentence in sentences]
    if not input_file and sys.stdin.isatty():
        raise UsageError('no sentence. Give one, such as "I like apples."')
    from seq2seq_cli.decoding.lines import in_windows

    with open_input(input_file) as (stream, name):
        lines = in_windows(stream, name, _pair, lambda pairs, first: list(pairs), "read")
        return [pair for _, pair, _ in lines]


def _pair(line: str) -> Pair:
    source, tab, translation = line.partition("\t")
    return source, translation if tab else None


def find_each_run(
    names: list[str] | None, settings: list[str] | None, flags: list[Flag], to: str | None
) -> list[FoundRun]:
    """Return each run of `names` separately, or the newest, with the options in its config."""
    return [find_one(name, settings, *flags, to=to) for name in names or (None,)]


def warn_of_cuts(attentions: "Sequence[Attention | None]", limit: int) -> None:
    """Warn about each line with a side that was cut to `limit` tokens."""
    for number, each in enumerate(attentions, start=1):
        if each and each.cut:
            warn_of_cut(number, each.cut, limit)


def check_written(input_file: Path | None, **paths: Path | None) -> bool:
    """Check that the files of options can be written; return whether there are any."""
    given = {f"--{name}": path for name, path in paths.items() if path is not None}
    for option, path in given.items():
        check_output(path, [("--input", input_file)], option)
    check_distinct(given)
    if {"--png", "--svg"} & given.keys():
        from seq2seq_cli.attention.figure import check_matplotlib

        check_matplotlib()
    return bool(given)


def write_page(path: Path, runs: "Sequence[ReadRun]", quiet: bool) -> None:
    """Write the page of some runs.

    Raises:
        DataError: if all sentences are blank.
    """
    from seq2seq_cli.attention.page.page import attention_page
    from seq2seq_cli.cli import console

    sentences = sum(each is not None for each in runs[0].attentions)
    if not sentences:
        raise DataError("all sentences are blank, so there is no attention to show")
    title = next(each.source for each in runs[0].attentions if each is not None)
    title = f"Attention: {title if sentences == 1 else f'{sentences} sentences'}"
    content = attention_page(runs, title).encode()
    if len(content) > _LARGEST_PAGE:
        warn(f"{path} has {len(content) >> 20} MiB, which is slow in browsers. Give fewer lines")
    write_file(path, content, "--html")
    if not quiet:
        console.show_notice(f"Wrote {path}")
