"""Scores of groups of sentences: by the length of the source, and by its rarest word."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from seq2seq_cli.data.splits import normalise
from seq2seq_cli.evaluation.metrics import score, tokenizer_of

_LONGEST = (3, 6, 10, 15, 25, 40)  # words of the sources in a group
_FEWEST = (100, 10, 1)  # occurrences in training of the rarest word


@dataclass(frozen=True)
class Group:
    """Sentences with a common property.

    Attributes:
        name: the property.
        rows: the indices of the sentences.
    """

    name: str
    rows: list[int]


@dataclass(frozen=True)
class GroupScore:
    """Scores of a group."""

    name: str
    sentences: int
    bleu: float
    chrf: float


def by_length(sources: Sequence[str]) -> list[Group]:
    """Group sentences by the number of words of their source; empty groups are left out."""
    return _grouped(sources, lambda source: _length_name(len(source.split())), _length_names())


def by_rarest_word(sources: Sequence[str], training_words: Counter[str]) -> list[Group]:
    """Group sentences by the number of occurrences of their rarest word in training.

    Args:
        sources: the sentences.
        training_words: the result of `count_words` for the training sources.
    """
    return _grouped(sources, lambda source: _rarity(source, training_words), _rarity_names())


def count_words(sentences: Iterable[str]) -> Counter[str]:
    """Count words without regard to case and punctuation."""
    return Counter(word for sentence in sentences for word in normalise(sentence).split())


def score_groups(
    groups: Sequence[Group], translations: Sequence[str], references: Sequence[Sequence[str]]
) -> list[GroupScore]:
    """Score the translations of each group by BLEU and chrF, with the tokenizer of all."""
    tokenizer = tokenizer_of(references)
    found = []
    for group in groups:
        texts = [translations[i] for i in group.rows]
        scores = score(texts, [references[i] for i in group.rows], tokenizer)
        found.append(GroupScore(group.name, len(group.rows), scores.bleu, scores.chrf))
    return found


def _grouped(
    sources: Sequence[str], name_of: Callable[[str], str], order: Sequence[str]
) -> list[Group]:
    rows: dict[str, list[int]] = {name: [] for name in order}
    for i, source in enumerate(sources):
        rows[name_of(source)].append(i)
    return [Group(name, chosen) for name, chosen in rows.items() if chosen]


def _length_names() -> list[str]:
    fewest = [0, *(most + 1 for most in _LONGEST)]
    names = [f"{low}-{high} words" for low, high in zip(fewest, _LONGEST, strict=False)]
    return [*names, f"{fewest[-1]} words or more"]


def _length_name(words: int) -> str:
    number = sum(words > most for most in _LONGEST)
    return _length_names()[number]


def _rarity_names() -> list[str]:
    return ["never seen", "seen 1-9 times", "seen 10-99 times", "seen 100 times or more"]


def _rarity(source: str, training_words: Counter[str]) -> str:
    seen = min((training_words[word] for word in normalise(source).split()), default=0)
    return _rarity_names()[sum(seen >= fewest for fewest in _FEWEST)]
