"""The pairs of a training side, in the directions that a model learns."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from seq2seq_cli.data.pairs import Pairs, Tags
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.special_tokens import TO


class Directed:
    """The pairs of a corpus, once for each direction, with a tag of the target language.

    The tag of the language comes first, followed by the tags of the pairs. The first direction is
    that of the corpus, whose pairs may have tags of other target languages; the second, if there is
    one, has the sides exchanged.

    Args:
        pairs: of the corpus.
        languages: the default target language of each direction, one or two.
    """

    def __init__(self, pairs: Pairs, languages: Sequence[str]):
        self._pairs = pairs
        self._directions = len(languages)
        own = pairs.tags or Tags([()], np.zeros(len(pairs), np.uint16))
        size = len(own.sequences)
        self.tags = Tags(
            [
                *(_tagged(tags, languages[0]) for tags in own.sequences),
                *(
                    (TO + back, *_of_corpus(tags))
                    for back in languages[1:]
                    for tags in own.sequences
                ),
            ],
            np.concatenate([own.numbers + np.uint16(i * size) for i in range(len(languages))]),
        )
        self.weights = None if pairs.weights is None else np.tile(pairs.weights, len(languages))

    def __len__(self) -> int:
        return self._directions * len(self._pairs)

    def __iter__(self) -> Iterator[Pair]:
        turned = ((target, source) for source, target in self._pairs)
        return itertools.chain(self._pairs, turned if self._directions > 1 else ())

    def take(self, indices: Sequence[int] | np.ndarray) -> tuple[list[str], list[str]]:
        """Return the source and the target sentences at `indices`."""
        directions, rows = np.divmod(np.asarray(indices, np.int64), len(self._pairs))
        sides = zip(directions, *self._pairs.take(rows), strict=True)
        taken = [pair[::-1] if direction else pair for direction, *pair in sides]
        return [source for source, _ in taken], [target for _, target in taken]

    def known_lengths(self, side: int, fingerprint: str) -> np.ndarray | None:
        """Return the numbers of tokens of a side's sentences, if the corpus has kept them."""
        sides = [side, 1 - side][: self._directions]
        known = [self._pairs.known_lengths(each, fingerprint) for each in sides]
        found = [lengths for lengths in known if lengths is not None]
        return np.concatenate(found) if len(found) == self._directions else None

    def keep_lengths(self, side: int, fingerprint: str, lengths: np.ndarray) -> None:
        """Let the corpus keep the numbers of tokens of a side's sentences."""
        self._pairs.keep_lengths(side, fingerprint, lengths[: len(self._pairs)])


def _tagged(tags: tuple[str, ...], language: str) -> tuple[str, ...]:
    """Return the tags of a pair with that of the default language, unless it has another's."""
    return tags if tags and tags[0].startswith(TO) else (TO + language, *tags)


def _of_corpus(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags that name the corpus of a pair."""
    return tuple(tag for tag in tags if not tag.startswith(TO))
