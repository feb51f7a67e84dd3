import pytest
from conftest import tiny_config, toy_pairs
from scripted_runs import ScriptedTranslator, loading, scripted_run

from seq2seq_cli.config.data import CorpusConfig, DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes import distillation, synthetic
from seq2seq_cli.recipes.distillation import closest_to_reference, distill, search_of
from seq2seq_cli.recipes.synthetic import Sentence


def made_up(text: str) -> str:
    return f"hecho {text}"


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function that distills with a scripted teacher."""
    monkeypatch.setattr(synthetic, "_WINDOW", 100)

    def made(corpus, translator, closest=False, **settings):
        monkeypatch.setattr(distillation, "load_ensemble", loading(translator))
        config = tiny_config(corpus, **settings)
        run = scripted_run(fingerprint=read_corpus(config.data).fingerprint)
        output = tmp_path / "made.tsv"
        return distill([run], [config], output, print, closest=closest), read_corpus(config.data)

    return made


def written(made) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in made.path.read_text().splitlines()]


def test_only_the_training_sources_are_translated(make, corpus):
    teacher = ScriptedTranslator(made_up)
    made, read = make(corpus, teacher)
    assert [text for _, text in teacher.seen] == [source for source, _ in read.train]
    assert {text for _, text in teacher.seen}.isdisjoint(s for s, _ in [*read.dev, *read.test])
    assert written(made) == [(source, made_up(source)) for source, _ in read.train]
    assert made.columns == "en es"


def test_a_translation_that_is_a_dev_or_test_target_is_left_out(make, corpus):
    targets = dict(toy_pairs())
    secret = next(t for _, t in read_corpus(tiny_config(corpus).data).test)
    made, read = make(
        corpus, ScriptedTranslator(lambda text: secret.upper() if "cats" in text else targets[text])
    )
    leaking = sum("cats" in source for source, _ in read.train)
    assert made.left_out == {"in dev or test": leaking}
    assert written(made) == [pair for pair in read.train if "cats" not in pair[0]]


def test_a_student_has_the_dev_and_test_of_its_teachers(make, corpus):
    made, read = make(corpus, ScriptedTranslator(made_up))
    sources = [
        CorpusConfig(corpus=str(corpus)),
        CorpusConfig(corpus=str(made.path), train_only=True),
    ]
    student = read_corpus(DataConfig(sources=sources, dev_pairs=40, test_pairs=40))
    assert (student.dev, student.test) == (read.dev, read.test)
    assert list(student.train) == [*read.train, *written(made)]


def test_each_distinct_source_is_translated_once(make, tmp_path):
    pairs = [*toy_pairs(), *((source, f"otra {target}") for source, target in toy_pairs())]
    path = tmp_path / "two.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    teacher = ScriptedTranslator(made_up)
    made, read = make(path, teacher)
    assert made.sentences == len(teacher.seen) == len({source for source, _ in read.train})
    assert made.sentences < len(read.train)


def test_the_closest_to_any_reference_is_chosen_from_the_beam(make, corpus):
    targets = dict(toy_pairs())
    teacher = ScriptedTranslator(lambda text: ["yo nada", targets[text], "yo mirar"])
    made, read = make(corpus, teacher, closest=True, decoding__beam=3)
    assert written(made) == list(read.train)
    sentence = Sentence("x", references=("a b c d", "e f g h"))
    assert closest_to_reference(sentence, ["a b", "e f g", "x"]) == ["e f g"]
    assert closest_to_reference(sentence, ["x", "y"]) == ["x"]
    without_spaces = Sentence("x", references=("我喜欢苹果。",))
    assert closest_to_reference(without_spaces, ["他们走了", "我喜欢苹果"]) == ["我喜欢苹果"]


def test_closest_to_reference_needs_a_beam():
    with pytest.raises(UsageError, match="the search finds one. Give --beam 5"):
        search_of(tiny_config("x").decoding, closest=True)
    assert search_of(tiny_config("x", decoding__beam=4).decoding, closest=True).n_best == 4
    beam = tiny_config("x", decoding__beam=4, decoding__n_best=3).decoding
    assert search_of(beam, closest=False).n_best == 1
    with pytest.raises(UsageError, match="Give --set decoding.n_best=5"):
        search_of(tiny_config("x", decoding__sample=True).decoding, closest=True)
    risk = tiny_config("x", decoding__sample=True, decoding__mbr=8).decoding
    assert search_of(risk, closest=True).n_best == 8


def test_an_interrupted_distillation_continues(make, corpus):
    with pytest.raises(KeyboardInterrupt):
        make(corpus, ScriptedTranslator(made_up, 1))
    with pytest.raises(UsageError, match="closest to the reference: False there, True now"):
        make(corpus, ScriptedTranslator(made_up), closest=True, decoding__beam=3)
    teacher = ScriptedTranslator(made_up)
    made, read = make(corpus, teacher)
    assert teacher.seen[0] == (100, read.train.sources[100])
    assert written(made) == [(source, made_up(source)) for source, _ in read.train]
