"""The repaired lines of a file of pairs, with the problems of each single line."""

import re
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.checking.kinds import Kind
from seq2seq_cli.data.checking.repair import SUSPECT, repair, visible
from seq2seq_cli.data.files import readable
from seq2seq_cli.data.formats import (
    COLUMNS,
    column_order,
    estimated_pairs,
    files_at,
    is_zip,
    member_name,
    zip_member,
)
from seq2seq_cli.data.lines import BadLineError, canonical, open_member, open_text, read_lines
from seq2seq_cli.data.named import columns_of


class Line(NamedTuple):
    """A line after repair.

    Attributes:
        source, target: its sides in canonical form; empty if it cannot be read.
        cells: all columns, in the order of the file; empty if it cannot be read.
        problems: the problems of the single line.
        reason: why it cannot be read, or its text before the repair; otherwise empty.
    """

    source: str
    target: str
    cells: list[str]
    problems: Kind
    reason: str = ""


class LineFile:
    """A TSV file, a zip with one, or two parallel files; each also gzipped.

    Args:
        path: of the file, or the PREFIX of both.
        config: the languages, and the columns of files that are given by their path.
        corpus: the name or path of the corpus that has the file.

    Attributes:
        paths: the files, one or two (source, target).
        names: the same, with the member of a zip, for messages.

    Raises:
        DataError: if there is no such file.
        UsageError: if the columns are not those of the configured languages.
    """

    def __init__(self, path: Path, config: DataConfig, corpus: str):
        self.languages = (config.source_language, config.target_language)
        self.paths = files_at(path, self.languages)
        self.is_parallel = len(self.paths) == 2
        self.names = [str(p) for p in self.paths]
        self._columns = (0, 1)
        if not self.is_parallel:
            columns, key = columns_of(corpus, config.columns, COLUMNS)
            self._columns = column_order(str(path), columns.split(), self.languages, key)
            if is_zip(path):
                self.names = [member_name(path, zip_member(path))]

    def __iter__(self) -> Iterator[Line]:
        """Yield all lines, repaired.

        Raises:
            DataError: if the file cannot be read at all, or an archive is cut off.
        """
        with ExitStack() as stack:
            yield from self._judge(self._rows(stack))

    def estimated_lines(self) -> int | None:
        """Return an estimate of the number of lines; None if there is none."""
        return estimated_pairs(self.paths[0])

    def _rows(self, stack: ExitStack) -> Iterator[list[str | BadLineError | None]]:
        """Yield the columns of each line; for a TSV line that cannot be read, only the error."""
        if self.is_parallel:
            left, right = (
                read_lines(name, stack.enter_context(open_text(path)))
                for name, path in zip(self.names, self.paths, strict=True)
            )
            return (list(row) for row in zip_longest(left, right))
        if self.names != [str(self.paths[0])]:
            with readable(self.names[0]):
                archive = stack.enter_context(zipfile.ZipFile(self.paths[0]))
                stream = stack.enter_context(open_member(archive, zip_member(self.paths[0])))
            lines = read_lines(self.names[0], stream)
        else:
            lines = read_lines(self.names[0], stack.enter_context(open_text(self.paths[0])))
        return (
            [line] if isinstance(line, BadLineError) else list(line.split("\t")) for line in lines
        )

    def _judge(self, rows: Iterator[list[str | BadLineError | None]]) -> Iterator[Line]:
        head = list(islice(rows, 100))
        widths = [len(row) for row in head]
        columns = 3 if widths.count(3) > widths.count(2) else 2
        ended: int | None = None  # the line after which one of two files ends
        for number, row in enumerate(chain(head, rows)):
            if self.is_parallel and None in row and ended is None:
                ended = number
            bad = next((cell for cell in row if isinstance(cell, BadLineError)), None)
            if bad is not None:
                yield Line("", "", [], Kind.ENCODING, str(bad))
                continue
            cells = [cell for cell in row if isinstance(cell, str)]
            if not self.is_parallel and not "".join(cells).strip():
                yield Line("", "", cells, Kind.EMPTY)
            elif len(cells) != columns:
                reason = f"{len(row)} column{'s' * (len(row) != 1)} where {columns} are expected"
                if self.is_parallel:
                    reason = f"{Path(self.names[row.index(None)]).name} ends after line {ended}"
                yield Line("", "", cells, Kind.COLUMNS, reason)
            else:
                yield self._line(cells)

    def _line(self, cells: list[str]) -> Line:
        problems, reason = Kind(0), ""
        for column, cell in enumerate(cells):
            if SUSPECT.search(cell):
                cells[column], found = repair(cell)
                problems |= found
                reason = reason or visible(cell) * bool(found)
        source, target = (canonical(cells[column]) for column in self._columns)
        if not source or not target:
            return Line(source, target, cells, problems | Kind.EMPTY, reason)
        if source == target and _is_a_sentence(source):
            problems |= Kind.IDENTICAL
        if _numbers_disagree(source, target):
            problems |= Kind.NUMBERS
        return Line(source, target, cells, problems, reason)


def _is_a_sentence(text: str) -> bool:
    words = text.split()
    return len(words) > 2 and any(word[0].isalpha() and not word[0].isupper() for word in words)


_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d)[.,'’ \u00a0\u202f](?=\d{3}(?!\d))")


def _numbers_disagree(source: str, target: str) -> bool:
    if not (_DIGITS.search(source) and _DIGITS.search(target)):
        return False
    return not _numbers(source) & _numbers(target)


def _numbers(text: str) -> set[str]:
    """Return the whole numbers in a text: 1,000 and 1.000 as 1000, 07 as 7."""
    plain = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return {run.lstrip("0") for run in _DIGITS.findall(_THOUSANDS.sub("", plain))}
