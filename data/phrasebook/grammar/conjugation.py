"""Spanish verb forms: regular endings, spelling rules, and the irregularities that a table names.

Persons are numbered yo 0, tú 1, él 2, nosotros 3, ellos 4; usted shares 2, ustedes 4.
"""

from functools import cached_property

Forms = tuple[str, ...]

ACUTE = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú"}
PLAIN = {accented: plain for plain, accented in ACUTE.items()}

ENDINGS = {
    "present": {
        "a": ("o", "as", "a", "amos", "an"),
        "e": ("o", "es", "e", "emos", "en"),
        "i": ("o", "es", "e", "imos", "en"),
    },
    "preterite": {
        "a": ("é", "aste", "ó", "amos", "aron"),
        "e": ("í", "iste", "ió", "imos", "ieron"),
        "i": ("í", "iste", "ió", "imos", "ieron"),
    },
    "imperfect": {
        "a": ("aba", "abas", "aba", "ábamos", "aban"),
        "e": ("ía", "ías", "ía", "íamos", "ían"),
        "i": ("ía", "ías", "ía", "íamos", "ían"),
    },
}
AFTER_VOWEL = ("í", "íste", "yó", "ímos", "yeron")  # leí, leíste, leyó
STRONG = ("e", "iste", "o", "imos", "ieron")  # tuve, tuviste, tuvo


class SpanishVerb:
    """One verb's forms.

    Args:
        infinitive: with -se if the verb is reflexive.
        irregular: what rules do not tell, parts joined by `;`. `e>ie` changes the stressed stem
            vowel; `yo=tengo` names one form; `present=`, `imperfect=` and `preterite=` name five
            forms, or the last one a strong stem (`tuv`); `subjunctive=` names those for yo, tú,
            usted and ustedes; `future=` a stem; `imperative=`, `participle=` and `gerund=` a form.
    """

    def __init__(self, infinitive: str, irregular: str = "") -> None:
        self.reflexive = infinitive.endswith("se")
        self.infinitive = infinitive.removesuffix("se")
        self.stem = self.infinitive[:-2]
        self.group = PLAIN.get(self.infinitive[-2], self.infinitive[-2])
        self.change = ("", "")
        self.named: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in irregular.split(";"))):
            if ">" in part:
                before, _, after = part.partition(">")
                self.change = (before, after)
            else:
                key, _, value = part.partition("=")
                self.named[key] = value

    @cached_property
    def present(self) -> Forms:
        """Como, comes, come, comemos, comen."""
        if "present" in self.named:
            return tuple(self.named["present"].split())
        stressed, forms = self._stressed_stem(), []
        for person, ending in enumerate(ENDINGS["present"][self.group]):
            forms.append(self._join(self.stem if person == 3 else stressed, ending))
        forms[0] = self.named.get("yo", forms[0])
        return tuple(forms)

    @cached_property
    def preterite(self) -> Forms:
        """Comí, comiste, comió, comimos, comieron."""
        named = self.named.get("preterite", "")
        if " " in named:
            return tuple(named.split())
        if named:
            endings = (*STRONG[:4], "eron") if named.endswith("j") else STRONG
            return tuple(named + ending for ending in endings)
        endings = ENDINGS["preterite"][self.group]
        if self.group != "a" and self.stem[-1] in "aeo":
            endings = AFTER_VOWEL
        forms = [
            self._join(self._raised_stem() if person in (2, 4) else self.stem, ending)
            for person, ending in enumerate(endings)
        ]
        return tuple(forms)

    @cached_property
    def imperfect(self) -> Forms:
        """Comía, comías, comía, comíamos, comían."""
        if "imperfect" in self.named:
            return tuple(self.named["imperfect"].split())
        return tuple(self.stem + ending for ending in ENDINGS["imperfect"][self.group])

    @cached_property
    def future(self) -> Forms:
        """Comeré, comerás, comerá, comeremos, comerán."""
        stem = self.named.get("future", self.stem + self.group + "r")
        return tuple(stem + ending for ending in ("é", "ás", "á", "emos", "án"))

    @cached_property
    def conditional(self) -> Forms:
        """Comería, comerías, comería, comeríamos, comerían."""
        return tuple(
            form[: -len(end)] + new
            for form, end, new in zip(
                self.future, ("é", "ás", "á", "emos", "án"), ENDINGS["imperfect"]["e"], strict=True
            )
        )

    @cached_property
    def subjunctive(self) -> Forms:
        """Coma, comas, coma, coman: of yo, tú, usted and ustedes, as commands need them."""
        if "subjunctive" in self.named:
            return tuple(self.named["subjunctive"].split())
        stem = self.present[0].removesuffix("o")
        stem = self._join(stem, "e") if self.group == "a" else stem + "a"
        return (stem, stem + "s", stem, stem + "n")

    @cached_property
    def imperative(self) -> str:
        """Return the command to tú."""
        return self.named.get("imperative", self.present[2])

    @cached_property
    def participle(self) -> str:
        """Comido."""
        regular = (
            "ado" if self.group == "a" else "ído" if self.stem.endswith(("a", "e", "o")) else "ido"
        )
        return self.named.get("participle", self.stem + regular)

    @cached_property
    def gerund(self) -> str:
        """Comiendo."""
        if self.group == "a":
            return self.stem + "ando"
        return self.named.get("gerund") or self._join(self._raised_stem(), "iendo")

    def _stressed_stem(self) -> str:
        before, after = self.change
        head, _, tail = self.stem.rpartition(before) if before else (self.stem, "", "")
        return head + after + tail if before else self.stem

    def _raised_stem(self) -> str:
        """Return the stem of pidió, durmiendo: verbs in -ir whose vowel changes raise it."""
        before = self.change[0]
        if self.group != "i" or before not in ("e", "o"):
            return self.stem
        head, _, tail = self.stem.rpartition(before)
        return head + {"e": "i", "o": "u"}[before] + tail

    def _join(self, stem: str, ending: str) -> str:
        """Join so that the spelling keeps the sound: busc + é is busqué."""
        first = PLAIN.get(ending[0], ending[0])
        if self.group == "a":
            if first == "e":
                for letters, written in (("c", "qu"), ("g", "gu"), ("z", "c")):
                    if stem.endswith(letters):
                        return stem.removesuffix(letters) + written + ending
            return stem + ending
        if stem.endswith("u") and not stem.endswith(("gu", "qu")):  # construir
            if ending[:2] in ("ió", "ie"):
                return stem + "y" + ending[1:]
            return stem + ("" if first == "i" else "y") + ending
        if stem[-1] in "aeo" and ending.startswith("ie"):
            return stem + "y" + ending[1:]
        if first in ("o", "a") and stem[-1] not in "aeo":
            if stem.endswith("gu"):
                return stem[:-1] + ending
            if stem.endswith("g") and self.infinitive.endswith(("ger", "gir")):
                return stem[:-1] + "j" + ending
            if stem.endswith("c") and self.infinitive.endswith(("cer", "cir")):
                return stem[:-1] + ("zc" if stem[-2] in "aeiou" else "z") + ending
        return stem + ending


def attach(form: str, clitics: list[str]) -> str:
    """Write clitics onto a verb form, with the accent that keeps its stress: cómpralo."""
    if not clitics:
        return form
    nuclei = _nuclei(form)
    marked = [i for i, letter in enumerate(form) if letter in PLAIN]
    open_end = form[-1] in "aeiouns"
    stressed = marked[0] if marked else nuclei[-2 if open_end and len(nuclei) > 1 else -1]
    whole = form + "".join(clitics)
    if form[stressed] in "íú":
        return whole  # oírlo: the accent also parts the vowels
    whole = whole[:stressed] + PLAIN.get(form[stressed], form[stressed]) + whole[stressed + 1 :]
    if _nuclei(whole)[-2] == stressed:  # every clitic ends in a vowel or s
        return whole
    return whole[:stressed] + ACUTE[whole[stressed]] + whole[stressed + 1 :]


def _nuclei(word: str) -> list[int]:
    """Return where the vowel is that carries each syllable."""
    found: list[int] = []
    for i, letter in enumerate(word):
        if letter not in "aeiouáéíóú" or (letter == "u" and word[i - 1 : i] in ("q",)):
            continue
        if letter == "u" and word[i - 1 : i] == "g" and word[i + 1 : i + 2] in ("e", "é", "i"):
            continue
        if found and found[-1] == i - 1:
            previous = word[i - 1]
            if previous in "iu" and letter not in "íú":
                found[-1] = i  # rising diphthong: tiene, cuida
                continue
            if letter in "iu":
                continue  # falling diphthong: baila
        found.append(i)
    return found
