"""The tables in the folder above, read into plain objects."""

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grammar.conjugation import SpanishVerb
from grammar.english import EnglishVerb, plural


@dataclass(frozen=True)
class Noun:
    """A noun and what can be said of it.

    Attributes:
        en: English singular.
        en_plural: English plural.
        es: Spanish singular.
        es_plural: Spanish plural.
        es_feminine: what the same English noun is for a woman, if that differs.
        gender: m or f.
        takes_el: a feminine noun with the article el (el agua).
        determiner: empty for what is counted, `mass`, `bare` (never a determiner), `the` (always
            one), `article` (bare in English, el in Spanish) or `name`.
        classes: meaning classes.
    """

    en: str
    en_plural: str
    es: str
    es_plural: str
    es_feminine: str
    gender: str
    takes_el: bool
    determiner: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Adjective:
    """An adjective: four Spanish forms, whether it goes with ser or estar, and with what nouns."""

    en: str
    comparative: str
    forms: tuple[str, str, str, str]
    short: str
    copula: str
    classes: tuple[str, ...]

    def agree(self, gender: str, is_plural: bool) -> str:
        """Return the form for a gender and a number."""
        return self.forms[(gender == "f") + 2 * is_plural]


@dataclass(frozen=True)
class Verb:
    """A verb in one meaning.

    Attributes:
        english: its English forms.
        spanish: its Spanish forms.
        preposition: what stands before its Spanish object.
        generic: whether an object in general takes an article (odio el queso).
        objects: classes of nouns, or @kinds of expressions, that complete it.
        forms: letters of the tenses it is used in.
        recipient: how English joins the one who receives: to, for, only to, must; or empty.
    """

    english: EnglishVerb
    spanish: SpanishVerb
    preposition: str
    generic: bool
    objects: tuple[str, ...]
    forms: str
    recipient: str


@dataclass(frozen=True)
class Expression:
    """A fixed phrase, such as a time or a place."""

    en: str
    es: str


@dataclass(frozen=True)
class Pronoun:
    """One row of pronouns.tsv; a pronoun with several readings has several rows."""

    en: str
    en_object: str
    en_possessive: str
    en_person: int
    address: str
    es: str
    es_feminine: str
    es_person: int
    clitic: str
    clitic_feminine: str
    dative: str
    reflexive: str
    possessive: str
    gender: str


@dataclass(frozen=True)
class Number:
    """A number as a word, and as the day of a month if it can be one."""

    value: int
    en: str
    es: str
    en_ordinal: str
    es_ordinal: str


TABLES = Path(__file__).parents[1]
ALL_FORMS = "pgrifncmo"


def read_table(name: str) -> list[dict[str, str]]:
    """Read the rows of a table."""
    lines = (TABLES / f"{name}.tsv").read_text(encoding="utf-8").split("\n")
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


class Lexicon:
    """All tables."""

    def __init__(self) -> None:
        self.nouns = [
            Noun(
                en=row["en"],
                en_plural=row["en_plural"] or plural(row["en"]),
                es=row["es"],
                es_plural=row["es_plural"] or row["es"] + "s",
                es_feminine=row["es_feminine"],
                gender=row["gender"][0],
                takes_el=row["gender"] == "fel",
                determiner=row["determiner"],
                classes=tuple(row["classes"].split()),
            )
            for row in read_table("nouns")
        ]
        self.adjectives = [
            Adjective(
                row["en"],
                row["comparative"],
                (row["m"], row["f"], row["m_plural"], row["f_plural"]),
                row["short"],
                row["copula"],
                tuple(row["classes"].split()),
            )
            for row in read_table("adjectives")
        ]
        self.all_verbs = [
            Verb(
                EnglishVerb(row["en"], row["past"], row["participle"]),
                SpanishVerb(row["es"], row["irregular"]),
                row["preposition"],
                row["generic"] == "yes",
                tuple(row["objects"].split()),
                row["forms"] or ALL_FORMS,
                row["recipient"],
            )
            for row in read_table("verbs")
        ]
        self._nouns_of: dict[tuple[str, ...], list[Noun]] = {}
        self._spanish_verbs = {  # of several meanings of a verb, the first
            verb.spanish.infinitive: verb.spanish for verb in reversed(self.all_verbs)
        }
        self.verbs = [verb for verb in self.all_verbs if verb.forms != "-"]
        self.pronouns = [
            Pronoun(
                **{name: cell for name, cell in row.items() if not name.endswith("_person")},
                en_person=int(row["en_person"]),
                es_person=int(row["es_person"]),
            )
            for row in read_table("pronouns")
        ]
        self.numbers = [
            Number(int(row["value"]), row["en"], row["es"], row["en_ordinal"], row["es_ordinal"])
            for row in read_table("numbers")
        ]
        self.phrases = [(row["en"], row["es"]) for row in read_table("phrases")]

    @cached_property
    def expressions(self) -> dict[str, list[Expression]]:
        """Expressions by kind."""
        kinds: dict[str, list[Expression]] = {}
        for row in read_table("expressions"):
            kinds.setdefault(row["kind"], []).append(Expression(row["en"], row["es"]))
        return kinds

    def nouns_of(self, *classes: str) -> list[Noun]:
        """Return the nouns that are in one of the classes."""
        if classes not in self._nouns_of:
            found = [noun for noun in self.nouns if any(c in noun.classes for c in classes)]
            self._nouns_of[classes] = found
        return self._nouns_of[classes]

    def spanish_verb(self, infinitive: str) -> SpanishVerb:
        """Return a verb by its infinitive."""
        return self._spanish_verbs[infinitive]
