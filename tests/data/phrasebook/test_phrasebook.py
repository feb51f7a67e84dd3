import gzip
import random
import re
from collections import Counter

import pytest

from grammar.choices import Choices
from grammar.clauses import Clause
from grammar.conjugation import SpanishVerb, attach
from grammar.corpus import SHOWN, Phrasebook, compose, plain, split, split_words
from grammar.english import EnglishVerb, plural
from grammar.lexicon import TABLES, Lexicon
from grammar.phrases import Sentence, noun_phrase
from seq2seq_cli.data.splits import normalise

TATOEBA_ENGLISH_WORDS = 6.31  # mean over the 118,964 pairs of spa-eng
TATOEBA_SPANISH_WORDS = 6.08


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon()


@pytest.fixture(scope="module")
def composed() -> list[Sentence]:
    return compose()


@pytest.fixture(scope="module")
def book(composed) -> Phrasebook:
    return split(composed)


@pytest.fixture(scope="module")
def sentences(composed) -> dict[str, Sentence]:
    return {sentence.english: sentence for sentence in composed}


def everything(book: Phrasebook) -> list[tuple[str, str]]:
    return book.train + book.dev + book.test


def test_corpus_is_large(book):
    assert len(everything(book)) >= 40_000
    for side in (book.dev, book.test):
        assert 1_000 <= len({english for english, _ in side}) <= 2_000


def test_tables_are_large(lexicon):
    assert len(lexicon.phrases) >= 600
    assert len({verb.spanish.infinitive for verb in lexicon.verbs}) >= 150


@pytest.mark.parametrize("side", ["train", "dev", "test"])
def test_the_corpus_that_is_shipped_is_what_the_grammar_composes(book, side, tmp_path):
    book.write(tmp_path)
    built, shipped = (
        gzip.decompress((folder / f"{side}.tsv.gz").read_bytes()) for folder in (tmp_path, TABLES)
    )
    # A bare comparison would print megabytes of differences.
    same = built == shipped
    assert same, "run python data/phrasebook/build.py, and commit what it writes"


def test_files_contain_no_time_and_no_name(tmp_path):
    Phrasebook([("Go.", "Ve.")], [], []).write(tmp_path)
    header = (tmp_path / "train.tsv.gz").read_bytes()[:8]
    assert header == b"\x1f\x8b\x08\0\0\0\0\0"


def test_no_pair_occurs_twice(book):
    pairs = everything(book)
    assert len(set(pairs)) == len(pairs)
    assert len({english for english, _ in book.train}) == len(book.train)
    assert len({spanish for _, spanish in book.train}) == len(book.train)


def test_translations_of_a_source_are_adjacent(book):
    for side in (book.dev, book.test):
        starts = [i for i, (english, _) in enumerate(side) if i == 0 or side[i - 1][0] != english]
        assert len(starts) == len({english for english, _ in side})


def test_no_sentence_of_dev_or_test_is_in_another_split(book):
    sides = [book.train, book.dev, book.test]
    for column in (0, 1):
        seen = [{normalise(pair[column]) for pair in side} for side in sides]
        assert not seen[0] & seen[1]
        assert not seen[0] & seen[2]
        assert not seen[1] & seen[2]


def test_held_out_combinations_are_not_in_train(book, sentences):
    def combinations(side):
        return [set(sentences[e].combinations) for e, _ in side if e in sentences]

    trained = set().union(*combinations(book.train))
    for side in (book.dev, book.test):
        assert all(found - trained for found in combinations(side))


def test_train_has_the_parts_of_held_out_combinations(book, sentences):
    trained = Counter(word for english, _ in book.train for word in split_words(english))
    for english, _ in book.dev + book.test:
        for combination in sentences[english].combinations:
            for word in split_words(combination):
                forms = {word, plural(word), word + "d", word + "ed"}
                assert word.isdigit() or sum(trained[form] for form in forms) >= 3, combination


def test_every_word_of_dev_and_test_is_in_train(book):
    trained = {w for pair in book.train for text in pair for w in split_words(text)}
    for side in (book.dev, book.test):
        canonical = {}
        for english, spanish in side:
            canonical.setdefault(english, spanish)
        for pair in canonical.items():
            assert {w for text in pair for w in split_words(text)} <= trained, pair


def test_every_lexeme_is_frequent_in_train(book, lexicon):
    counts = Counter(word for english, _ in book.train for word in split_words(english))

    def count(*forms):
        return sum(counts[form.lower().split()[-1]] for form in set(forms))

    for noun in lexicon.nouns:
        assert count(noun.en, noun.en_plural) >= 15, noun.en
    for adjective in lexicon.adjectives:
        assert counts[adjective.en] >= 15, adjective.en
    for verb in (v.english for v in lexicon.verbs):
        forms = {verb.base, verb.third, verb.past, verb.participle, verb.gerund}
        assert sum(counts[form.split()[0]] for form in forms) >= 15, verb.base


def test_the_example_sentence_is_held_out(book):
    assert (SHOWN[2], "No inyectaré desinfectante.") in book.test
    assert SHOWN[2] not in dict(book.train)
    both = [e for e, _ in book.train if "inject" in e and "disinfectant" in e]
    assert not both
    assert any("inject" in e for e, _ in book.train)
    assert any("disinfectant" in e for e, _ in book.train)


def test_phrases_are_only_in_train(book, lexicon):
    assert set(lexicon.phrases) <= set(book.train)


def test_mean_length_is_near_that_of_tatoeba(book):
    pairs = everything(book)
    english = sum(len(e.split()) for e, _ in pairs) / len(pairs)
    spanish = sum(len(s.split()) for _, s in pairs) / len(pairs)
    assert english == pytest.approx(TATOEBA_ENGLISH_WORDS, abs=0.5)
    assert spanish == pytest.approx(TATOEBA_SPANISH_WORDS, abs=0.5)


def test_text_is_well_formed(book):
    for pair in everything(book):
        for text in pair:
            assert text == " ".join(text.split()), text
            assert text[-1] in ".?!", text
            assert "\t" not in text
            assert not re.search(r"\b(?!her\b)(\w+) \1\b", text), text  # sent her her book


def test_questions_and_exclamations_open_in_spanish(book):
    for _, spanish in everything(book):
        assert ("?" in spanish) == ("¿" in spanish), spanish
        assert ("!" in spanish) == ("¡" in spanish), spanish


def test_questions_are_questions_in_both_languages(book, lexicon):
    phrases = set(lexicon.phrases)
    for english, spanish in everything(book):
        if (english, spanish) not in phrases:
            assert english.endswith("?") == spanish.endswith("?"), english


def test_articles_contract(book):
    for english, spanish in everything(book):
        assert not re.search(r"\b(a|de) el\b", spanish, re.IGNORECASE), spanish
        assert not re.search(r"\ba [aeio]", english), english
        assert not re.search(r"\ban (?!hour)[^aeiou]", english), english


def test_canonical_translation_comes_first(book, sentences):
    for side in (book.dev, book.test):
        first = {}
        for english, spanish in side:
            first.setdefault(english, spanish)
        for english, spanish in first.items():
            assert spanish == sentences[english].canonical


def test_a_question_and_its_statement_are_the_same_words():
    assert plain("¿Comes pan?") == plain("Comes pan.") == "comes pan"


@pytest.mark.parametrize(
    ("english", "expected"),
    [
        ("You all eat bread.", ["Ustedes comen pan."]),
        ("You eat bread.", ["Comes pan.", "Usted come pan.", "Ustedes comen pan."]),
        ("They eat bread.", ["Ellos comen pan.", "Ellas comen pan."]),
        ("She eats bread.", ["Ella come pan."]),
    ],
)
def test_ambiguous_english_has_every_translation(english, expected):
    words = Lexicon()
    subject = english.removesuffix(" bread.").rpartition(" ")[0].lower()
    bread = noun_phrase(next(n for n in words.nouns if n.en == "bread"), "")
    eat = next(v for v in words.verbs if v.english.base == "eat")
    clause = Clause(Choices(words, random.Random(0)).pronouns[subject], eat, "present", bread)
    sentence = clause.sentence(words)
    assert sentence.english == english
    assert sentence.translations() == expected


def test_gender_is_ambiguous_for_each_person():
    words = Lexicon()
    neighbor = noun_phrase(next(n for n in words.nouns if n.en == "neighbor"), "my")
    greet = next(v for v in words.verbs if v.english.base == "greet")
    they = Choices(words, random.Random(0)).pronouns["they"]
    assert Clause(they, greet, "present", neighbor).sentence(words).translations() == [
        "Ellos saludan a mi vecino.",
        "Ellos saludan a mi vecina.",
        "Ellas saludan a mi vecino.",
        "Ellas saludan a mi vecina.",
    ]


@pytest.mark.parametrize(
    ("form", "clitics", "written"),
    [
        ("compra", ["lo"], "cómpralo"),
        ("di", ["me", "lo"], "dímelo"),
        ("da", ["me"], "dame"),
        ("dé", ["me"], "deme"),
        ("comprar", ["lo"], "comprarlo"),
        ("comprar", ["se", "lo"], "comprárselo"),
        ("comiendo", ["la"], "comiéndola"),
        ("oír", ["lo"], "oírlo"),
        ("cuida", ["los"], "cuídalos"),
        ("siente", ["se"], "siéntese"),
        ("construye", ["lo"], "constrúyelo"),
        ("envía", ["lo"], "envíalo"),
        ("busque", ["la"], "búsquela"),
    ],
)
def test_clitics_keep_the_stress(form, clitics, written):
    assert attach(form, clitics) == written


def test_spelling_keeps_the_sound():
    assert SpanishVerb("buscar").preterite[0] == "busqué"
    assert SpanishVerb("empezar", "e>ie").subjunctive[1] == "empieces"
    assert SpanishVerb("seguir", "e>i").present[0] == "sigo"
    assert SpanishVerb("leer").preterite == ("leí", "leíste", "leyó", "leímos", "leyeron")
    assert SpanishVerb("dormir", "o>ue").gerund == "durmiendo"


def test_english_forms():
    assert EnglishVerb("stop").past == "stopped"
    assert EnglishVerb("visit").gerund == "visiting"
    assert EnglishVerb("look for").third == "looks for"
    assert EnglishVerb("carry").past == "carried"
    assert plural("box") == "boxes"
