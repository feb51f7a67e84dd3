"""The findings of `s2s data check`: plain values, as `--json` prints them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One kind of problem in one file.

    Attributes:
        split: train, dev or test.
        kind: the problem's name.
        count: number of lines that have it.
        share: the same as a share of the file's lines.
        lines: the numbers of these lines, from 1.
        others: a number for each of these lines. For a duplicate or a leak it is the number of the
            first line with the same text. For a misaligned line it is the offset of its
            translation in lines. Empty for other kinds.
        places: positions of the first examples: a line number, or "from-to" for a range of lines.
        examples: the same examples as text.
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
        judged: whether it has enough lines to judge ratio, language and alignment.
    """

    split: str
    files: list[str]
    lines: int
    judged: bool


@dataclass(frozen=True)
class Unseen:
    """Characters of one side of dev or test that do not occur in the same side of train.

    Attributes:
        split, language: which side.
        rate: their share of all characters that are not spaces.
        characters: the 20 most frequent, in descending order of frequency.
        is_finding: whether the rate is above 1 %.
    """

    split: str
    language: str
    rate: float
    characters: str
    is_finding: bool


@dataclass(frozen=True)
class Fixed:
    """A cleaned copy of the training file.

    A line with several kinds of problems counts once, for the first kind in the order of `Kind`.

    Attributes:
        files: the paths of the copy.
        written: number of lines in it.
        left_out: number of lines that are not in it, by kind.
        repaired: number of lines that were repaired, by kind.
    """

    files: list[str]
    written: int
    left_out: dict[str, int]
    repaired: dict[str, int]


@dataclass(frozen=True)
class Findings:
    """Everything that was found."""

    files: list[CheckedFile]
    findings: list[Finding]
    unseen: list[Unseen]
    fixed: Fixed | None

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings and not any(unseen.is_finding for unseen in self.unseen)
