from types import SimpleNamespace

import pytest
from conftest import tiny_config
from scripted_runs import ScriptedTranslator, scripted_run, turned

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.splits import pair_keys
from seq2seq_cli.decoding.translator import Translation
from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes import synthetic
from seq2seq_cli.recipes.pairs_log import PairsLog
from seq2seq_cli.recipes.synthetic import (
    PairChoice,
    Sentence,
    SyntheticCorpus,
    languages_of,
    settings_of_search,
    translate_into,
)
from seq2seq_cli.special_tokens import EOS

SENTENCES = [Sentence(f"sentence {i}") for i in range(10)]


def translated(path, translator, sentences=SENTENCES, choice=None) -> PairsLog:
    log = PairsLog(path)
    translate_into(log, translator, iter(sentences), choice or PairChoice(), lambda done: None)
    return log


@pytest.mark.parametrize("calls", range(4))
def test_an_interrupted_log_ends_the_same_and_nothing_is_translated_twice(
    calls, tmp_path, monkeypatch
):
    monkeypatch.setattr(synthetic, "_WINDOW", 3)
    whole = translated(tmp_path / "whole.tsv", ScriptedTranslator(turned))
    first, second = ScriptedTranslator(turned, calls), ScriptedTranslator(turned)
    with pytest.raises(KeyboardInterrupt):
        translated(tmp_path / "x.tsv", first)
    assert len(first.seen) == 3 * calls
    again = translated(tmp_path / "x.tsv", second)
    assert again.path.read_bytes() == whole.path.read_bytes()
    assert again.position == whole.position
    assert [*first.seen, *second.seen] == [(i, s.text) for i, s in enumerate(SENTENCES)]


def test_progress_counts_all_sentences_and_continues_after_an_interruption(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "_WINDOW", 4)
    with pytest.raises(KeyboardInterrupt):
        translated(tmp_path / "x.tsv", ScriptedTranslator(turned, 1))
    shown = []
    log = PairsLog(tmp_path / "x.tsv")
    translate_into(log, ScriptedTranslator(turned), iter(SENTENCES), PairChoice(), shown.append)
    assert shown == [4, 8, 10]


def test_cut_or_unfinished_translations_are_left_out_and_counted():
    translations = [
        Translation("x", ids=(5, EOS), cut=True),
        Translation("x", ids=(5, 6)),
        Translation("", ids=(EOS,)),
        Translation("good", ids=(5, EOS)),
        Translation("x", ids=(5, 6), others=(Translation("other", ids=(5, EOS)),)),
        Translation(""),
    ]
    sentences = [*(Sentence(f"s{i}") for i in range(5)), Sentence("", "empty")]
    pairs, left_out = PairChoice().pairs(sentences, translations)
    assert pairs == [("s3", "good"), ("s4", "other")]
    assert left_out == {"too long": 1, "without a complete translation": 2, "empty": 1}


def test_each_different_translation_of_a_sentence_gives_a_pair():
    found = [Translation(text, ids=(5, EOS)) for text in ("b", "c", "b")]
    translation = Translation("b", ids=(5, EOS), others=tuple(found))
    pairs, _ = PairChoice(backward=True).pairs([Sentence("a")], [translation])
    assert pairs == [("b", "a"), ("c", "a")]


def test_no_pair_shares_a_sentence_with_the_held_out_pairs():
    choice = PairChoice(held_out=pair_keys([("dev source", "dev target")]))
    sentences = [Sentence("Dev source."), Sentence("a"), Sentence("b")]
    translations = [Translation(text, ids=(5, EOS)) for text in ("x", "Dev TARGET", "y")]
    pairs, left_out = choice.pairs(sentences, translations)
    assert pairs == [("b", "y")]
    assert left_out == {"in dev or test": 2}


def test_a_config_accepts_the_printed_table(tmp_path):
    made = SyntheticCorpus(tmp_path / 'a "b".tsv', "de en", 1, 1, {})
    (tmp_path / "c.toml").write_text(
        '[data]\nsource_language = "de"\ntarget_language = "en"\n'
        '[[data.sources]]\ncorpus = "real.tsv"\n' + made.to_toml(),
        encoding="utf-8",
    )
    config = load_config(Overrides.read(tmp_path / "c.toml"))
    found = config.data.sources[1]
    assert (found.corpus, found.columns, found.weight) == (str(made.path), "de en", 1)
    assert found.train_only
    assert made.to_toml("bt").endswith('tag = "bt"\n')


def test_batch_sizes_are_not_settings_of_the_search():
    one, other = (
        tiny_config("x", decoding__batch_tokens=size, decoding__batch_sentences=size).decoding
        for size in (5, 6)
    )
    assert settings_of_search(one, None) == settings_of_search(other, None)
    assert settings_of_search(one, None)["decoding.beam"] == 1


def test_the_checkpoint_of_the_run_that_re_ranks_is_a_setting():
    config = tiny_config("x", decoding__beam=5, decoding__rerank="r").decoding
    first, later = (
        SimpleNamespace(name="runs/r", checkpoint=name, state=SimpleNamespace(saved_at="now"))
        for name in ("step-1", "step-2")
    )
    settings = settings_of_search(config, first)
    assert settings["re-ranking run"] == "runs/r, step-1, saved now"
    assert settings != settings_of_search(config, later)


def test_runs_of_different_languages_are_refused():
    configs = [tiny_config("x"), tiny_config("x", data__target_language="de")]
    with pytest.raises(UsageError, match="runs/b translates from en to de, but runs/a from en to"):
        languages_of([scripted_run("a"), scripted_run("b")], configs)
