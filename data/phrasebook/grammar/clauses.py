"""Clauses: a subject, a verb in some tense, its objects, and what surrounds them."""

from dataclasses import dataclass

from grammar.conjugation import SpanishVerb, attach
from grammar.english import contract, negative, verb_group
from grammar.lexicon import Expression, Lexicon, Verb
from grammar.phrases import (
    NounPhrase,
    Phrase,
    PronounPhrase,
    Reading,
    Sentence,
    english_sentence,
    spanish_sentence,
)

SIMPLE_TENSES = ("present", "preterite", "imperfect", "future")
AUXILIARIES = {  # tense: verb, its tense, what follows it
    "progressive": ("estar", "present", ""),
    "was": ("estar", "imperfect", ""),
    "perfect": ("haber", "present", ""),
    "near": ("ir", "present", "a"),
    "want": ("querer", "present", ""),
    "have to": ("tener", "present", "que"),
    "had to": ("tener", "preterite", "que"),
    "need": ("necesitar", "present", ""),
    "can": ("poder", "present", ""),
    "should": ("deber", "conditional", ""),
}
WOULD_LIKE = ("quisiera", "quisieras", "quisiera", "quisiéramos", "quisieran")
ADVERBS = {  # English, Spanish; they stand before the Spanish verb, negation included
    "always": "siempre",
    "usually": "normalmente",
    "sometimes": "a veces",
    "never": "nunca",
    "already": "ya",
    "yet": "todavía",
    "ever": "alguna vez",
}
QUESTION_WORDS = {
    "what": "qué",
    "who": "a quién",
    "where": "dónde",
    "when": "cuándo",
    "why": "por qué",
}
PARTICLES = ("on", "off", "up", "out", "away")
NO_EXPRESSION = Expression("", "")
REFLEXIVE = ("me", "te", "se", "nos", "se")


@dataclass
class Clause:
    """What a sentence says, before either language says it.

    Attributes:
        subject: who does it.
        verb: what is done.
        tense: a simple tense, or one of AUXILIARIES, or `would like`.
        object: whom or what it is done to.
        complement: a place, manner or company that completes the verb.
        recipient: who receives the object.
        time: when, or why.
        adverb: one of ADVERBS.
        negated: whether it is denied.
        question: empty, `yes or no`, or a question word.
        opening: what it is the content of, such as "I think that".
    """

    subject: Phrase
    verb: Verb
    tense: str
    object: Phrase | None = None
    complement: Expression = NO_EXPRESSION
    recipient: Phrase | None = None
    time: Expression = NO_EXPRESSION
    adverb: str = ""
    negated: bool = False
    question: str = ""
    opening: Expression = NO_EXPRESSION

    def sentence(self, lexicon: Lexicon) -> Sentence:
        """Say it in both languages."""
        end = "?" if self.question else "."
        key = self.object.key if self.object else self.complement.en
        combinations: tuple[str, ...] = (f"{self.verb.english.base} {key}",) if key else ()
        if isinstance(self.object, NounPhrase):
            combinations += self.object.combinations
        return Sentence(
            english_sentence(self.english(), end),
            lambda reading: spanish_sentence(self.spanish(lexicon, reading), end),
            combinations,
        )

    def english(self) -> str:
        """Return the English words, without capital and full stop."""
        support = self.negated or bool(self.question)
        subject, adverb = self.subject.en, self.adverb
        auxiliary, main = verb_group(self.verb.english, self.tense, self.subject.en_person, support)
        yet = "yet" if adverb == "yet" else ""
        adverb = "" if yet else adverb
        tail = f"{english_object(main, self)} {self.complement.en} {yet} {self.time.en}"
        if self.question:
            word = "" if self.question == "yes or no" else self.question
            if self.negated:
                auxiliary = "won't" if auxiliary == "will" else negative(auxiliary)
            return f"{word} {auxiliary} {subject} {adverb} {tail}"
        if self.negated:
            joined = (
                contract(subject, "am not")
                if auxiliary == "am"
                else f"{subject} {negative(auxiliary)}"
            )
            return f"{self.opening.en} {joined} {adverb} {tail}"
        words = " ".join(f"{auxiliary} {adverb} {tail}".split())
        return f"{self.opening.en} {contract(subject, words)}"

    def spanish(self, lexicon: Lexicon, reading: Reading) -> str:
        """Return the Spanish words, without capital and full stop."""
        person = self.subject.person(reading)
        verb = self.verb.spanish
        clitics = [REFLEXIVE[person]] if verb.reflexive else []
        objects = []
        if self.recipient:
            clitics.append(dative(self.recipient, reading))
        if self.object:
            if isinstance(self.object, PronounPhrase):
                clitics.append(self.object.clitic(reading))
            else:
                objects.append(spanish_object(self.object, self.verb, reading))
        if isinstance(self.recipient, NounPhrase):
            objects.append(f"a {self.recipient.spanish(reading)}")
        verbal = predicate(lexicon, verb, self.tense, person, clitics, reading.early)
        no = "no" if self.negated else ""
        adverb = ADVERBS.get(self.adverb, "")
        subject = self.subject.spanish(reading)
        tail = f"{' '.join(objects)} {self.complement.es} {self.time.es}"
        if self.question and self.question != "yes or no":
            word = QUESTION_WORDS[self.question]
            return f"{word} {no} {verbal} {subject} {tail}"
        return f"{self.opening.es} {subject} {adverb} {no} {verbal} {tail}"


def english_object(main: str, clause: Clause) -> str:
    """Join the main verb and its objects; pronouns go before a particle: turn it on."""
    if clause.object is None:
        return main
    words = clause.object.en_object
    first, _, last = main.rpartition(" ")
    recipient = clause.recipient.en_object if clause.recipient else ""
    if isinstance(clause.object, PronounPhrase) and last in PARTICLES:
        return f"{first} {words} {last}"
    if not recipient:
        return f"{main} {words}"
    told = isinstance(clause.recipient, PronounPhrase) and isinstance(clause.object, NounPhrase)
    if told and clause.verb.recipient != "only to":  # gave him a book, but gave it to him
        return f"{main} {recipient} {words}"
    return f"{main} {words} {'for' if clause.verb.recipient == 'for' else 'to'} {recipient}"


def spanish_object(phrase: NounPhrase, verb: Verb, reading: Reading) -> str:
    """Return an object with its preposition, or with the a that persons take."""
    words = phrase.spanish(reading)
    if verb.preposition:
        return f"{verb.preposition} {words}"
    first = words.split()[0]
    indefinite = first in ("un", "una") or first == phrase.noun.es_plural
    if phrase.human and not indefinite:
        return f"a {words}"
    return words


def dative(phrase: Phrase, reading: Reading) -> str:
    """Return the clitic for the one who receives."""
    if isinstance(phrase, PronounPhrase):
        return phrase.row(reading).dative
    return "les" if phrase.plural else "le"


def predicate(
    lexicon: Lexicon, verb: SpanishVerb, tense: str, person: int, clitics: list[str], early: bool
) -> str:
    """Return the verb with its auxiliary and clitics.

    Clitics go onto an infinitive, and before a finite verb; `early` turns this round where both
    are right.
    """
    if clitics[:1] in (["le"], ["les"]) and clitics[1:2] and clitics[1][0] == "l":
        clitics = ["se", *clitics[1:]]
    before = " ".join(clitics)
    if tense in SIMPLE_TENSES:
        return f"{before} {getattr(verb, tense)[person]}"
    if tense == "would like":
        finite, link = WOULD_LIKE[person], ""
    else:
        name, auxiliary_tense, link = AUXILIARIES[tense]
        finite = getattr(lexicon.spanish_verb(name), auxiliary_tense)[person]
    if tense == "perfect":
        return f"{before} {finite} {verb.participle}"
    if tense in ("progressive", "was"):
        if early:
            return f"{finite} {attach(verb.gerund, clitics)}"
        return f"{before} {finite} {verb.gerund}"
    if early and tense != "need":
        return f"{before} {finite} {link} {verb.infinitive}"
    return f"{finite} {link} {attach(verb.infinitive, clitics)}"
