"""The corpus: all composed sentences, split by composition.

Dev and test hold combinations, such as a verb with an object, that train never shows. Train shows
the verb and the object, each in other company.
"""

import gzip
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grammar.calendar import Calendar
from grammar.choices import Choices
from grammar.descriptions import Descriptions
from grammar.lexicon import Lexicon
from grammar.phrases import Sentence
from grammar.situations import Situations
from grammar.templates import Templates

Pair = tuple[str, str]

SEED = 0
SENTENCES_PER_VERB = 168
SITUATION_SHARE = 95
HELD_OUT_SHARE = 0.03  # of the combinations, for dev and for test each
HELD_OUT_SENTENCES = 1200  # for dev and for test each
COMPANIONS = 4  # a combination is held out only if both its ends have so many others
FREQUENT = 3  # every word of dev and test stands so often in train
WITHOUT_PUNCTUATION = str.maketrans(dict.fromkeys("¿?¡!.,;:"))
SHOWN = ("inject", "disinfectant", "I will not inject disinfectant.")  # what the README translates


@dataclass(frozen=True)
class Phrasebook:
    """Pairs (English, Spanish); a source with several translations has adjacent rows.

    Attributes:
        train: one translation for each source.
        dev: sources with held-out combinations, with all their translations.
        test: the same, with other combinations.
    """

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]

    def write(self, folder: Path) -> None:
        """Write train.tsv.gz, dev.tsv.gz and test.tsv.gz, without a time or a name in them."""
        for name in ("train", "dev", "test"):
            rows = "".join(f"{english}\t{spanish}\n" for english, spanish in getattr(self, name))
            compressed = gzip.compress(rows.encode(), mtime=0)
            (folder / f"{name}.tsv.gz").write_bytes(compressed)


def split(sentences: Sequence[Sentence]) -> Phrasebook:
    """Draw what is held out, and return the pairs of each side; phrases go to train."""
    rng = random.Random(SEED)
    held_out = _hold_out(sentences, rng)
    sides: dict[str, list[Sentence]] = {"train": [], "dev": [], "test": []}
    for sentence in sentences:
        places = [held_out[c] for c in sentence.combinations if c in held_out]
        if len(set(places)) < 2:  # what dev and test both claim belongs to neither
            sides[places[0] if places else "train"].append(sentence)
    train = [(sentence.english, sentence.canonical) for sentence in sides["train"]]
    train += Lexicon().phrases
    rng.shuffle(train)
    words = Counter(word for pair in train for text in pair for word in split_words(text))
    seen = {plain(text) for pair in train for text in pair}
    rows: dict[str, list[Pair]] = {}
    for side in ("dev", "test"):
        known = [
            sentence
            for sentence in sides[side]
            if plain(sentence.english) not in seen
            and plain(sentence.canonical) not in seen
            and all(words[w] >= FREQUENT for w in split_words(sentence.english))
            and all(words[w] >= FREQUENT for w in split_words(sentence.canonical))
        ]
        rng.shuffle(known)
        known.sort(key=lambda sentence: sentence.english != SHOWN[2])  # the draw must not lose it
        rows[side] = [
            (sentence.english, translation)
            for sentence in known[:HELD_OUT_SENTENCES]
            for translation in sentence.translations()
            if plain(translation) not in seen
        ]
        seen.update(plain(text) for pair in rows[side] for text in pair)
    return Phrasebook(train, rows["dev"], rows["test"])


def plain(text: str) -> str:
    """Reduce a sentence to its words, so that a question equals its statement."""
    return " ".join(split_words(text))


def split_words(text: str) -> list[str]:
    """Return the words of a text in small letters, without punctuation."""
    return text.lower().translate(WITHOUT_PUNCTUATION).split()


def compose() -> list[Sentence]:
    """Draw all sentences that the grammar contributes, none twice in either language.

    Sentences that differ in punctuation only may both stay, such as a Spanish question and its
    statement: they have the same combinations, hence the same side.
    """
    lexicon = Lexicon()
    english = {en for en, _ in lexicon.phrases}
    spanish = {es for _, es in lexicon.phrases}
    kept = []
    for sentence in _draw(lexicon, random.Random(SEED)):
        if sentence.english not in english and sentence.canonical not in spanish:
            english.add(sentence.english)
            spanish.add(sentence.canonical)
            kept.append(sentence)
    return kept


def _draw(lexicon: Lexicon, rng: random.Random) -> Iterator[Sentence]:
    choices = Choices(lexicon, rng)
    templates = Templates(lexicon, rng, choices)
    descriptions = Descriptions(lexicon, rng, choices)
    situations = Situations(lexicon, rng, choices, descriptions)
    calendar = Calendar(lexicon, rng, choices)
    yield templates.simple(*SHOWN[:2], "future", negated=True)
    for verb in lexicon.verbs:
        often = 2 if verb.english.base == SHOWN[0] else 1
        yield from templates.verb_sentences(verb, often * SENTENCES_PER_VERB)
    yield from descriptions.sentences(SITUATION_SHARE)
    yield from situations.sentences(SITUATION_SHARE)
    yield from calendar.sentences(SITUATION_SHARE)


def _hold_out(sentences: Iterable[Sentence], rng: random.Random) -> dict[str, str]:
    """Draw the combinations that only dev or only test shall show."""
    combinations = sorted({c for sentence in sentences for c in sentence.combinations})
    heads = Counter(c.partition(" ")[0] for c in combinations)
    tails = Counter(c.rpartition(" ")[2] for c in combinations)
    eligible = [
        c
        for c in combinations
        if heads[c.partition(" ")[0]] > COMPANIONS and tails[c.rpartition(" ")[2]] > COMPANIONS
    ]
    rng.shuffle(eligible)
    count = round(HELD_OUT_SHARE * len(combinations))
    held_out = {c: "dev" for c in eligible[:count]}
    held_out |= {c: "test" for c in eligible[count : 2 * count]}
    held_out[" ".join(SHOWN[:2])] = "test"
    return held_out
