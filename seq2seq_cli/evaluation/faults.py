"""Faults of translations that are visible without a reference: empty, repeated, copied, cut."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq_cli.data.splits import normalise

_LONGEST_REPEATED = 4  # words
_TIMES = 3


@dataclass(frozen=True)
class Faults:
    """The shares of the translations with each fault, from 0 to 1.

    Attributes:
        empty: the translation has no text.
        repeated: it has one to four words three times in succession, and no reference does.
        copied: it equals the source, apart from case and punctuation, and no reference does.
        cut: it was stopped at the maximum length, or the source was cut; None if not known.
    """

    empty: float
    repeated: float
    copied: float
    cut: float | None


def find_faults(
    sources: Sequence[str],
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    cut: Sequence[bool] | None = None,
) -> Faults:
    """Return the shares of translations with faults.

    Args:
        sources: the sentences.
        translations: a text for each.
        references: one or more texts for each, or none for a sentence without references.
        cut: whether each was cut; None if not known.
    """
    rows = list(zip(sources, translations, references, strict=True))
    repeated = [repeats(found) and not any(map(repeats, wanted)) for _, found, wanted in rows]
    return Faults(
        _share([not found.strip() for found in translations]),
        _share(repeated),
        _share([is_copy(*row) for row in rows]),
        None if cut is None else _share(list(cut)),
    )


def repeats(text: str) -> bool:
    """Return whether one to four words occur three times in succession."""
    words = text.casefold().split()
    for length in range(1, _LONGEST_REPEATED + 1):
        run = 0  # words in succession that are those `length` before
        for i in range(length, len(words)):
            run = run + 1 if words[i] == words[i - length] else 0
            if run == length * (_TIMES - 1):
                return True
    return False


def is_copy(source: str, translation: str, references: Sequence[str]) -> bool:
    """Return whether a translation equals its source, and no reference does."""
    copied = normalise(source)
    if not translation.strip() or normalise(translation) != copied:
        return False
    return all(normalise(reference) != copied for reference in references)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)
