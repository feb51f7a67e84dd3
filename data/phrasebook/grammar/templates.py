"""Sentences around a verb: every verb of the lexicon, in its tenses, with what it goes with."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

from grammar.choices import Choices
from grammar.clauses import (
    NO_EXPRESSION,
    REFLEXIVE,
    Clause,
    dative,
    english_object,
    spanish_object,
)
from grammar.conjugation import attach
from grammar.lexicon import Expression, Lexicon, Noun, Verb
from grammar.phrases import (
    NounPhrase,
    Phrase,
    PronounPhrase,
    Reading,
    Sentence,
    english_sentence,
    noun_phrase,
    spanish_sentence,
)

TENSES = {  # letter of a verb's forms: its tenses, the frequent ones more than once
    "p": ("present",) * 5,
    "g": ("progressive", "progressive", "was"),
    "r": ("preterite",) * 5,
    "i": ("imperfect", "imperfect"),
    "f": ("future",) * 4,
    "n": ("near",) * 3,
    "c": ("perfect",) * 3,
    "m": ("want", "have to", "need", "can", "should", "would like", "had to"),
    "o": ("order",) * 3,
}
ASKED = ("preterite", "future", "near", "have to", "present")  # by when, where, why or what
EXPLAINED = ("progressive", "future", "near", "want", "need", "can")  # by because
TIMED_COMPLEMENTS = ("routine", "punctual", "effort", "manner", "pace", "care", "amount")
ADDRESSES = (  # English, Spanish, whom it addresses
    ("", "", ""),
    ("", "", ""),
    ("", "", ""),
    (", please", ", por favor", ""),
    (", please", ", por favor", ""),
    (", sir", ", señor", "usted"),
    (", ma'am", ", señora", "usted"),
    (", kids", ", niños", "ustedes"),
)
NO_PRONOUN = ("ask", "tell", "speak", "play")  # their Spanish hangs on a noun: ask it?


class Templates:
    """Draws sentences from the lexicon.

    Args:
        lexicon: the words.
        rng: every choice comes from it.
        choices: draws subjects, objects and times.
    """

    def __init__(self, lexicon: Lexicon, rng: random.Random, choices: Choices) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.choices = choices
        self.chance = choices.chance

    def verb_sentences(self, verb: Verb, count: int) -> Iterator[Sentence]:
        """Draw sentences with one verb, all its tenses, persons and objects in turn."""
        tenses = [tense for letter in verb.forms for tense in TENSES[letter]]
        heads = list(itertools.product(tenses, (0, 0, 1, 2, 2, 2, 3, 4, 4)))
        items: list[Noun | tuple[str, Expression]] = []
        for name in verb.objects:
            if name.startswith("@"):
                kind = name[1:]
                items += [(kind, expression) for expression in self.lexicon.expressions[kind]]
            else:
                items += [n for n in self.lexicon.nouns_of(name) if n not in items]
        items += [
            item for item in items if isinstance(item, Noun) and self.choices.is_rare(item)
        ] * 2
        self.rng.shuffle(heads)
        for number in range(count):
            if number % len(items) == 0:
                self.rng.shuffle(items)
            tense, person = heads[number % len(heads)]
            item = items[number % len(items)]
            kind = "" if isinstance(item, Noun) else item[0]
            if kind in ("routine", "punctual") and tense in ("progressive", "was"):
                tense = "preterite"  # not "she is getting up at six o'clock"
            if kind == "effort" and tense == "order":
                tense = "present"
            if tense == "order":
                yield self.order(verb, item)
            else:
                yield self.clause(verb, item, tense, person).sentence(self.lexicon)

    def simple(self, base: str, noun: str, tense: str, negated: bool) -> Sentence:
        """Say that I do something to what needs no determiner."""
        verb = next(v for v in self.lexicon.verbs if v.english.base == base)
        phrase = noun_phrase(next(n for n in self.lexicon.nouns if n.en == noun), "")
        clause = Clause(self.choices.pronouns["I"], verb, tense, phrase, negated=negated)
        return clause.sentence(self.lexicon)

    def clause(
        self, verb: Verb, item: Noun | tuple[str, Expression], tense: str, person: int
    ) -> Clause:
        """Draw a clause with the given verb, object or complement, tense and English person."""
        rng = self.rng
        subject = self.choices.subject(person)
        clause = Clause(subject, verb, tense)
        kind = ""
        if isinstance(item, Noun):
            clause.object = self.choices.object(item, verb, tense, subject)
            if verb.recipient == "must" or (verb.recipient and self.chance(0.3)):
                clause.recipient = self.choices.recipient(subject)
            if takes_pronoun(verb) and self.chance(0.07):
                clause.object = self.choices.object_pronoun(item, subject)
        else:
            kind, clause.complement = item
            last = clause.complement.en.rpartition(" ")[2]
            if person in (0, 3) and last in ("me", "us"):  # not "I walk with us"
                clause.subject = self.choices.subject(2)
            elif person == 4 and last == "them":
                clause.subject = self.choices.subject(3)
        state = "r" not in verb.forms
        if kind not in TIMED_COMPLEMENTS and not state and self.chance(0.55 if kind else 0.42):
            clause.time = self.choices.time(tense)
        if not clause.time.en and self.add_adverb(clause):
            return clause
        draw = rng.random()
        if draw < (0, 0.35, 0.1, 0.03, 0.12)[person]:
            clause.question = "yes or no"
            return clause
        if draw > 0.92 and person in (1, 2, 4) and tense in ASKED:
            self.ask(clause)
            return clause
        if tense != "would like":
            clause.negated = self.chance(0.2)
        explicable = person == 0 and tense in EXPLAINED and not state
        if self.chance(0.05):
            clause.opening = rng.choice(self.lexicon.expressions["belief"])
        elif explicable and not clause.time.en and self.chance(0.15):
            clause.negated = True  # a reason not to do it nearly always makes sense
            clause.time = rng.choice(self.lexicon.expressions["reason"])
        return clause

    def add_adverb(self, clause: Clause) -> bool:
        """Perhaps add always, never, already, and tell whether."""
        if clause.tense == "perfect" and self.chance(0.6):
            clause.adverb = self.rng.choice(("already", "already", "never", "yet", "ever"))
            clause.negated = clause.adverb == "yet"
            clause.question = "yes or no" if clause.adverb == "ever" else ""
        elif clause.tense == "present" and self.chance(0.3):
            clause.adverb = self.rng.choice(self.lexicon.expressions["frequency"]).en
        return bool(clause.adverb)

    def ask(self, clause: Clause) -> None:
        """Make a clause a question of where, when, why or what."""
        words = ["why"]
        if clause.tense != "present":
            words.append("when")
            if isinstance(clause.object, NounPhrase) and not clause.verb.preposition:
                words.append("where")
        plain = clause.object and not clause.verb.preposition and not clause.recipient
        if plain and not clause.verb.spanish.reflexive:
            words.append("who" if clause.object and clause.object.human else "what")
        clause.question = self.rng.choice(words)
        if clause.question in ("what", "who"):
            clause.object = None
        elif clause.question == "when":
            clause.time = NO_EXPRESSION
        elif clause.question == "why":
            clause.negated = self.chance(0.3)

    def order(self, verb: Verb, item: Noun | tuple[str, Expression]) -> Sentence:
        """Draw a command, or a proposal with let's."""
        you = self.choices.pronouns["you"]
        phrase: Phrase | None = None
        complement = NO_EXPRESSION
        if isinstance(item, Noun):
            phrase = self.choices.object(item, verb, "order", you)
            if takes_pronoun(verb) and self.chance(0.15):
                phrase = self.choices.object_pronoun(item, you)
        else:
            complement = item[1]
        me = bool(verb.recipient) and (verb.recipient == "must" or self.chance(0.4))
        clause = Clause(
            you, verb, "order", phrase, complement, self.choices.pronouns["I"] if me else None
        )
        if self.chance(0.2) and not me:
            return self.proposal(clause)
        negated = self.chance(0.35)
        en_address, es_address, addressed = self.rng.choice(ADDRESSES)
        words = f"{english_object(verb.english.base, clause)} {complement.en}".strip()
        english = english_sentence(("Don't " if negated else "") + words + en_address)

        def spanish(reading: Reading) -> str:
            if addressed:
                reading = replace(reading, you=addressed)
            text = command(clause, negated, reading)
            return spanish_sentence(text + es_address)

        return Sentence(english, spanish, self._combinations(clause))

    def proposal(self, clause: Clause) -> Sentence:
        """Say let's."""
        we, verb = self.choices.pronouns["we"], clause.verb
        if isinstance(clause.object, NounPhrase) and "your" in clause.object.en:
            noun, plural = clause.object.noun, clause.object.plural
            article = "the" if verb.spanish.reflexive and not verb.preposition else None
            clause = replace(
                clause, object=noun_phrase(noun, "our", plural, spanish_article=article)
            )
        tail = f"{english_object(verb.english.base, clause)} {clause.complement.en}".strip()

        def spanish(reading: Reading) -> str:
            near = replace(clause, subject=we, tense="near")
            return spanish_sentence(near.spanish(self.lexicon, replace(reading, early=False)))

        return Sentence(english_sentence(f"let's {tail}"), spanish, self._combinations(clause))

    @staticmethod
    def _combinations(clause: Clause) -> tuple[str, ...]:
        key = clause.object.key if clause.object else clause.complement.en
        own = clause.object.combinations if isinstance(clause.object, NounPhrase) else ()
        return (f"{clause.verb.english.base} {key}", *own) if key else own


def takes_pronoun(verb: Verb) -> bool:
    """Return whether it or them can be the object."""
    return not (verb.preposition or verb.generic or verb.english.base in NO_PRONOUN)


def command(clause: Clause, negated: bool, reading: Reading) -> str:
    """Return a Spanish command, to whom the reading addresses."""
    verb = clause.verb.spanish
    person = {"tú": 1, "usted": 2, "ustedes": 4}[reading.you]
    clitics = [REFLEXIVE[person]] if verb.reflexive else []
    if clause.recipient:
        clitics.append(dative(clause.recipient, reading))
    words = ""
    if isinstance(clause.object, PronounPhrase):
        clitics.append(clause.object.clitic(reading))
    elif clause.object:
        words = spanish_object(clause.object, clause.verb, reading)
    words = f"{words} {clause.complement.es}".strip()
    form = verb.subjunctive[{1: 1, 2: 2, 4: 3}[person]]
    if negated:
        return f"no {' '.join(clitics)} {form} {words}".strip()
    if person == 1:
        form = verb.imperative
    return f"{attach(form, clitics)} {words}".strip()
