"""The lines of one file, and the kinds of problems that each of them is flagged with.

A file is read several times and is never held in memory. For each line some numbers are kept.
"""

from array import array
from collections.abc import Iterator

import numpy as np

from seq2seq_cli.data.checking.inspection import Line, LineFile
from seq2seq_cli.data.checking.kinds import REPAIRED, Kind
from seq2seq_cli.data.checking.outliers import (
    ENOUGH,
    Bools,
    Ints,
    Languages,
    extreme_ratios,
    marks_of,
    names_of,
    slips,
)
from seq2seq_cli.data.splits import normalise
from seq2seq_cli.errors import DataError
from seq2seq_cli.work import ShowWork, show_nothing, shown

_BLOCK_LINES = 8192  # that are judged for their language at once


class FlaggedFile:
    """The flags of the lines of one file.

    Args:
        split: train, dev or test.
        lines: the file's lines.
        with_keys: whether to keep hashes of the normalised sentences, by which leaks are found.
        show: shows the number of lines that have been read, each time.

    Attributes:
        flags: uint16 for each line, the `Kind`s that it is flagged with.
        partners: by kind, a number for each line that has it; see `Finding.others`.
        judged: whether the file has enough lines to judge ratio, language and alignment.

    Raises:
        DataError: if the file has no line, or cannot be read at all.
    """

    def __init__(self, split: str, lines: LineFile, with_keys: bool, show: ShowWork = show_nothing):
        self.split, self.lines, self.with_keys = split, lines, with_keys
        self._show = show
        self.partners: dict[Kind, Ints] = {}
        self.judged = False
        self._measure()

    def _measure(self) -> None:
        """Read all lines; keep the problems and the measures of each."""
        flags, pairs = array("H"), array("q")
        lengths, marks, names, keys = array("i"), array("B"), array("Q"), array("q")
        total = self.lines.estimated_lines()
        for line in shown(self.lines, self._show, f"Reading {self.split}", "lines", total):
            flags.append(line.problems)
            pairs.append(hash(line[:2]))
            for text in line[:2]:
                lengths.append(len(text))
                marks.append(marks_of(text))
                names.append(names_of(text))
                if self.with_keys:
                    keys.append(hash(normalise(text)))
        if not flags:
            raise DataError(f"{self.lines.names[0]}: the file has no lines")
        self.flags = np.array(flags)
        self._pairs = np.array(pairs)
        self._lengths, self._marks, self._names = (
            np.array(values).reshape(-1, 2) for values in (lengths, marks, names)
        )
        self._keys = np.array(keys).reshape(-1, 2)

    @property
    def kept(self) -> Bools:
        """The lines that a cleaned copy has."""
        return np.asarray(self.flags & ~np.uint16(REPAIRED) == 0)

    @property
    def readable(self) -> Bools:
        """The lines that have two sides."""
        return np.asarray(self.flags & np.uint16(Kind.COLUMNS | Kind.EMPTY) == 0) & (
            self._lengths > 0
        ).all(1)

    def rows(self, kind: Kind) -> Ints:
        """Return the indices of the lines that are flagged with a kind, in order."""
        return np.flatnonzero(self.flags & np.uint16(kind))

    def flag_leaks(self, other: "FlaggedFile", kind: Kind) -> None:
        """Flag the lines that share a normalised sentence, on either side, with a line of `other`.

        Both files must have keys.
        """
        rows, others = np.flatnonzero(self.readable), np.flatnonzero(other.readable)
        partners = np.full(len(rows), -1)
        for side in (1, 0):
            known, first = np.unique(other._keys[others, side], return_index=True)
            if len(known):
                nearest = np.searchsorted(known, self._keys[rows, side]).clip(max=len(known) - 1)
                hit = known[nearest] == self._keys[rows, side]
                partners[hit] = others[first[nearest[hit]]]
        self._flag(kind, rows[partners >= 0])
        self.partners[kind] = partners[partners >= 0] + 1

    def flag_duplicates(self) -> None:
        """Flag the lines whose pair occurs in an earlier line."""
        rows = np.flatnonzero(self.readable)
        _, first, which = np.unique(self._pairs[rows], return_index=True, return_inverse=True)
        again = first[which] < np.arange(len(rows))
        self._flag(Kind.DUPLICATE, rows[again])
        self.partners[Kind.DUPLICATE] = rows[first[which[again]]] + 1

    def flag_outliers(self) -> None:
        """Flag lines that differ from the rest, and repeat until there are no more such lines."""
        lags = np.zeros(len(self.flags), np.int64)
        languages = Languages()
        for _, texts in self._texts(self.kept, "learning both languages"):
            languages.learn(texts)
        self.judged = bool(self.kept.sum() >= ENOUGH)
        while (kept := self.kept).sum() >= ENOUGH:
            rows = np.flatnonzero(kept)
            lengths = self._lengths[rows]
            self._flag(Kind.RATIO, rows[extreme_ratios(lengths)])
            self._show(f"Judging {self.split}: lengths and order")
            lags[rows] = slips(lengths, self._marks[rows], self._names[rows])
            self._flag(Kind.MISALIGNED, rows[lags[rows] != 0])
            for numbers, texts in self._texts(kept, "languages"):
                self._flag(Kind.LANGUAGE, numbers[languages.wrong(texts)])
            if (self.kept == kept).all():
                break
            for _, texts in self._texts(kept & ~self.kept, "what is left"):
                languages.forget(texts)
        self.partners[Kind.MISALIGNED] = lags[np.flatnonzero(lags)]

    def _flag(self, kind: Kind, rows: Ints) -> None:
        self.flags[rows] |= np.uint16(kind)

    def read_again(self, purpose: str) -> Iterator[Line]:
        """Yield the lines once more, and show their number."""
        return shown(
            self.lines, self._show, f"Judging {self.split}: {purpose}", "lines", len(self.flags)
        )

    def _texts(
        self, chosen: Bools, purpose: str
    ) -> Iterator[tuple[Ints, tuple[list[str], list[str]]]]:
        """Yield the chosen lines in blocks: their indices, and both sides' sentences."""
        rows: list[int] = []
        sides: tuple[list[str], list[str]] = ([], [])
        for row, line in enumerate(self.read_again(purpose)):
            if chosen[row]:
                rows.append(row)
                sides[0].append(line.source)
                sides[1].append(line.target)
                if len(rows) == _BLOCK_LINES:
                    yield np.array(rows), sides
                    rows, sides = [], ([], [])
        if rows:
            yield np.array(rows), sides
