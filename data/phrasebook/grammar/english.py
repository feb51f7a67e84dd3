"""English forms: plurals, verb endings, auxiliaries, do-support, contractions.

Persons are numbered I 0, you 1, he 2, we 3, they 4.
"""

from collections.abc import Callable
from functools import cached_property

IRREGULAR_BE = {"am": "'m", "is": "'s", "are": "'re"}
DOUBLED = ("forget", "begin", "prefer", "admit")
UNSTRESSED_END = (
    "visit",
    "answer",
    "offer",
    "deliver",
    "listen",
    "open",
    "water",
    "discover",
    "remember",
    "interest",
    "cover",
    "order",
    "cancel",
    "travel",
)
VOWELS = "aeiou"


def plural(noun: str) -> str:
    """Return the regular plural."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def with_article(phrase: str) -> str:
    """Put a or an before a phrase."""
    an = phrase[0].lower() in VOWELS and not phrase.startswith(("uni", "use"))
    return f"{'an' if an else 'a'} {phrase}"


def _doubles(base: str) -> bool:
    if base in DOUBLED:
        return True
    if base in UNSTRESSED_END or len(base) < 3:
        return False
    ends = base[-1] not in VOWELS + "wxy" and base[-2] in VOWELS and base[-3] not in VOWELS
    return ends and sum(letter in VOWELS for letter in base) == 1


class EnglishVerb:
    """One verb's forms; in "look for" or "turn on" the first word is what changes.

    Args:
        base: the infinitive without to.
        past: where irregular.
        participle: where irregular; else it is the past.
    """

    def __init__(self, base: str, past: str = "", participle: str = "") -> None:
        self.base = base
        self.past = past or self._change(self._regular_past)
        self.participle = participle or self.past

    @cached_property
    def third(self) -> str:
        """He eats."""
        return "has" + self.base[4:] if self.base.split()[0] == "have" else self._change(_third)

    @cached_property
    def gerund(self) -> str:
        """Eating."""
        return self._change(_gerund)

    def _change(self, rule: Callable[[str], str]) -> str:
        first, space, rest = self.base.partition(" ")
        return rule(first) + space + rest

    @staticmethod
    def _regular_past(base: str) -> str:
        if base.endswith("e"):
            return base + "d"
        if base.endswith("y") and base[-2] not in VOWELS:
            return base[:-1] + "ied"
        return base + (base[-1] if _doubles(base) else "") + "ed"


def _third(base: str) -> str:
    return base + "es" if base.endswith("o") else plural(base)


def _gerund(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return base[:-1] + "ing"
    return base + (base[-1] if _doubles(base) else "") + "ing"


BE = ("am", "are", "is", "are", "are")
WAS = ("was", "were", "was", "were", "were")
DO = ("do", "do", "does", "do", "do")
HAVE = ("have", "have", "has", "have", "have")
CATENATIVES = {  # tense: verb before "to"
    "want": EnglishVerb("want to"),
    "have to": EnglishVerb("have to", "had to"),
    "need": EnglishVerb("need to"),
}
INVARIABLE = {"future": "will", "can": "can", "should": "should", "would like": "would"}


def verb_group(verb: EnglishVerb, tense: str, person: int, support: bool) -> tuple[str, str]:
    """Return auxiliary and main verb; the auxiliary is empty where none is needed.

    Args:
        verb: the verb.
        tense: the name of a tense or modal.
        person: 0 to 4.
        support: whether negation or a question asks for an auxiliary.
    """
    if tense in INVARIABLE:
        return INVARIABLE[tense], f"like to {verb.base}" if tense == "would like" else verb.base
    if tense == "progressive":
        return BE[person], verb.gerund
    if tense == "was":
        return WAS[person], verb.gerund
    if tense == "near":
        return BE[person], f"going to {verb.base}"
    if tense == "perfect":
        return HAVE[person], verb.participle
    if tense == "imperfect":
        return ("did", f"use to {verb.base}") if support else ("", f"used to {verb.base}")
    tail = ""
    if tense in CATENATIVES or tense == "had to":
        tail = " " + verb.base
        verb = CATENATIVES["have to" if tense == "had to" else tense]
    if tense in ("preterite", "had to"):
        return ("did", verb.base + tail) if support else ("", verb.past + tail)
    if support:
        return DO[person], verb.base + tail
    return "", (verb.third if person == 2 else verb.base) + tail


def negative(auxiliary: str) -> str:
    """Negate an auxiliary: don't, isn't, can't; but will not, and am not after I."""
    if auxiliary in ("will", "am"):
        return f"{auxiliary} not"
    return "can't" if auxiliary == "can" else auxiliary + "n't"


def contract(subject: str, rest: str) -> str:
    """Join a pronoun and its verb: I'm, she's, they're."""
    first, _, tail = rest.partition(" ")
    if (
        first in IRREGULAR_BE
        and not subject.endswith("all")
        and subject.lower() in ("i", "you", "he", "she", "we", "they", "it")
    ):
        return f"{subject}{IRREGULAR_BE[first]} {tail}".strip()
    return f"{subject} {rest}"
