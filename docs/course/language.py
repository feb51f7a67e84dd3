"""A toy language pair: noun phrases and a verb, from English to Spanish.

    the old red dog sees two houses  ->  el perro rojo viejo ve dos casas

It is small, so that a model learns it in seconds. It has what makes translation hard all the same:
adjectives follow the noun in the opposite order, and articles, adjectives and verbs agree with
words elsewhere. Which source word each target word comes from is known.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

# English singular and plural; Spanish singular and plural; gender.
NOUNS = (
    ("dog", "dogs", "perro", "perros", "m"),
    ("cat", "cats", "gato", "gatos", "m"),
    ("book", "books", "libro", "libros", "m"),
    ("tree", "trees", "árbol", "árboles", "m"),
    ("house", "houses", "casa", "casas", "f"),
    ("table", "tables", "mesa", "mesas", "f"),
    ("flower", "flowers", "flor", "flores", "f"),
    ("key", "keys", "llave", "llaves", "f"),
)
# English; the Spanish stem, to which o, a, os or as is added.
ADJECTIVES = (
    ("red", "roj"),
    ("white", "blanc"),
    ("black", "negr"),
    ("old", "viej"),
    ("new", "nuev"),
    ("small", "pequeñ"),
)
# English; Spanish masculine and feminine singular, masculine and feminine plural; "" for none.
DETERMINERS = (
    ("the", "el", "la", "los", "las"),
    ("this", "este", "esta", "", ""),
    ("one", "un", "una", "", ""),
    ("some", "", "", "unos", "unas"),
    ("two", "", "", "dos", "dos"),
)
# English and Spanish, with a singular and a plural subject.
VERBS = (
    ("sees", "see", "ve", "ven"),
    ("buys", "buy", "compra", "compran"),
    ("paints", "paint", "pinta", "pintan"),
    ("wants", "want", "quiere", "quieren"),
)


class Pair(NamedTuple):
    """A sentence with its translation.

    source, target: the words.
    aligned: for each target word the index of the source word that it translates.
    """

    source: list[str]
    target: list[str]
    aligned: list[int]


class _Part(NamedTuple):
    """A part of a sentence, in both languages; `aligned` counts from its own first word."""

    source: list[str]
    target: list[str]
    aligned: list[int]
    is_plural: bool = False


def make_pairs(
    number: int,
    seed: int,
    objects: Sequence[int] = (1, 2),
    adjectives: int = 2,
    but_not: Iterable[Pair] = (),
) -> list[Pair]:
    """Return random pairs.

    Args:
        number: of pairs.
        seed: determines them.
        objects: the numbers of objects in a sentence, of which each is as likely as the others.
        adjectives: the maximum number of adjectives before a noun.
        but_not: pairs whose sources are left out, such as those of training for a test.
    """
    random = np.random.default_rng(seed)
    seen = {tuple(pair.source) for pair in but_not}
    pairs: list[Pair] = []
    while len(pairs) < number:
        pair = _sentence(random, int(random.choice(objects)), adjectives)
        if tuple(pair.source) not in seen:
            pairs.append(pair)
    return pairs


def _sentence(random: np.random.Generator, objects: int, adjectives: int) -> Pair:
    subject = _noun_phrase(random, adjectives)
    singular, plural, spanish, spanish_plural = VERBS[random.integers(len(VERBS))]
    is_plural = subject.is_plural
    verb = _Part([plural if is_plural else singular], [], [0])
    verb.target.append(spanish_plural if is_plural else spanish)
    parts = [subject, verb, _noun_phrase(random, adjectives)]
    for _ in range(objects - 1):
        parts += [_Part(["and"], ["y"], [0]), _noun_phrase(random, adjectives)]
    pair = Pair([], [], [])
    for part in parts:
        pair.aligned.extend(len(pair.source) + index for index in part.aligned)
        pair.source.extend(part.source)
        pair.target.extend(part.target)
    return pair


def _noun_phrase(random: np.random.Generator, adjectives: int) -> _Part:
    noun, nouns, spanish, spanish_plural, gender = NOUNS[random.integers(len(NOUNS))]
    is_plural = bool(random.integers(2))
    form = 2 * is_plural + (gender == "f")
    fitting = [each for each in DETERMINERS if each[1 + form]]
    determiner = fitting[random.integers(len(fitting))]
    number = min(adjectives, int(random.choice(3, p=(0.4, 0.4, 0.2))))
    chosen = [ADJECTIVES[i] for i in random.permutation(len(ADJECTIVES))[:number]]
    source = [determiner[0], *(english for english, _ in chosen), nouns if is_plural else noun]
    described = [stem + ("o", "a", "os", "as")[form] for _, stem in reversed(chosen)]
    target = [determiner[1 + form], spanish_plural if is_plural else spanish, *described]
    return _Part(source, target, [0, *range(len(source) - 1, 0, -1)], is_plural)


class Vocabulary:
    """The words of a language, with the ids that s2s reserves: PAD 0, UNK 1, BOS 2, EOS 3.

    Attributes:
        words: by id.
    """

    def __init__(self, words: Iterable[str]):
        self.words = ["<pad>", "<unk>", "<s>", "</s>", *sorted(set(words))]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, sentences: Iterable[Sequence[str]], begin: bool = False) -> np.ndarray:
        """Return int32 ids, a row for each sentence, which ends with EOS, then PAD.

        Args:
            sentences: their words.
            begin: whether each begins with BOS.
        """
        start = [BOS] if begin else []
        rows = [[*start, *(self._ids.get(w, UNK) for w in each), EOS] for each in sentences]
        padded = np.full([len(rows), max(map(len, rows))], PAD, np.int32)
        for row, ids in zip(padded, rows, strict=True):
            row[: len(ids)] = ids
        return padded

    def sentence(self, ids: Iterable[int]) -> list[str]:
        """Return the words of ids, up to EOS; BOS and PAD are left out."""
        found = []
        for i in map(int, ids):
            if i == EOS:
                break
            if i not in (BOS, PAD):
                found.append(self.words[i])
        return found


ENGLISH = Vocabulary(
    ["and"]
    + [word for noun in NOUNS for word in noun[:2]]
    + [word for verb in VERBS for word in verb[:2]]
    + [each[0] for each in (*ADJECTIVES, *DETERMINERS)]
)
SPANISH = Vocabulary(
    ["y"]
    + [word for noun in NOUNS for word in noun[2:4]]
    + [word for verb in VERBS for word in verb[2:]]
    + [stem + ending for _, stem in ADJECTIVES for ending in ("o", "a", "os", "as")]
    + [word for each in DETERMINERS for word in each[1:] if word]
)


def batch_of(pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of sources and targets: (source_BS, target_BT); targets begin with BOS."""
    return ENGLISH.ids(p.source for p in pairs), SPANISH.ids((p.target for p in pairs), begin=True)
