"""Faults of translations that need no reference to be seen: empty, repeated, copied, cut."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq_cli.data.splits import normalise

_LONGEST_REPEATED = 4  # words
_TIMES = 3


@dataclass(frozen=True)
class Faults:
    """Shares of the translations, from 0 to 1.

    Attributes:
        empty: have no text.
        repeated: have one to four words three times in succession, and no reference has.
        copied: are their source, apart from case and punctuation, and no reference is.
        cut: were stopped at the maximum length, or their source was cut; None if not known.
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
        references: one or more texts for each; of no text for a sentence without any.
        cut: whether each was cut; None if that is not known.
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
    """Return whether a translation is its source, and no reference is."""
    copied = normalise(source)
    if not translation.strip() or normalise(translation) != copied:
        return False
    return all(normalise(reference) != copied for reference in references)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)
