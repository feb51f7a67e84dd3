"""The kinds of problems that a line of a corpus can have."""

from enum import IntFlag, auto


class Kind(IntFlag):
    """The kinds of problems of a line, in the order in which findings are listed."""

    COLUMNS = auto()
    """Another number of columns than the other lines, or a line that only one of two files has."""
    ENCODING = auto()
    """Invalid UTF-8, a NUL, or U+FFFD, which replaces a lost character."""
    MOJIBAKE = auto()
    """UTF-8 that was read as Latin-1 or CP1252, such as "Â¿QuÃ©" for "¿Qué"."""
    CONTROL = auto()
    """Control characters, line separators, bidi marks, zero-width characters, soft hyphens, a
    byte order mark; but not the joiners of Persian, of Indian scripts and of emoji."""
    EMPTY = auto()
    """Nothing on one side or on both."""
    DUPLICATE = auto()
    """The same pair again."""
    IDENTICAL = auto()
    """The same text on both sides, of more than two words, and not only names and numbers."""
    NUMBERS = auto()
    """Both sides have numbers in digits, and none in common."""
    RATIO = auto()
    """See `outliers.extreme_ratios`."""
    LANGUAGE = auto()
    """Sides swapped, or both in one language; see `outliers.Languages`."""
    MISALIGNED = auto()
    """In a range of lines where the two sides are shifted; see `outliers.slips`."""
    IN_DEV = auto()
    """One of its sentences is in the dev file, ignoring case and punctuation."""
    IN_TEST = auto()
    """One of its sentences is in the test file, ignoring case and punctuation."""

    @property
    def label(self) -> str:
        """The kind's name in findings."""
        return str(self.name).lower().replace("_", " ")


REPAIRED = Kind.MOJIBAKE | Kind.CONTROL
"""Kinds that a cleaned copy repairs. It leaves out lines with any other kind."""
