"""Compares the translations of an export with those of its run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from seq2seq_cli.errors import ExportError

SEARCHES = {"greedy": 1, "beam 5": 5}
"""The beams that are compared, by the name of the search."""


class Program(Protocol):
    """An exported model at work."""

    def __call__(self, sentences: Sequence[str], beam: int) -> list[str]:
        """Return a translation of each sentence, without a length penalty."""


@dataclass(frozen=True)
class Agreement:
    """How many sentences an export translates as its run does.

    Attributes:
        search: a name of SEARCHES.
        equal: number of equal translations.
        sentences: number of all.
        promised: the smallest share that is accepted, from 0 to 1.
    """

    search: str
    equal: int
    sentences: int
    promised: float

    def __str__(self) -> str:
        """Return the numbers in words."""
        return f"{self.search}: {self.equal} of {self.sentences} translations equal"


def compare(
    program: Program, sentences: Sequence[str], expected: dict[str, list[str]], promised: float
) -> list[Agreement]:
    """Compare an export's translations with the run's.

    Args:
        program: the export.
        sentences: to translate.
        expected: the run's translations by the name of the search.
        promised: the smallest share of equal translations.

    Raises:
        ExportError: if fewer are equal.
    """
    found = []
    for name, wanted in expected.items():
        translations = program(sentences, SEARCHES[name])
        pairs = list(zip(wanted, translations, strict=True))
        equal = sum(a == b for a, b in pairs)
        agreement = Agreement(name, equal, len(pairs), promised)
        if equal < promised * len(pairs):
            k = next(i for i, (a, b) in enumerate(pairs) if a != b)
            raise ExportError(
                f"{agreement}, and {promised:.1%} are promised, so nothing was written. First "
                f"difference: {sentences[k]!r} is {wanted[k]!r} by the run and "
                f"{translations[k]!r} by the export"
            )
        found.append(agreement)
    return found
