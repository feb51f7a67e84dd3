"""Sentences around a verb: every verb of the lexicon, in its tenses, with what it goes with."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from seq2seq_cli.data.phrasebook.clauses import (
    NO_EXPRESSION,
    REFLEXIVE,
    Clause,
    dative,
    english_object,
    spanish_object,
)
from seq2seq_cli.data.phrasebook.conjugation import attach
from seq2seq_cli.data.phrasebook.lexicon import Adjective, Expression, Lexicon, Noun, Verb
from seq2seq_cli.data.phrasebook.phrases import (
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
ASKED = ("preterite", "future", "near", "have to", "present")  # by when, where, why or what
EXPLAINED = ("progressive", "future", "near", "want", "need", "can")  # by because
HABITUAL = ("present", "imperfect")
TIMED_COMPLEMENTS = ("routine", "punctual", "effort")
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
INDEFINITE_PERSONS = ("need", "hire", "look for")


class Templates:
    """Draws sentences from the lexicon.

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

    def chance(self, probability: float) -> bool:
        """Return True that often."""
        return self.rng.random() < probability

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
        items += [item for item in items if isinstance(item, Noun) and self.is_rare(item)] * 2
        self.rng.shuffle(heads)
        self.rng.shuffle(items)
        for number in range(count):
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

    def is_rare(self, noun: Noun) -> bool:
        """Return whether few verbs take a noun, so that each must show it more often."""
        return self.takers[noun.en] < 9

    def simple(self, base: str, noun: str, tense: str, negated: bool) -> Sentence:
        """Say that I do something to what needs no determiner."""
        verb = next(v for v in self.lexicon.verbs if v.english.base == base)
        phrase = noun_phrase(next(n for n in self.lexicon.nouns if n.en == noun), "")
        clause = Clause(self.pronouns["I"], verb, tense, phrase, negated=negated)
        return clause.sentence(self.lexicon)

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

    def clause(
        self, verb: Verb, item: Noun | tuple[str, Expression], tense: str, person: int
    ) -> Clause:
        """Draw a clause with the given verb, object or complement, tense and English person."""
        rng = self.rng
        subject = self.subject(person)
        clause = Clause(subject, verb, tense)
        kind = ""
        if isinstance(item, Noun):
            clause.object = self.object(item, verb, tense, subject)
            if verb.recipient == "must" or (verb.recipient and self.chance(0.3)):
                clause.recipient = self.recipient(subject)
            if not verb.preposition and not verb.generic and self.chance(0.07):
                clause.object = self.object_pronoun(item, subject)
        else:
            kind, clause.complement = item
        state = "r" not in verb.forms
        if kind not in TIMED_COMPLEMENTS and not state and self.chance(0.55 if kind else 0.42):
            clause.time = self.time(tense)
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
        if self.chance(0.05):
            clause.opening = rng.choice(self.lexicon.expressions["belief"])
        elif person == 0 and not clause.time.en and tense in EXPLAINED and self.chance(0.15):
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
            words.append("who" if clause.object.human else "what")
        clause.question = self.rng.choice(words)
        if clause.question in ("what", "who"):
            clause.object = None
        elif clause.question == "when":
            clause.time = NO_EXPRESSION
        elif clause.question == "why":
            clause.negated = self.chance(0.3)

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
        if tense in HABITUAL:
            choice = rng.choice(("", "", "", own, "the", "the s", "many s"))
        elif tense == "order":
            choice = rng.choice(("", "a", "the", "the", "the", own, own, "this", "that", "the s"))
        else:
            choice = rng.choice(
                (
                    "a",
                    "a",
                    "a",
                    "the",
                    "the",
                    "the",
                    "",
                    own,
                    own,
                    "this",
                    "that",
                    "the s",
                    "the s",
                    "this s",
                    "many s",
                    "number",
                    "number",
                    "another",
                )
            )
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

    def order(self, verb: Verb, item: Noun | tuple[str, Expression]) -> Sentence:
        """Draw a command, or a proposal with let's."""
        you = self.pronouns["you"]
        phrase: Phrase | None = None
        complement = NO_EXPRESSION
        if isinstance(item, Noun):
            phrase = self.object(item, verb, "order", you)
            if not verb.preposition and not verb.generic and self.chance(0.15):
                phrase = self.object_pronoun(item, you)
        else:
            complement = item[1]
        me = bool(verb.recipient) and (verb.recipient == "must" or self.chance(0.4))
        clause = Clause(you, verb, "order", phrase, complement, self.pronouns["I"] if me else None)
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
        we, verb = self.pronouns["we"], clause.verb
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
