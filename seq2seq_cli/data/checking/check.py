"""`s2s data check`: the problems in a corpus' files, and a cleaned copy of it."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np

from seq2seq_cli.config.data import CATALOG, DataConfig
from seq2seq_cli.data.checking.clean import new_outputs, write_lines
from seq2seq_cli.data.checking.findings import CheckedFile, Finding, Findings, Fixed, Unseen
from seq2seq_cli.data.checking.flagged import FlaggedFile
from seq2seq_cli.data.checking.inspection import LineFile
from seq2seq_cli.data.checking.kinds import REPAIRED, Kind
from seq2seq_cli.data.checking.wording import findings_of
from seq2seq_cli.data.named import files_of
from seq2seq_cli.data.prepared import is_prepared
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.work import ShowWork, show_nothing, shown

UNSEEN_LIMIT = 0.01
"""A larger share of characters that do not occur in the training side is a finding."""

_LEAKS = {"dev": Kind.IN_DEV, "test": Kind.IN_TEST}


def check(
    config: DataConfig,
    fix: Path | None = None,
    show: ShowWork = show_nothing,
) -> Findings:
    """Find all problems in a corpus' files, and write a cleaned copy if requested.

    Args:
        config: names the corpus and, if there are any, the dev and test files.
        fix: the path of the training file's cleaned copy: a file, or the PREFIX of parallel files;
            gzipped if it ends in .gz.
        show: shows the stages and their numbers of lines.

    Raises:
        DataError: if a file cannot be read at all, or no line is left for the copy.
        UsageError: if the corpus is not a file, or the copy would overwrite one.
        DiskError: if the copy cannot be written.
    """
    corpus = _corpus_of(config)
    given = {side: path for side in ("dev", "test") if (path := getattr(config, side))}
    paths = files_of(corpus)._replace(**{side: Path(path) for side, path in given.items()})
    with_keys = bool(paths.dev or paths.test)
    line_files = {
        split: LineFile(path, config, given.get(split, corpus))
        for split, path in paths._asdict().items()
        if path
    }
    outputs = new_outputs(fix, line_files["train"]) if fix else []
    files = {}
    for split, lines in line_files.items():
        files[split] = FlaggedFile(split, lines, with_keys, show)
    show("Comparing lines")
    for file, other in combinations(files.values(), 2):  # train, dev, test: in this order
        file.flag_leaks(other, _LEAKS[other.split])
    findings: list[Finding] = []
    characters: dict[str, list[Counter[str]]] = {}
    for split, file in files.items():
        file.flag_duplicates()
        file.flag_outliers()
        found, characters[split] = findings_of(file)
        findings += found
    return Findings(
        [
            CheckedFile(split, file.lines.names, len(file.flags), file.judged)
            for split, file in files.items()
        ],
        findings,
        [
            _unseen(split, language, characters[split][side], characters["train"][side])
            for split, file in files.items()
            if split != "train"
            for side, language in enumerate(file.lines.languages)
        ],
        _write(files["train"], outputs, show) if fix else None,
    )


def _corpus_of(config: DataConfig) -> str:
    """Return the name or path of the one corpus.

    Raises:
        UsageError: if it does not consist of files of lines.
    """
    corpus = config.corpus
    if corpus is None:
        raise UsageError(
            f"data.sources: has {len(config.sources)} corpora. Check each one with --data FILE"
        )
    reasons = {
        corpus.startswith(CATALOG): "does not consist of text files",
        is_prepared(corpus): "has been prepared already",
    }
    if True in reasons:
        raise UsageError(f"{corpus}: {reasons[True]}, so it has no lines. Give --data FILE")
    return corpus


def _unseen(split: str, language: str, found: Counter[str], known: Counter[str]) -> Unseen:
    """Return the characters of one side that do not occur in the training side."""
    characters = Counter({char: n for char, n in found.items() if not char.isspace()})
    unseen = Counter({char: n for char, n in characters.items() if char not in known})
    rate = unseen.total() / max(characters.total(), 1)
    commonest = "".join(char for char, _ in unseen.most_common(20))
    return Unseen(split, language, rate, commonest, rate > UNSEEN_LIMIT)


def _write(file: FlaggedFile, outputs: list[Path], show: ShowWork) -> Fixed:
    """Write the cleaned copy, and count the changes."""
    kept = file.kept
    if not kept.any():
        raise DataError(f"{file.lines.names[0]}: no line is left for --fix to write")
    lines = shown(file.lines, show, "Writing the copy", "lines", len(kept))
    write_lines(file.lines.is_parallel, lines, kept, outputs)
    left_out = _first_kinds(file.flags[~kept] & ~np.uint16(REPAIRED))
    repaired = _first_kinds(file.flags[kept])
    return Fixed([str(path) for path in outputs], int(kept.sum()), left_out, repaired)


def _first_kinds(flags: np.ndarray) -> dict[str, int]:
    """Count lines by the first of their kinds; lines without any are not counted."""
    first = flags & (~flags + np.uint16(1))  # the lowest bit that is set
    counts = {kind.label: int((first == kind).sum()) for kind in Kind}
    return {label: count for label, count in counts.items() if count}
