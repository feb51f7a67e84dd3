"""Sentences of clocks, dates, prices and the weather."""

import random
from collections.abc import Iterator

from grammar.choices import Choices
from grammar.lexicon import Expression, Lexicon
from grammar.phrases import Sentence, noun_phrase, sentence

PRICED = ("clothes", "gift", "text", "vehicle", "furniture", "device", "fruit", "serving")
HOURS = ("una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
         "once", "doce")  # fmt: skip
MINUTES = (  # English before the hour, Spanish after it; "to" counts from the next hour
    ("", "{} o'clock", "en punto"),
    ("five past", "{}", "y cinco"),
    ("ten past", "{}", "y diez"),
    ("a quarter past", "{}", "y cuarto"),
    ("twenty past", "{}", "y veinte"),
    ("half past", "{}", "y media"),
    ("twenty to", "{}", "menos veinte"),
    ("a quarter to", "{}", "menos cuarto"),
    ("ten to", "{}", "menos diez"),
    ("five to", "{}", "menos cinco"),
)
DAY_PARTS = (  # English, Spanish, the hours that are so called
    ("", "", range(1, 13)),
    ("in the morning", "de la mañana", range(5, 12)),
    ("in the afternoon", "de la tarde", range(1, 7)),
    ("at night", "de la noche", range(8, 12)),
)
TIMED_VERBS = (  # English present and future, Spanish, who does it
    ("leaves", "will leave", "salir", "transport"),
    ("arrives", "will arrive", "llegar", "transport"),
    ("starts", "will start", "empezar", "event show exam"),
    ("ends", "will end", "terminar", "event show exam"),
    ("opens", "will open", "abrir", "building"),
    ("closes", "will close", "cerrar", "building"),
)


class Calendar:
    """Draws sentences from the lexicon.

    Args:
        lexicon: the words.
        rng: every choice comes from it.
        choices: draws persons.
    """

    def __init__(self, lexicon: Lexicon, rng: random.Random, choices: Choices) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.choices = choices
        self.say = {number.value: number for number in lexicon.numbers}

    def sentences(self, share: int) -> Iterator[Sentence]:
        """Draw from every template; `share` scales how many."""
        weights = {
            self.price: 6,
            self.clock: 4,
            self.event_time: 6,
            self.date: 4,
            self.weather: 5,
        }
        for template, weight in weights.items():
            for _ in range(weight * share):
                yield template()

    def price(self) -> Sentence:
        """El pan cuesta tres dólares."""
        noun = self.choices.noun(*PRICED)
        while noun.determiner:
            noun = self.choices.noun(*PRICED)
        plural = self.rng.random() < 0.3
        phrase = noun_phrase(noun, self.rng.choice(("the", "this", "that")), plural)
        form = self.lexicon.spanish_verb("costar").present[4 if plural else 2]
        if self.rng.random() < 0.15:
            return sentence(
                f"how much {'do' if plural else 'does'} {phrase.en} cost",
                lambda r: f"cuánto {form} {phrase.spanish(r)}",
                "?",
            )
        number = self.rng.choice([n for n in self.lexicon.numbers if n.value > 1])
        coin = self.rng.choice((("dollars", "dólares"), ("euros", "euros"), ("pesos", "pesos")))
        count = before_noun(number.es)
        return sentence(
            f"{phrase.en} cost{'' if plural else 's'} {number.en} {coin[0]}",
            lambda r: f"{phrase.spanish(r)} {form} {count} {coin[1]}",
            ".",
            f"{noun.en} {number.en}",
        )

    def hour(self) -> tuple[str, str, str]:
        """Draw a time: English, Spanish without article, key."""
        hour = self.rng.randint(1, 12)
        before, after, spanish = self.rng.choice(MINUTES)
        shown = hour % 12 + 1 if spanish.startswith("menos") else hour
        part = self.rng.choice([part for part in DAY_PARTS if shown in part[2]])
        english = f"{before} {after.format(self.say[shown].en)} {part[0]}"
        minutes = "" if spanish == "en punto" else spanish
        return english, f"{HOURS[shown - 1]} {minutes} {part[1]}", f"{before} {shown}"

    def clock(self) -> Sentence:
        """Son las tres y media."""
        english, spanish, key = self.hour()
        one = spanish.startswith("una")
        if self.rng.random() < 0.25:
            verb = "era la" if one else "eran las"
            return sentence(f"it was {english}", lambda _: f"{verb} {spanish}", ".", key)
        verb = "es la" if one else "son las"
        return sentence(f"it's {english}", lambda _: f"{verb} {spanish}", ".", key)

    def event_time(self) -> Sentence:
        """El tren sale a las seis y diez."""
        english, spanish, key = self.hour()
        article = "la" if spanish.startswith("una") else "las"
        verb = self.rng.choice(TIMED_VERBS)
        noun = self.choices.noun(*verb[3].split())
        while "home" in noun.classes:
            noun = self.choices.noun(*verb[3].split())
        phrase = noun_phrase(noun, "the")
        future = self.rng.random() < 0.3
        spanish_verb = self.lexicon.spanish_verb(verb[2])
        form = (spanish_verb.future if future else spanish_verb.present)[2]
        return sentence(
            f"{phrase.en} {verb[future]} at {english}",
            lambda r: f"{phrase.spanish(r)} {form} a {article} {spanish}",
            ".",
            key,
            f"{verb[0]} {noun.en}",
        )

    def date(self) -> Sentence:
        """Hoy es el tres de mayo."""
        day, month = self.rng.choice(self.lexicon.numbers[:31]), self.choices.pick("month")
        english, spanish = f"{month.en} {day.en_ordinal}", f"el {day.es_ordinal} de {month.es}"
        key = f"{month.en} {day.en_ordinal}"
        draw = self.rng.random()
        if draw < 0.3:
            week = self.choices.pick("day")
            return sentence(
                f"today is {week.en}, {english}",
                lambda _: f"hoy es {week.es}, {spanish.removeprefix('el ')}",
                ".",
                key,
            )
        if draw < 0.5:
            return sentence(f"today is {english}", lambda _: f"hoy es {spanish}", ".", key)
        who = self.choices.person(("name", "family", "acquaintance"))
        if draw < 0.75:
            return sentence(
                f"{who.en}'s birthday is {english}",
                lambda r: f"el cumpleaños de {who.spanish(r)} es {spanish}",
                ".",
                key,
            )
        event = noun_phrase(self.choices.noun("event", "exam", "show"), "the")
        return sentence(
            f"{event.en} is on {english}",
            lambda r: f"{event.spanish(r)} es {spanish}",
            ".",
            key,
        )

    def weather(self) -> Sentence:
        """Hace calor en Madrid."""
        weather, city = self.choices.pick("weather"), self.choices.noun("city")
        time = Expression("", "")
        verb = weather.en.split()[1]
        if self.rng.random() < 0.5:
            if weather.en in ("It rained", "It snowed"):
                time = self.choices.pick("past")
            elif verb == "will" or "going" in weather.en:
                time = self.choices.pick("future")
            elif "was" not in weather.en:
                time = Expression("today", "hoy")
        return sentence(
            f"{weather.en} in {city.en} {time.en}",
            lambda _: f"{weather.es} en {city.es} {time.es}",
            ".",
            f"{weather.en} {city.en}",
        )


def before_noun(number: str) -> str:
    """Shorten uno: veintiún años."""
    if number.endswith("veintiuno"):
        return "veintiún"
    return number[:-1] if number.endswith(" uno") else number
