"""Sentences of likes, pains and qualities: gustar, doler, ser and estar, comparisons."""

import random
from collections.abc import Iterator

from grammar.choices import Choices
from grammar.conjugation import SpanishVerb
from grammar.english import BE, DO, WAS, contract, negative
from grammar.lexicon import Adjective, Expression, Lexicon, Noun
from grammar.phrases import (
    NounPhrase,
    Phrase,
    PronounPhrase,
    Reading,
    Sentence,
    Spanish,
    noun_phrase,
    sentence,
)

HUMAN = ("family", "people", "acquaintance", "profession")
COLORS = ("red", "white", "black", "blue", "green", "yellow")
UNGRADED = (*COLORS, "open", "closed", "broken", "ready", "lost", "necessary")
LIKED = ("food", "drink", "sport", "subject", "language", "pet", "instrument", "clothes", "show")


class Descriptions:
    """Draws sentences from the lexicon.

    Args:
        lexicon: the words.
        rng: every choice comes from it.
        choices: draws subjects.
    """

    def __init__(self, lexicon: Lexicon, rng: random.Random, choices: Choices) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.choices = choices

    def verb(self, infinitive: str) -> SpanishVerb:
        """Return a Spanish verb."""
        return self.lexicon.spanish_verb(infinitive)

    def sentences(self, share: int) -> Iterator[Sentence]:
        """Draw from every template; `share` scales how many."""
        weights = {
            self.like: 12,
            self.like_to: 3,
            self.hurt: 7,
            self.quality: 34,
            self.comparison: 10,
            self.superlative: 4,
        }
        for template, weight in weights.items():
            for _ in range(weight * share):
                yield template()

    def mood(self, question: float = 0.18, negated: float = 0.2) -> tuple[bool, bool]:
        """Draw whether to ask and whether to deny."""
        draw = self.rng.random()
        return draw < question, draw > 1 - negated

    def experiencer(self) -> Phrase:
        """Draw one who likes or suffers."""
        return self.choices.subject(self.rng.choice((0, 0, 1, 2, 2, 2, 3, 4)))

    @staticmethod
    def to_whom(phrase: Phrase, no: str, reading: Reading) -> str:
        """Return a él no le, me, a Ana le."""
        if isinstance(phrase, PronounPhrase):
            name = phrase.spanish(reading)
            dative = phrase.row(reading).dative
        else:
            name = phrase.spanish(reading)
            dative = "les" if phrase.plural else "le"
        return f"{f'a {name}' if name else ''} {no} {dative}"

    def liking(self, liked: str, spanish_liked: Spanish, is_plural: bool, key: str) -> Sentence:
        """Say that somebody likes something, with gustar or encantar."""
        who = self.experiencer()
        asked, denied = self.mood()
        love = not asked and not denied and self.rng.random() < 0.25
        base = "love" if love else "like"
        imperfect = not asked and self.rng.random() < 0.15
        verb = self.verb("encantar" if love else "gustar")
        form = (verb.imperfect if imperfect else verb.present)[4 if is_plural else 2]
        support = "did" if imperfect else DO[who.en_person]
        if asked:
            english = f"{support} {who.en} {base} {liked}"
        elif denied:
            english = f"{who.en} {negative(support)} {'use to ' if imperfect else ''}{base} {liked}"
        elif imperfect:
            english = f"{who.en} used to {base} {liked}"
        else:
            english = f"{who.en} {base}{'s' * (who.en_person == 2)} {liked}"
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: f"{self.to_whom(who, no, r)} {form} {spanish_liked(r)}",
            "?" if asked else ".",
            f"like {key}",
        )

    def like(self) -> Sentence:
        """Me gustan las manzanas."""
        noun = self.rng.choice(self.lexicon.nouns_of(*LIKED))
        counted = not noun.determiner
        if counted and self.rng.random() < 0.4:
            phrase = noun_phrase(noun, self.rng.choice(("this", "that", "your", "the")))
        else:
            phrase = noun_phrase(noun, "", plural=counted, spanish_article="the")
        return self.liking(phrase.en, phrase.spanish, phrase.plural, noun.en)

    def like_to(self) -> Sentence:
        """Me gusta nadar."""
        activity = self.rng.choice(self.lexicon.expressions["activity"])
        others = [
            e
            for e in self.lexicon.expressions["company"]
            if not e.en.endswith((" me", " us", " them"))  # not "I like to run with me"
        ]
        place = self.rng.choice([Expression("", ""), *others])
        english, spanish = f"{activity.en} {place.en}", f"{activity.es} {place.es}"
        return self.liking(f"to {english}", lambda _: spanish, False, f"to {activity.en}")

    def hurt(self) -> Sentence:
        """Me duele la cabeza."""
        noun = self.rng.choice(self.lexicon.nouns_of("body"))
        while noun.en == "hair":
            noun = self.rng.choice(self.lexicon.nouns_of("body"))
        is_plural = "pair" in noun.classes or noun.en in ("leg", "arm", "knee")
        who = self.experiencer()
        while who.en_person > 2:
            who = self.experiencer()
        owner = who.en_possessive if isinstance(who, PronounPhrase) else f"{who.en}'s"
        part = noun.en_plural if is_plural else noun.en
        phrase = noun_phrase(noun, "the", plural=is_plural)
        form = self.verb("doler").present[4 if is_plural else 2]
        asked, denied = self.mood()
        support = "do" if is_plural else "does"
        tail = self.rng.choice((" a lot", " today", " now", "", "", ""))
        spanish_tail = {" a lot": "mucho", " today": "hoy", " now": "ahora"}.get(tail, "")
        if asked:
            english = f"{support} {owner} {part} hurt{tail}"
        elif denied:
            english = f"{owner} {part} {support}n't hurt{tail}"
        else:
            english = f"{owner} {part} hurt{'' if is_plural else 's'}{tail}"
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: f"{self.to_whom(who, no, r)} {form} {phrase.spanish(r)} {spanish_tail}",
            "?" if asked else ".",
            f"hurt {noun.en}",
        )

    def described(self) -> tuple[Adjective, Noun]:
        """Draw an adjective and a noun that it suits."""
        adjective = self.rng.choice(self.lexicon.adjectives)
        return adjective, self.rng.choice(self.lexicon.nouns_of(*adjective.classes))

    def definite(self, noun: Noun, plural: bool = False) -> NounPhrase:
        """Return a noun with the, my, this."""
        if noun.determiner in ("bare", "name", "article"):
            return noun_phrase(noun, "")
        if "family" in noun.classes or "acquaintance" in noun.classes:
            plural = plural and "several" in noun.classes
            return noun_phrase(noun, self.rng.choice(("my", "my", "your", "his", "her")), plural)
        words: tuple[str, ...] = ("the", "the", "the", "this", "that", "my", "your", "our")
        if noun.determiner in ("mass", "the") or any(
            c in noun.classes for c in ("people", "profession", "construction", "crossing", "place")
        ):
            words = ("the", "the", "this") if noun.determiner != "the" else ("the",)
        return noun_phrase(noun, self.rng.choice(words), plural)

    def quality(self) -> Sentence:
        """La casa es grande; la sopa está fría."""
        adjective, noun = self.described()
        rng = self.rng
        human = any(c in HUMAN for c in noun.classes)
        mass = bool(noun.determiner)
        subject: Phrase = self.definite(noun, plural=not mass and rng.random() < 0.25)
        keys: tuple[str, ...] = (f"{adjective.en} {noun.en}",)
        if human and rng.random() < 0.45:
            subject = self.choices.subject(rng.choice((0, 1, 2, 3, 4)))
            keys = (f"{adjective.en} {subject.key}",) if isinstance(subject, NounPhrase) else ()
        asked, denied = self.mood()
        copula = self.verb(adjective.copula)
        tense = rng.choice(("present", "present", "present", "was", "will"))
        degree = rng.choice(("", "", "", "very ", "too ", "so "))
        if adjective.en in UNGRADED:
            degree = ""
        if adjective.en in COLORS and tense == "will":
            tense = "present"
        if denied or asked:
            degree = degree if degree == "very " else ""
        spanish_degree = {"very ": "muy", "too ": "demasiado", "so ": "tan"}.get(degree, "")
        person = subject.en_person
        be = {"present": BE[person], "was": WAS[person], "will": "will"}[tense]
        rest = f"{'be ' if tense == 'will' else ''}{degree}{adjective.en}"
        english = self.be_sentence(subject.en, be, rest, asked, denied)
        no = "no" if denied else ""

        def spanish(r: Reading) -> str:
            forms = {
                "present": copula.present,
                "was": copula.preterite if r.completed else copula.imperfect,
                "will": copula.future,
            }[tense]
            form = adjective.agree(subject.gender(r), subject.is_plural(r))
            verb = forms[subject.person(r)]
            return f"{subject.spanish(r)} {no} {verb} {spanish_degree} {form}"

        return sentence(english, spanish, "?" if asked else ".", *keys)

    @staticmethod
    def be_sentence(subject: str, be: str, rest: str, asked: bool, denied: bool) -> str:
        """Say subject, be and the rest, asking or denying."""
        if asked:
            return f"{be} {subject} {rest}"
        if denied and be == "am":
            return f"{contract(subject, 'am not')} {rest}"
        if denied:
            return f"{subject} {negative(be)} {rest}"
        return contract(subject, f"{be} {rest}")

    def comparison(self) -> Sentence:
        """Ana es más alta que Pedro."""
        adjective, noun = self.described()
        while not adjective.comparative:
            adjective, noun = self.described()
        candidates = [n for n in self.lexicon.nouns_of(*adjective.classes) if n is not noun]
        same = [n for n in candidates if n.classes[0] == noun.classes[0]] or candidates
        first, second = self.definite(noun), self.definite(self.rng.choice(same))
        equal = self.rng.random() < 0.3
        asked, denied = self.mood(0.12, 0.15)
        words = f"as {adjective.en} as" if equal else f"{adjective.comparative} than"
        english = self.be_sentence(first.en, "is", f"{words} {second.en}", asked, denied)
        no = "no" if denied else ""
        irregular = {"good": "mejor", "bad": "peor"}.get(adjective.en)

        def spanish(r: Reading) -> str:
            form = adjective.agree(first.gender(r), False)
            degree = f"tan {form} como" if equal else f"{irregular or f'más {form}'} que"
            return f"{first.spanish(r)} {no} es {degree} {second.spanish(r)}"

        keys = (f"{adjective.en} {noun.en}",)
        return sentence(english, spanish, "?" if asked else ".", *keys)

    def superlative(self) -> Sentence:
        """Esta es la casa más grande de la ciudad."""
        adjective, noun = self.described()
        while not adjective.comparative or noun.determiner or noun.es_feminine:
            adjective, noun = self.described()
        best = adjective.comparative.replace("more ", "most ")
        best = {"better": "best", "worse": "worst"}.get(best) or (
            best if best.startswith("most ") else best[:-1] + "st"
        )
        where = self.rng.choice(
            (
                ("in the city", "de la ciudad"),
                ("in the country", "del país"),
                ("in the world", "del mundo"),
                ("of all", "de todos"),
            )
        )
        if where[0] == "of all" and noun.gender == "f":
            where = ("of all", "de todas")
        irregular = {"good": "mejor", "bad": "peor"}.get(adjective.en)
        subject = self.rng.choice(("this", "that"))
        form = adjective.agree(noun.gender, False)

        def spanish(r: Reading) -> str:
            pointer = noun_phrase(noun, subject).spanish(r).split()[0]
            thing = noun_phrase(noun, "the").spanish(r)
            if irregular:
                article, _, head = thing.partition(" ")
                return f"{pointer} es {article} {irregular} {head} {where[1]}"
            return f"{pointer} es {thing} más {form} {where[1]}"

        english = f"{subject} is the {best} {noun.en} {where[0]}"
        return sentence(english, spanish, ".", f"{adjective.en} {noun.en}")
