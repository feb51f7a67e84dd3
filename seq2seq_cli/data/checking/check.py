"""What is wrong with a corpus, line by line, and a copy of it without that.

The files are read several times and never held: of a line there stay some numbers.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seq2seq_cli.config.data import CATALOG, DataConfig
from seq2seq_cli.data.checking.clean import new_outputs, write_lines
from seq2seq_cli.data.checking.inspection import REPAIRED, Kind, Line, LineFile
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
from seq2seq_cli.data.named import Files, files_of
from seq2seq_cli.data.prepared import is_prepared
from seq2seq_cli.data.splits import normalise
from seq2seq_cli.errors import DataError, UsageError

EXAMPLES = 3
UNSEEN_LIMIT = 0.01
"""A larger share of characters that the training side never has is a finding."""


@dataclass(frozen=True)
class Finding:
    """One kind of problem in one file.

    Attributes:
        split: train, dev or test.
        kind: the problem's name.
        count: how many lines have it.
        share: the same as a share of the file's lines.
        lines: their numbers, from 1.
        others: for each of them what it belongs to: of a duplicate and of a leak the number of the
            first such line, of a misaligned line how many lines further on its translation stands;
            otherwise empty.
        places: where the first examples are: a line, or of a stretch "from-to".
        examples: these, in words.
    """

    split: str
    kind: str
    count: int
    share: float
    lines: list[int]
    others: list[int]
    places: list[str]
    examples: list[str]


@dataclass(frozen=True)
class CheckedFile:
    """A file, or two parallel ones.

    Attributes:
        split: train, dev or test.
        files: their paths.
        lines: number of lines.
        judged: whether it has enough lines for ratio, language and misalignment.
    """

    split: str
    files: list[str]
    lines: int
    judged: bool


@dataclass(frozen=True)
class Unseen:
    """Characters of a side of dev or test that the same side of train never has.

    Attributes:
        split, language: which side.
        rate: their share of all characters that are no spaces.
        characters: the commonest 20, the commonest first.
        is_finding: whether the rate is above 1 %.
    """

    split: str
    language: str
    rate: float
    characters: str
    is_finding: bool


@dataclass(frozen=True)
class Fixed:
    """A cleaned copy of the training file: how many lines it has, left out, and repaired by kind.

    A line of several kinds counts as one, of the first kind in the report's order.
    """

    files: list[str]
    written: int
    left_out: dict[str, int]
    repaired: dict[str, int]


@dataclass(frozen=True)
class Report:
    """Everything that was found."""

    files: list[CheckedFile]
    findings: list[Finding]
    unseen: list[Unseen]
    fixed: Fixed | None

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings and not any(unseen.is_finding for unseen in self.unseen)


def check(config: DataConfig, fix: Path | None = None) -> Report:
    """Look for everything that is wrong with a corpus' files, and write a cleaned copy if asked.

    Args:
        config: names the corpus and, where there are, the dev and test files.
        fix: where the training file's cleaned copy goes: a file, or for parallel files the PREFIX;
            gzipped if it ends in .gz.

    Raises:
        DataError: if a file cannot be read at all, or nothing is left of it.
        UsageError: if the corpus is no file, or the copy would overwrite one.
        DiskError: if the copy cannot be written.
    """
    paths = _files_of(config)
    with_keys = bool(paths.dev or paths.test)
    files = {
        split: _File(split, LineFile(path, config), with_keys)
        for split, path in paths._asdict().items()
        if path
    }
    outputs = new_outputs(fix, files["train"].lines) if fix else []
    for file in files.values():
        file.measure()
    for split, other, kind in (
        ("train", "dev", Kind.IN_DEV),
        ("train", "test", Kind.IN_TEST),
        ("dev", "test", Kind.IN_TEST),
    ):
        if split in files and other in files:
            files[split].flag_leaks(files[other], kind)
    findings: list[Finding] = []
    for file in files.values():
        file.flag_duplicates()
        file.flag_outliers()
        findings += file.findings()
    return Report(
        [file.summary() for file in files.values()],
        findings,
        [
            _unseen(files["train"], file, side)
            for split, file in files.items()
            for side in (0, 1)
            if split != "train"
        ],
        _write(files["train"], outputs) if fix else None,
    )


def _files_of(config: DataConfig) -> Files:
    """Return the files of the corpus, and of the dev and test files that the config names."""
    corpus = config.corpus
    if corpus is None:
        raise UsageError(
            f"data.sources: has {len(config.sources)} corpora. Check one at a time, by --data FILE"
        )
    reasons = {
        corpus.startswith(CATALOG): "is not made of text files",
        is_prepared(corpus): "has been prepared already",
    }
    if True in reasons:
        raise UsageError(f"{corpus}: {reasons[True]}, and has no lines to check. Give --data FILE")
    files = files_of(corpus)
    given = {side: Path(path) for side in ("dev", "test") if (path := getattr(config, side))}
    return files._replace(**given)


class _File:
    """What is known of the lines of one file: a row of numbers each."""

    def __init__(self, split: str, lines: LineFile, with_keys: bool):
        self.split, self.lines, self.with_keys = split, lines, with_keys
        self.characters: list[Counter[str]] = [Counter(), Counter()]
        self.partners: dict[Kind, Ints] = {}

    def measure(self) -> None:
        """Read all lines, note what is wrong with each by itself, and take its measures."""
        flags, pairs = array("H"), array("q")
        lengths, marks, names, keys = array("i"), array("B"), array("Q"), array("q")
        for line in self.lines:
            flags.append(line.problems)
            pairs.append(hash(line[:2]))
            for text in line[:2]:
                lengths.append(len(text))
                marks.append(marks_of(text))
                names.append(names_of(text))
                if self.with_keys:
                    keys.append(hash(normalise(text)))
        if not flags:
            raise DataError(f"{self.lines.names[0]}: there is no line in it")
        self.flags = np.array(flags)
        self.pairs = np.array(pairs)
        self.lengths, self.marks, self.names = (
            np.array(values).reshape(-1, 2) for values in (lengths, marks, names)
        )
        self.keys = np.array(keys).reshape(-1, 2)

    @property
    def kept(self) -> Bools:
        """The lines that a cleaned copy has."""
        return np.asarray(self.flags & ~np.uint16(REPAIRED) == 0)

    @property
    def readable(self) -> Bools:
        """The lines that have two sides."""
        return np.asarray(self.flags & np.uint16(Kind.COLUMNS | Kind.EMPTY) == 0) & (
            self.lengths > 0
        ).all(1)

    def flag_leaks(self, other: "_File", kind: Kind) -> None:
        """Flag the lines that share a normalised source or target with a line of `other`."""
        rows, others = np.flatnonzero(self.readable), np.flatnonzero(other.readable)
        partners = np.full(len(rows), -1)
        for side in (1, 0):
            known, first = np.unique(other.keys[others, side], return_index=True)
            if len(known):
                place = np.searchsorted(known, self.keys[rows, side]).clip(max=len(known) - 1)
                hit = known[place] == self.keys[rows, side]
                partners[hit] = others[first[place[hit]]]
        self._flag(kind, rows[partners >= 0])
        self.partners[kind] = partners[partners >= 0] + 1

    def flag_duplicates(self) -> None:
        """Flag the lines whose pair stands in a line before."""
        rows = np.flatnonzero(self.readable)
        _, first, which = np.unique(self.pairs[rows], return_index=True, return_inverse=True)
        again = first[which] < np.arange(len(rows))
        self._flag(Kind.DUPLICATE, rows[again])
        self.partners[Kind.DUPLICATE] = rows[first[which[again]]] + 1

    def flag_outliers(self) -> None:
        """Flag what differs from the rest, again and again until the rest has no such lines."""
        lags = np.zeros(len(self.flags), np.int64)
        languages = Languages()
        for _, texts in self._texts(self.kept):
            languages.learn(texts)
        self.judged = bool(self.kept.sum() >= ENOUGH)
        while (kept := self.kept).sum() >= ENOUGH:
            rows = np.flatnonzero(kept)
            lengths = self.lengths[rows]
            self._flag(Kind.RATIO, rows[extreme_ratios(lengths)])
            lags[rows] = slips(lengths, self.marks[rows], self.names[rows])
            self._flag(Kind.MISALIGNED, rows[lags[rows] != 0])
            for numbers, texts in self._texts(kept):
                self._flag(Kind.LANGUAGE, numbers[languages.wrong(texts)])
            if (self.kept == kept).all():
                break
            for _, texts in self._texts(kept & ~self.kept):
                languages.forget(texts)
        slipped = np.flatnonzero(lags)
        self.partners[Kind.MISALIGNED] = lags[slipped]

    def findings(self) -> list[Finding]:
        """Return what was found, with examples, and count the characters of what is kept."""
        numbers = {kind: np.flatnonzero(self.flags & np.uint16(kind)) for kind in Kind}
        wanted: dict[int, list[tuple[Kind, str]]] = {}
        for kind, rows in numbers.items():
            for place, row in enumerate(rows[:EXAMPLES].tolist()):
                wanted.setdefault(row, []).append((kind, self._partner(kind, place)))
        examples: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        kept = self.kept
        for row, line in enumerate(self.lines):
            for kind, partner in wanted.get(row, ()):
                examples[kind].append(f"{_describe(line)}{partner}")
            if kept[row] and self.with_keys:
                self.characters[0].update(line.source)
                self.characters[1].update(line.target)
        places = {kind: [str(row + 1) for row in rows[:EXAMPLES]] for kind, rows in numbers.items()}
        stretches = self._stretches()[:EXAMPLES]
        places[Kind.MISALIGNED] = [where for where, _ in stretches]
        examples[Kind.MISALIGNED] = [what for _, what in stretches]
        return [
            Finding(
                self.split,
                kind.label,
                len(rows),
                len(rows) / len(self.flags),
                (rows + 1).tolist(),
                self.partners[kind].tolist() if kind in self.partners else [],
                places[kind],
                examples[kind],
            )
            for kind, rows in numbers.items()
            if len(rows)
        ]

    def summary(self) -> CheckedFile:
        """Return the file's names and size."""
        return CheckedFile(self.split, self.lines.names, len(self.flags), self.judged)

    def _flag(self, kind: Kind, rows: Ints) -> None:
        self.flags[rows] |= np.uint16(kind)

    def _texts(self, chosen: Bools) -> Iterator[tuple[Ints, tuple[list[str], list[str]]]]:
        """Yield the chosen lines in blocks: their rows, their sources and targets."""
        rows: list[int] = []
        sides: tuple[list[str], list[str]] = ([], [])
        for row, line in enumerate(self.lines):
            if chosen[row]:
                rows.append(row)
                sides[0].append(line.source)
                sides[1].append(line.target)
                if len(rows) == 8192:
                    yield np.array(rows), sides
                    rows, sides = [], ([], [])
        if rows:
            yield np.array(rows), sides

    def _partner(self, kind: Kind, place: int) -> str:
        """Return in words the line that the kind's line at `place` repeats, if it does."""
        file = {Kind.DUPLICATE: self.split, Kind.IN_DEV: "dev", Kind.IN_TEST: "test"}.get(kind)
        return f" (as {file}:{self.partners[kind][place]})" if file else ""

    def _stretches(self) -> list[tuple[str, str]]:
        """Return from where to where the sides have slipped, and how, in words."""
        rows, lags = (
            np.flatnonzero(self.flags & np.uint16(Kind.MISALIGNED)),
            self.partners[Kind.MISALIGNED],
        )
        # A line left out in between, such as a duplicate, does not end a stretch.
        ends = np.flatnonzero((np.diff(rows) > 20) | (np.diff(lags) != 0))
        starts = [0, *(ends + 1).tolist()][: len(rows)]
        return [
            (
                f"{rows[start] + 1}-{rows[end] + 1}",
                f"translations stand {abs(lags[start])} line{'s' * bool(abs(lags[start]) > 1)} "
                f"{'further on' if lags[start] > 0 else 'before'}",
            )
            for start, end in zip(starts, [*ends.tolist(), len(rows) - 1], strict=False)
        ]


def _describe(line: Line) -> str:
    """Return a line in words: why it cannot be read, or its sides, cut to what fits."""
    texts = [line.reason] if line.reason else [line.source, line.target]
    return " | ".join(text if len(text) <= 60 else text[:59] + "…" for text in texts)


def _unseen(train: _File, file: _File, side: int) -> Unseen:
    characters = Counter(
        {char: n for char, n in file.characters[side].items() if not char.isspace()}
    )
    unseen = Counter({c: n for c, n in characters.items() if c not in train.characters[side]})
    rate = unseen.total() / max(characters.total(), 1)
    return Unseen(
        file.split,
        file.lines.languages[side],
        rate,
        "".join(char for char, _ in unseen.most_common(20)),
        rate > UNSEEN_LIMIT,
    )


def _write(file: _File, outputs: list[Path]) -> Fixed:
    kept = file.kept
    if not kept.any():
        raise DataError(f"{file.lines.names[0]}: no line is left to be written by --fix")
    write_lines(file.lines, kept, outputs)
    left_out = _first_kinds(file.flags[~kept] & ~np.uint16(REPAIRED))
    repaired = _first_kinds(file.flags[kept])
    return Fixed([str(path) for path in outputs], int(kept.sum()), left_out, repaired)


def _first_kinds(flags: np.ndarray) -> dict[str, int]:
    """Count lines by the first of their kinds; lines without any are not counted."""
    first = flags & (~flags + np.uint16(1))  # the lowest bit that is set
    counts = {kind.label: int((first == kind).sum()) for kind in Kind}
    return {label: count for label, count in counts.items() if count}
