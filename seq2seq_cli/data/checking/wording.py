"""The flags of a file's lines as findings, with examples as text."""

from collections import Counter

import numpy as np

from seq2seq_cli.data.checking.findings import Finding
from seq2seq_cli.data.checking.flagged import FlaggedFile
from seq2seq_cli.data.checking.inspection import Line
from seq2seq_cli.data.checking.kinds import Kind

EXAMPLES = 3
"""Number of examples of each kind."""

_SHOWN_CHARACTERS = 60
_STRETCH_GAP = 20  # lines; a larger gap begins another range


def findings_of(file: FlaggedFile) -> tuple[list[Finding], list[Counter[str]]]:
    """Read a file once more, for its findings and its characters.

    Returns:
        The findings, in the order of `Kind`; and the characters of each side's kept lines, with
        their counts, which are empty where the file has no keys.
    """
    rows_of = {kind: file.rows(kind) for kind in Kind}
    wanted: dict[int, list[tuple[Kind, str]]] = {}
    for kind, rows in rows_of.items():
        for number, row in enumerate(rows[:EXAMPLES].tolist()):
            wanted.setdefault(row, []).append((kind, _partner(file, kind, number)))
    examples: dict[Kind, list[str]] = {kind: [] for kind in Kind}
    characters: list[Counter[str]] = [Counter(), Counter()]
    kept = file.kept
    for row, line in enumerate(file.read_again("examples")):
        for kind, partner in wanted.get(row, ()):
            examples[kind].append(f"{_describe(line)}{partner}")
        if kept[row] and file.with_keys:
            characters[0].update(line.source)
            characters[1].update(line.target)
    where = {kind: [str(row + 1) for row in rows[:EXAMPLES]] for kind, rows in rows_of.items()}
    stretches = _stretches(rows_of[Kind.MISALIGNED], file.partners[Kind.MISALIGNED])[:EXAMPLES]
    where[Kind.MISALIGNED] = [lines for lines, _ in stretches]
    examples[Kind.MISALIGNED] = [words for _, words in stretches]
    findings = [
        Finding(
            file.split,
            kind.label,
            len(rows),
            len(rows) / len(file.flags),
            (rows + 1).tolist(),
            file.partners[kind].tolist() if kind in file.partners else [],
            where[kind],
            examples[kind],
        )
        for kind, rows in rows_of.items()
        if len(rows)
    ]
    return findings, characters


def _partner(file: FlaggedFile, kind: Kind, number: int) -> str:
    """Return a text that names the line that a line of this kind repeats; empty if none.

    Args:
        file: has the lines.
        kind: of the line.
        number: index of the line among those of its kind.
    """
    other = {Kind.DUPLICATE: file.split, Kind.IN_DEV: "dev", Kind.IN_TEST: "test"}.get(kind)
    return f" (as {other}:{file.partners[kind][number]})" if other else ""


def _describe(line: Line) -> str:
    """Return a line as text: why it cannot be read, or its sides, shortened."""
    texts = [line.reason] if line.reason else [line.source, line.target]
    limit = _SHOWN_CHARACTERS
    return " | ".join(text if len(text) <= limit else text[: limit - 1] + "…" for text in texts)


def _stretches(rows: np.ndarray, lags: np.ndarray) -> list[tuple[str, str]]:
    """Return the ranges in which one side is shifted: line numbers, and a description."""
    # A line that is left out in between, such as a duplicate, does not end a range.
    ends = np.flatnonzero((np.diff(rows) > _STRETCH_GAP) | (np.diff(lags) != 0))
    starts = [0, *(ends + 1).tolist()][: len(rows)]
    return [
        (
            f"{rows[start] + 1}-{rows[end] + 1}",
            f"translations are {abs(lags[start])} line{'s' * bool(abs(lags[start]) > 1)} "
            f"{'later' if lags[start] > 0 else 'earlier'}",
        )
        for start, end in zip(starts, [*ends.tolist(), len(rows) - 1], strict=False)
    ]
