import pytest
from conftest import tiny_config
from scripted_runs import ScriptedTranslator, loading, scripted_run, turned

from seq2seq_cli.config.data import CorpusConfig, DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.monolingual import MonolingualText
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes import back_translation, synthetic
from seq2seq_cli.recipes.back_translation import back_translate

REVERSE = {"data__source_language": "es", "data__target_language": "en"}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function that back-translates a text with a scripted run."""
    monkeypatch.setattr(synthetic, "_WINDOW", 2)

    def made(text: bytes, translator=None, run=None, skip_bad_lines=False, **settings):
        (tmp_path / "mono.es").write_bytes(text)
        load = loading(translator or ScriptedTranslator(turned))
        monkeypatch.setattr(back_translation, "load_ensemble", load)
        mono = MonolingualText.read(tmp_path / "mono.es", skip_bad_lines)
        config = tiny_config("x", **{**REVERSE, **settings})
        output = tmp_path / "made.tsv"
        return back_translate([run or scripted_run()], [config], mono, output, print)

    return made


def test_the_translation_is_the_source_of_the_final_training(make, tmp_path):
    made = make(b"uno dos\n tres\tcuatro \n")
    assert made.path.read_text() == "dos uno\tuno dos\ncuatro tres\ttres cuatro\n"
    assert (made.columns, made.pairs, made.sentences) == ("en es", 2, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.tsv", "mono.es"]


def test_the_output_can_be_added_to_another_corpus(make, corpus):
    made = make(b"".join(b"uno dos %d\n" % i for i in range(30)))
    real = CorpusConfig(corpus=str(corpus))
    source = CorpusConfig(corpus=str(made.path), columns=made.columns, train_only=True)
    alone, mixed = (read_corpus(DataConfig(sources=each)) for each in ([real], [real, source]))
    assert (mixed.dev, mixed.test) == (alone.dev, alone.test)
    assert list(mixed.train)[-1] == ("29 dos uno", "uno dos 29")
    assert len(mixed.train) == len(alone.train) + 30


def test_lines_without_a_pair_are_counted(make):
    made = make(b"uno\n\n\xff\n  \ndos\n", skip_bad_lines=True)
    assert made.path.read_text() == "uno\tuno\ndos\tdos\n"
    assert (made.sentences, made.left_out) == (5, {"empty": 2, "bad line": 1})


def test_an_interrupted_recipe_continues_only_with_the_same_input_run_and_search(make):
    text = b"a b\nc d\ne f\n"
    with pytest.raises(KeyboardInterrupt):
        make(text, ScriptedTranslator(turned, 1))
    for wrong, options in (
        ("input: '3 lines, SHA-256 .*' there, '4 lines", {"text": text + b"g\n"}),
        ("run 1: 'a, step-00000009, saved 2026-01-01' there, 'b,", {"run": scripted_run("b")}),
        ("saved 2026-01-01' there, .* 2027' now", {"run": scripted_run("a", "2027")}),
        ("decoding.beam: 1 there, 4 now", {"decoding__beam": 4}),
        ("decoding.seed: 0 there, 1 now", {"decoding__seed": 1}),
    ):
        with pytest.raises(UsageError, match=wrong):
            make(**{"text": text, **options})
    translator = ScriptedTranslator(turned)
    made = make(text, translator, decoding__batch_tokens=5)
    assert made.path.read_text() == "b a\ta b\nd c\tc d\nf e\te f\n"
    assert translator.seen == [(2, "e f")]


def test_a_complete_output_is_not_made_again(make):
    made = make(b"a\n")
    with pytest.raises(UsageError, match=r"made\.tsv: exists already"):
        make(b"a\n")
    assert made.path.read_text() == "a\ta\n"
