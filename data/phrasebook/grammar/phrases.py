"""Sentences with several right translations, and the noun phrases they are made of."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from grammar.english import with_article
from grammar.lexicon import Adjective, Noun, Pronoun


@dataclass(frozen=True)
class Reading:
    """What the Spanish must say and the English leaves open; the defaults are canonical.

    Attributes:
        you: whom "you" addresses: tú, usted or ustedes.
        gender: of I, we, they and you: m or f.
        person: of one whose English noun does not tell it, such as "the doctor".
        thing: gender of what "it" or "them" stands for.
        early: clitics before the finite verb (lo voy a leer) or on the infinitive (voy a leerlo),
            whichever is not canonical.
        completed: "was" as fue rather than era.
    """

    you: str = "tú"
    gender: str = "m"
    person: str = "m"
    thing: str = "m"
    early: bool = False
    completed: bool = False


CANONICAL = Reading()
CHOICES: dict[str, tuple[Any, Any]] = {  # what each attribute may be beside its default
    "gender": ("m", "f"),
    "person": ("m", "f"),
    "thing": ("m", "f"),
    "early": (False, True),
    "completed": (False, True),
}

Spanish = Callable[[Reading], str]


@dataclass(frozen=True)
class Sentence:
    """An English sentence, its translation under each reading, and what it combines."""

    english: str
    spanish: Spanish
    combinations: tuple[str, ...] = ()

    @cached_property
    def canonical(self) -> str:
        """The translation that train shows."""
        return self.spanish(CANONICAL)

    def translations(self) -> list[str]:
        """Return every right translation, the canonical one first."""
        found: dict[str, None] = {}
        for you in ("tú", "usted", "ustedes"):
            base = Reading(you)
            text = self.spanish(base)
            # Most choices do not matter to a sentence; only the others are combined
            matter = {
                name: values
                for name, values in CHOICES.items()
                if self.spanish(replace(base, **{name: values[1]})) != text
            }
            for values in itertools.product(*matter.values()):
                found[self.spanish(replace(base, **dict(zip(matter, values, strict=True))))] = None
        return list(found)


def english_sentence(text: str, end: str = ".") -> str:
    """Write as a sentence: a capital, single spaces, an end."""
    text = " ".join(text.split())
    return text[0].upper() + text[1:] + end


def spanish_sentence(text: str, end: str = ".") -> str:
    """Write as a sentence: al and del, a capital, and the marks that open ¿ and ¡."""
    text = " ".join(text.split())
    if " el " in text:
        text = re.sub(r"\b(a|de) el\b", r"\1l", text)
    return {"?": "¿", "!": "¡"}.get(end, "") + text[0].upper() + text[1:] + end


def sentence(english: str, spanish: Spanish, end: str, *combinations: str) -> Sentence:
    """Build a sentence from words without capitals and stops."""
    return Sentence(
        english_sentence(english, end), lambda r: spanish_sentence(spanish(r), end), combinations
    )


@dataclass(frozen=True)
class PronounPhrase:
    """A pronoun: its rows by reading."""

    rows: tuple[Pronoun, ...]
    thing: bool = False  # it, or them for things
    human: bool = True
    key: str = ""

    @property
    def en(self) -> str:
        """The English subject form."""
        return self.rows[0].en

    @property
    def en_object(self) -> str:
        """The English object form."""
        return self.rows[0].en_object

    @property
    def en_possessive(self) -> str:
        """My, your, his."""
        return self.rows[0].en_possessive

    @property
    def en_person(self) -> int:
        """The English person, 0 to 4."""
        return self.rows[0].en_person

    def row(self, reading: Reading) -> Pronoun:
        """Return the row that holds under a reading."""
        if len(self.rows) == 1:
            return self.rows[0]
        return next(row for row in self.rows if row.address == reading.you)

    def spanish(self, reading: Reading) -> str:
        """Return the Spanish subject; empty where Spanish drops it."""
        row = self.row(reading)
        return row.es_feminine if row.es_feminine and reading.gender == "f" else row.es

    def person(self, reading: Reading) -> int:
        """Return the Spanish person."""
        return self.row(reading).es_person

    def gender(self, reading: Reading) -> str:
        """Return the gender that adjectives take."""
        return self.row(reading).gender or reading.gender

    def is_plural(self, reading: Reading) -> bool:
        """Return whether Spanish adjectives take the plural."""
        return self.person(reading) > 2

    def clitic(self, reading: Reading) -> str:
        """Return the direct object."""
        row = self.row(reading)
        gender = reading.thing if self.thing else reading.gender
        return row.clitic_feminine if row.clitic_feminine and gender == "f" else row.clitic


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and adjective."""

    noun: Noun
    en: str
    spanish: Spanish
    plural: bool
    human: bool
    key: str
    combinations: tuple[str, ...] = ()

    @property
    def en_object(self) -> str:
        """The English object form."""
        return self.en

    @property
    def en_possessive(self) -> str:
        """His, her, their."""
        return "their" if self.plural else "her" if self.noun.gender == "f" else "his"

    @property
    def en_person(self) -> int:
        """The English person."""
        return 4 if self.plural else 2

    def person(self, reading: Reading) -> int:
        """Return the Spanish person."""
        return 4 if self.plural else 2

    def gender(self, reading: Reading) -> str:
        """Return the gender that adjectives take."""
        return noun_gender(self.noun, self.plural, reading)

    def is_plural(self, reading: Reading) -> bool:
        """Return whether Spanish adjectives take the plural."""
        return self.plural


Phrase = PronounPhrase | NounPhrase


def noun_gender(noun: Noun, plural: bool, reading: Reading) -> str:
    """Return a noun's gender; "the doctor" has that of the reading."""
    return "f" if noun.es_feminine and reading.person == "f" and not plural else noun.gender


ARTICLES = {
    "the": ("el", "la", "los", "las"),
    "a": ("un", "una", "unos", "unas"),
    "this": ("este", "esta", "estos", "estas"),
    "that": ("ese", "esa", "esos", "esas"),
    "many": ("mucho", "mucha", "muchos", "muchas"),
    "our": ("nuestro", "nuestra", "nuestros", "nuestras"),
    "another": ("otro", "otra", "otros", "otras"),
}
POSSESSIVES = {"my": "mi", "his": "su", "her": "su", "their": "su"}
ENGLISH_PLURAL = {"this": "these", "that": "those", "another": "other"}


def spanish_determiner(word: str, noun: Noun, plural: bool, reading: Reading) -> str:
    """Return the determiner that agrees with a noun."""
    gender = noun_gender(noun, plural, reading)
    if word == "the" and noun.takes_el and not plural:
        return "el"
    if word in ARTICLES:
        return ARTICLES[word][(gender == "f") + 2 * plural]
    if word in POSSESSIVES or word == "your":
        possessive = POSSESSIVES.get(word) or ("tu" if reading.you == "tú" else "su")
        return possessive + "s" * plural
    return ""


def noun_phrase(
    noun: Noun,
    determiner: str,
    plural: bool = False,
    adjective: Adjective | None = None,
    spanish_article: str | None = None,
    number: tuple[str, str] | None = None,
) -> NounPhrase:
    """Build a noun phrase.

    Args:
        noun: the noun.
        determiner: an English determiner in the singular, or empty.
        plural: whether in the plural.
        adjective: what describes it.
        spanish_article: the Spanish determiner where it is not the English one's translation
            (I like apples, me gustan las manzanas).
        number: a number in English and Spanish, which takes the determiner's place.
    """
    word = noun.en_plural if plural else noun.en
    described = f"{adjective.en} {word}" if adjective else word
    shown = ENGLISH_PLURAL.get(determiner, determiner) if plural else determiner
    if number:
        english = f"{number[0]} {described}"
    elif determiner == "a" and not plural:
        english = with_article(described)
    elif determiner == "many":
        english = f"many {described}" if plural else f"a lot of {described}"
    else:
        english = f"{shown} {described}"
    if spanish_article is None:
        spanish_article = "the" if noun.determiner == "article" and not determiner else determiner

    def spanish(reading: Reading) -> str:
        head = noun.es_plural if plural else noun.es
        if noun.es_feminine and not plural and reading.person == "f":
            head = noun.es_feminine
        if adjective:
            gender = noun_gender(noun, plural, reading)
            form = adjective.agree(gender, plural)
            if adjective.short:  # un buen libro, una buena novela
                form = adjective.short if gender == "m" and not plural else form
                head = f"{form} {head}"
            else:
                head = f"{head} {form}"
        if number:
            return f"{number[1]} {head}"
        return f"{spanish_determiner(spanish_article, noun, plural, reading)} {head}".strip()

    combinations = (f"{adjective.en} {noun.en}",) if adjective else ()
    human = any(c in ("person", "profession", "acquaintance", "name") for c in noun.classes)
    return NounPhrase(noun, english.strip(), spanish, plural, human, noun.en, combinations)
