"""The n-grams whose numbers of matches differ most between two systems."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from seq2seq_cli.evaluation.metrics import make_metric, tokenizer_of

LONGEST = 4
_SMOOTHING = 1.0


@dataclass(frozen=True)
class NgramDifference:
    """The matches of an n-gram in the translations of two systems.

    Attributes:
        ngram: the words, as BLEU's tokenizer of the references splits them.
        baseline, system: number of matches of each, in a sentence at most as many as in a
            reference.
    """

    ngram: str
    baseline: int
    system: int

    @property
    def share(self) -> float:
        """The system's share of the matches, smoothed (Neubig et al. 2019, compare-mt)."""
        return (self.system + _SMOOTHING) / (self.baseline + self.system + 2 * _SMOOTHING)


def ngram_differences(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[Sequence[str]],
    most: int = 10,
) -> tuple[list[NgramDifference], list[NgramDifference]]:
    """Return the n-grams that the system matches more often than the baseline, and less often.

    Args:
        baseline: translations of one system.
        system: those of the other.
        references: one or more texts for each sentence.
        most: number of n-grams in each of the two lists.
    """
    tokenize = make_metric("BLEU", tokenizer_of(references)).tokenizer
    wanted = [_most_of(_ngrams(text, tokenize) for text in texts) for texts in references]
    before, after = (_matches(texts, wanted, tokenize) for texts in (baseline, system))
    found = [
        NgramDifference(" ".join(ngram), before[ngram], after[ngram])
        for ngram in {**before, **after}
        if before[ngram] != after[ngram]
    ]
    gained = sorted(found, key=lambda each: (-each.share, -len(each.ngram), each.ngram))
    lost = sorted(found, key=lambda each: (each.share, -len(each.ngram), each.ngram))
    return (
        [each for each in gained[:most] if each.system > each.baseline],
        [each for each in lost[:most] if each.system < each.baseline],
    )


def _matches(
    texts: Sequence[str], wanted: Sequence[Counter[tuple]], tokenize: Callable[[str], str]
) -> Counter[tuple]:
    total: Counter[tuple] = Counter()
    for text, ngrams in zip(texts, wanted, strict=True):
        total.update(_ngrams(text, tokenize) & ngrams)
    return total


def _most_of(counts: Iterable[Counter[tuple]]) -> Counter[tuple]:
    found: Counter[tuple] = Counter()
    for each in counts:
        found |= each
    return found


def _ngrams(text: str, tokenize: Callable[[str], str]) -> Counter[tuple]:
    return Counter(_windows(tokenize(text.rstrip()).split()))


def _windows(words: Sequence[str]) -> Iterator[tuple]:
    for length in range(1, LONGEST + 1):
        for i in range(len(words) - length + 1):
            yield tuple(words[i : i + length])
