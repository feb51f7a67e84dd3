"""Sentences of where things are, and of what and how old people are."""

import random
from collections.abc import Iterator

from grammar.calendar import before_noun
from grammar.choices import Choices
from grammar.descriptions import Descriptions
from grammar.english import BE, WAS, negative, with_article
from grammar.lexicon import Lexicon
from grammar.phrases import (
    NounPhrase,
    Reading,
    Sentence,
    noun_phrase,
    sentence,
)

LOCATED = ("portable", "tableware", "linen", "clothes", "text")


class Situations:
    """Draws sentences from the lexicon.

    Args:
        lexicon: the words.
        rng: every choice comes from it.
        choices: draws subjects.
        descriptions: draws definite nouns.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        rng: random.Random,
        choices: Choices,
        descriptions: Descriptions,
    ) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.choices = choices
        self.descriptions = descriptions
        self.say = {number.value: number for number in lexicon.numbers}
        self.ser, self.estar, self.tener = map(lexicon.spanish_verb, ("ser", "estar", "tener"))

    def sentences(self, share: int) -> Iterator[Sentence]:
        """Draw from every template; `share` scales how many."""
        weights = {
            self.location: 9,
            self.place: 6,
            self.there_is: 9,
            self.profession: 4,
            self.origin: 3,
            self.need: 5,
            self.age: 5,
        }
        for template, weight in weights.items():
            for _ in range(weight * share):
                yield template()

    def location(self) -> Sentence:
        """Las llaves están en la mesa."""
        noun = self.choices.noun(*LOCATED)
        plural = not noun.determiner and self.rng.random() < 0.4
        subject = self.descriptions.definite(noun, plural)
        past = self.rng.random() < 0.3
        be = (WAS if past else BE)[subject.en_person]
        forms = self.estar.imperfect if past else self.estar.present
        verb = forms[subject.person(Reading())]
        if self.rng.random() < 0.2:
            return sentence(
                f"where {be} {subject.en}", lambda r: f"dónde {verb} {subject.spanish(r)}", "?"
            )
        where = self.choices.pick("container")
        asked, denied = self.descriptions.mood()
        english = self.descriptions.be_sentence(subject.en, be, where.en, asked, denied)
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: f"{subject.spanish(r)} {no} {verb} {where.es}",
            "?" if asked else ".",
            f"{noun.en} {where.en}",
        )

    def place(self) -> Sentence:
        """La farmacia está detrás del banco."""
        first, second = (
            self.choices.noun("building", "place"),
            self.choices.noun("building", "place"),
        )
        while first is second:
            second = self.choices.noun("building", "place")
        relation = self.choices.pick("relation")
        asked, denied = self.descriptions.mood()
        one = noun_phrase(first, self.rng.choice(("the", "the", "my")) if "home" in first.classes
                          else "the")  # fmt: skip
        other = noun_phrase(second, "the")
        if self.rng.random() < 0.08:
            return sentence(f"where is {one.en}", lambda r: f"dónde está {one.spanish(r)}", "?")
        rest = f"{relation.en} {other.en}"
        english = self.descriptions.be_sentence(one.en, "is", rest, asked, denied)
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: f"{one.spanish(r)} {no} está {relation.es} {other.spanish(r)}",
            "?" if asked else ".",
            f"{first.en} {relation.en} {second.en}",
        )

    def there_is(self) -> Sentence:
        """Hay dos libros en la mesa."""
        if self.rng.random() < 0.4:
            noun, other = (
                self.choices.noun("building"),
                noun_phrase(self.choices.noun("building", "place"), "the"),
            )
            relation = self.choices.pick("relation")
            where_en = f"{relation.en} {other.en}"
            where_es = f"{relation.es} {other.spanish(Reading())}"
            key = other.noun.en
        else:
            noun, where = (
                self.choices.noun(*LOCATED, "fruit", "drink"),
                self.choices.pick("container"),
            )
            where_en, where_es, key = where.en, where.es, where.en
        number = self.say[self.rng.randint(2, 12)]
        asked, denied = self.descriptions.mood()
        plural = not noun.determiner and (denied or (not asked and self.rng.random() < 0.55))
        if noun.determiner or denied:  # there aren't any books: no hay libros
            phrase = noun_phrase(noun, "", plural)
        elif plural:
            phrase = noun_phrase(noun, "many", plural=True)
            if self.rng.random() < 0.7:
                phrase = noun_phrase(noun, "", plural=True, number=(number.en, number.es))
        else:
            phrase = noun_phrase(noun, "a")
        past = self.rng.random() < 0.3
        be = (WAS if past else BE)[4 if plural else 2]
        verb = "había" if past else "hay"
        words = f"{phrase.en} {where_en}"
        if asked:
            english = f"{be} there {words}"
        elif denied:
            english = f"there {negative(be)} any {words}"
        else:
            english = f"there {be} {words}"
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: f"{no} {verb} {phrase.spanish(r)} {where_es}",
            "?" if asked else ".",
            f"{noun.en} {key}",
        )

    def profession(self) -> Sentence:
        """Mi hermana es médica."""
        noun = self.choices.noun("profession")
        subject = self.choices.subject(self.rng.choice((0, 1, 2, 2, 2, 3, 4)))
        while isinstance(subject, NounPhrase) and "profession" in subject.noun.classes:
            subject = self.choices.subject(2)
        plural = subject.en_person > 2
        if noun.gender == "f" or noun.en == "actor":
            noun = self.lexicon.nouns_of("profession")[-1]
        past = self.rng.random() < 0.3
        be = (WAS if past else BE)[subject.en_person]
        word = noun.en_plural if plural else with_article(noun.en)
        asked, denied = self.descriptions.mood()
        forms = self.ser.imperfect if past else self.ser.present

        def spanish(r: Reading) -> str:
            one, many = noun.es, noun.es_plural
            if subject.gender(r) == "f" and noun.es_feminine:
                one, many = noun.es_feminine, noun.es_feminine + "s"
            verb = forms[subject.person(r)]
            no = "no" if denied else ""
            return f"{subject.spanish(r)} {no} {verb} {many if subject.is_plural(r) else one}"

        english = self.descriptions.be_sentence(subject.en, be, word, asked, denied)
        return sentence(english, spanish, "?" if asked else ".", f"be {noun.en} {subject.key}")

    def origin(self) -> Sentence:
        """Soy de México."""
        place = self.choices.noun("city")
        subject = self.choices.subject(self.rng.choice((0, 1, 2, 2, 2, 3, 4)))
        asked, denied = self.descriptions.mood()
        be = BE[subject.en_person]
        english = self.descriptions.be_sentence(subject.en, be, f"from {place.en}", asked, denied)
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: (
                f"{subject.spanish(r)} {no} {self.ser.present[subject.person(r)]} de {place.es}"
            ),
            "?" if asked else ".",
            f"from {place.en} {subject.key}",
        )

    def need(self) -> Sentence:
        """Tengo hambre."""
        need = self.choices.pick("need")
        subject = self.choices.subject(self.rng.choice((0, 1, 2, 2, 2, 3, 4)))
        tense = self.rng.choice(("present", "present", "was", "will"))
        asked, denied = self.descriptions.mood()
        be = {"present": BE, "was": WAS, "will": ("will",) * 5}[tense][subject.en_person]
        forms = {
            "present": self.tener.present,
            "was": self.tener.imperfect,
            "will": self.tener.future,
        }[tense]
        much = not denied and need.en in ("hungry", "thirsty", "sleepy", "cold", "hot", "afraid")
        very = much and self.rng.random() < 0.3
        feminine = need.en in ("thirsty",)
        degree = ("mucha" if feminine else "mucho") if very else ""
        if very and need.en == "hungry":
            degree = "mucha"
        rest = f"{'be ' if tense == 'will' else ''}{'very ' if very else ''}{need.en}"
        english = self.descriptions.be_sentence(subject.en, be, rest, asked, denied)
        no = "no" if denied else ""
        return sentence(
            english,
            lambda r: f"{subject.spanish(r)} {no} {forms[subject.person(r)]} {degree} {need.es}",
            "?" if asked else ".",
            f"{need.en} {subject.key}",
        )

    def age(self) -> Sentence:
        """Mi hermano tiene veinte años."""
        number = self.rng.choice([n for n in self.lexicon.numbers if n.value > 1])
        subject = self.choices.subject(self.rng.choice((0, 1, 2, 2, 2, 2, 4)))
        asked, denied = self.descriptions.mood(0.12, 0.12)
        be = BE[subject.en_person]
        english = self.descriptions.be_sentence(
            subject.en, be, f"{number.en} years old", asked, denied
        )
        no = "no" if denied else ""
        count = before_noun(number.es)
        return sentence(
            english,
            lambda r: (
                f"{subject.spanish(r)} {no} {self.tener.present[subject.person(r)]} {count} años"
            ),
            "?" if asked else ".",
            f"{number.en} years {subject.key}",
        )
