"""What a sentence may choose: who, whom, what and when, in words that suit each other."""

import random
from collections import Counter
from dataclasses import replace

from grammar.clauses import NO_EXPRESSION
from grammar.lexicon import Adjective, Expression, Lexicon, Noun, Verb
from grammar.phrases import NounPhrase, Phrase, PronounPhrase, noun_phrase

TIMES = {  # tense: kind of the time expressions that suit it
    "present": "habit",
    "progressive": "now",
    "was": "past",
    "preterite": "past",
    "had to": "past",
    "imperfect": "era",
    "future": "future",
    "near": "future",
    "want": "future",
    "have to": "future",
    "need": "future",
    "can": "future",
    "should": "future",
    "would like": "future",
}
HABITUAL = ("present", "imperfect")
INDEFINITE_PERSONS = ("need", "hire", "look for")


class Choices:
    """Draws parts of sentences from the lexicon.

    Args:
        lexicon: the words.
        rng: every choice comes from it.
    """

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        by_name: dict[str, list] = {}
        for row in lexicon.pronouns:
            by_name.setdefault(row.en, []).append(row)
        self.pronouns = {
            name: PronounPhrase(tuple(rows), key=name) for name, rows in by_name.items()
        }
        self.it = replace(self.pronouns.pop("it"), thing=True, human=False)
        self.them = replace(self.pronouns["they"], thing=True, human=False)
        self.adjectives: dict[str, list] = {}
        for adjective in lexicon.adjectives:
            for noun in lexicon.nouns_of(*adjective.classes):
                self.adjectives.setdefault(noun.en, []).append(adjective)
        self.takers = Counter(
            noun.en for verb in lexicon.verbs for noun in lexicon.nouns_of(*verb.objects)
        )
        self.small_numbers = [n for n in lexicon.numbers if 2 <= n.value <= 12]

    def pick(self, kind: str) -> Expression:
        """Draw an expression."""
        return self.rng.choice(self.lexicon.expressions[kind])

    def noun(self, *classes: str) -> Noun:
        """Draw a noun."""
        return self.rng.choice(self.lexicon.nouns_of(*classes))

    def chance(self, probability: float) -> bool:
        """Return True that often."""
        return self.rng.random() < probability

    def is_rare(self, noun: Noun) -> bool:
        """Return whether few verbs take a noun, so that each must show it more often."""
        return self.takers[noun.en] < 9

    def subject(self, person: int) -> Phrase:
        """Draw a subject in an English person."""
        rng = self.rng
        if person in (0, 1, 3):
            return self.pronouns[("I", "you", "", "we")[person]]
        if person == 4:
            if self.chance(0.7):
                return self.pronouns[rng.choice(("they", "they", "you all"))]
            kind = rng.choice(("family", "acquaintance", "people", "profession"))
            mine = kind in ("family", "acquaintance")
            noun = rng.choice(self.lexicon.nouns_of("several" if mine else kind))
            return noun_phrase(noun, "my" if mine else "the", plural=True)
        if self.chance(0.45):
            return self.pronouns[rng.choice(("he", "she"))]
        return self.person(
            ("name", "family", "name", "acquaintance", "people", "profession", "spouse")
        )

    def person(self, kinds: tuple[str, ...]) -> NounPhrase:
        """Draw one human being."""
        kind = self.rng.choice(kinds)
        noun = self.rng.choice(self.lexicon.nouns_of(kind))
        if kind == "name":
            return noun_phrase(noun, "")
        if kind == "spouse":
            return noun_phrase(noun, "my")
        if kind in ("family", "acquaintance"):
            return noun_phrase(noun, "my" if self.chance(0.75) else "your")
        return noun_phrase(noun, "the")

    def time(self, tense: str) -> Expression:
        """Draw a time that suits a tense."""
        if tense not in TIMES:
            return NO_EXPRESSION
        return self.rng.choice(self.lexicon.expressions[TIMES[tense]])

    def object(self, noun: Noun, verb: Verb, tense: str, subject: Phrase) -> NounPhrase:
        """Draw a determiner and a number that suit noun, verb and tense."""
        rng, own = self.rng, subject.en_possessive
        fixed = noun.determiner
        pair = "pair" in noun.classes
        if verb.spanish.reflexive and not verb.preposition:  # me lavo las manos
            return noun_phrase(noun, own, plural=pair, spanish_article="the")
        if fixed in ("bare", "name", "article"):
            return noun_phrase(noun, "", spanish_article="the" if verb.generic else None)
        if fixed == "the":
            return noun_phrase(noun, "the")
        if verb.generic:
            return noun_phrase(noun, "", plural=fixed != "mass", spanish_article="the")
        if "family" in noun.classes or "acquaintance" in noun.classes:
            plural = "several" in noun.classes and self.chance(0.2)
            return self.owned(noun, rng.choice((own, "my", "my", "your")), subject, plural)
        words: tuple[str, ...]
        if "person" in noun.classes or "profession" in noun.classes:
            words = (
                ("a", "a", "the") if verb.english.base in INDEFINITE_PERSONS else ("the", "that")
            )
            return noun_phrase(
                noun, rng.choice(words), plural=words[0] == "the" and self.chance(0.3)
            )
        if verb.preposition:
            return self.owned(noun, rng.choice(("the", "the", "the", "the", "this", own)), subject)
        if fixed == "mass":
            words = ("", "", "", "the", "the", own, "many")
            return self.owned(noun, rng.choice(words), subject)
        choice = rng.choice(_determiners(tense, own))
        word, _, s = choice.partition(" ")
        plural = bool(s) or not word or (pair and word != "another") or word == "number"
        if pair and word in ("a", "another", "that"):
            word, plural = "the", True
        number = None
        if word == "number":
            drawn = rng.choice(self.small_numbers)
            number = (drawn.en, drawn.es)
        adjective = None
        if self.chance(0.15) and noun.en in self.adjectives and word != "many":
            adjective = rng.choice(self.adjectives[noun.en])
            if adjective.en == verb.english.base:  # not "open an open door"
                adjective = None
        return self.owned(noun, word, subject, plural, adjective, number)

    @staticmethod
    def owned(
        noun: Noun,
        word: str,
        subject: Phrase,
        plural: bool = False,
        adjective: Adjective | None = None,
        number: tuple[str, str] | None = None,
    ) -> NounPhrase:
        """Build a noun phrase beside a subject: "your" after "you all" is su, not tu."""
        spanish = "their" if word == "your" and subject.key == "you all" else None
        return noun_phrase(noun, word, plural, adjective, spanish, number)

    def others(self, subject: Phrase) -> list[PronounPhrase]:
        """Return the pronouns that do not overlap with the subject."""
        shared = {0: (0, 3), 3: (0, 3)}.get(subject.en_person, ())
        yours = subject.key in ("you", "you all")
        return [
            p
            for p in self.pronouns.values()
            if p.en_person not in shared and not (yours and p.key in ("you", "you all"))
        ]

    def recipient(self, subject: Phrase) -> Phrase:
        """Draw the one who receives."""
        if self.chance(0.6):
            return self.rng.choice(self.others(subject))
        return self.person(("name", "family", "acquaintance"))

    def object_pronoun(self, noun: Noun, subject: Phrase) -> PronounPhrase:
        """Draw it or them for things, another pronoun for persons."""
        if any(c in ("person", "profession", "acquaintance", "name") for c in noun.classes):
            return self.rng.choice(self.others(subject))
        return self.them if self.chance(0.35) else self.it


def _determiners(tense: str, own: str) -> tuple[str, ...]:
    """Return the determiners of a counted noun, the frequent ones several times.

    A second word, "s", makes a plural.
    """
    if tense in HABITUAL:
        return ("", "", "", own, "the", "the s", "many s")
    if tense == "order":
        return ("", "a", "the", "the", "the", own, own, "this", "that", "the s")
    singular = ("a", "a", "a", "the", "the", "the", "", own, own, "this", "that")
    return (*singular, "the s", "the s", "this s", "many s", "number", "number", "another")
