"""The command `eval`."""

import json
import re

import pytest
from conftest import invoke, s2s, s2s_process

from seq2seq_cli.errors import UsageError


def test_eval_searches_and_averages_as_it_is_told(home, trained):
    runs = ["--run", trained.name, "--run", trained.name]
    record = json.loads(invoke("eval", "--json", "--beam", "3", *runs)[0])
    assert record["search"] == "beam 3"
    assert record["run"].count(trained.name) == 2
    assert record["bleu"] == json.loads(invoke("eval", "--json", "--beam", "3")[0])["bleu"]


def test_scores_with_signatures(home):
    code, out, err = s2s_process("eval", COLUMNS="200")
    assert (code, err) == (0, "")
    assert re.search(r"BLEU +\d+\.\d\d +nrefs:\S*tok:13a\S*version:", out)
    assert re.search(r"chrF +\d+\.\d\d +nrefs:", out)


def test_json(home):
    code, out, _ = s2s("eval", "--json", "--split", "dev")
    record = json.loads(out)
    assert code == 0
    assert {"run", "checkpoint", "split", "bleu", "bleu_signature", "chrf"} <= set(record)


def test_output_has_a_line_for_each_sentence(home, tmp_path):
    out = tmp_path / "out.tsv"
    code, text, _ = s2s("eval", "--json", "--output", str(out))
    assert code == 0
    assert len(out.read_text().splitlines()) == json.loads(text)["sentences"]


def test_languages_are_those_of_a_corpus_that_moved(home, corpus, tmp_path):
    pairs = [line.split("\t") for line in corpus.read_text("utf-8").splitlines()]
    for side, ending in enumerate(("eng", "spa")):
        lines = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / f"moved.{ending}").write_text(lines, encoding="utf-8")
    options = ["--data", str(tmp_path / "moved"), "--source", "eng", "--target", "spa"]
    record = json.loads(invoke("eval", "--json", *options)[0])
    assert record["bleu"] == json.loads(invoke("eval", "--json")[0])["bleu"]


def test_a_setting_of_a_trained_run_is_of_decoding_whatever_options_there_are(home):
    with pytest.raises(UsageError, match="--set data.source_language: a trained run takes only"):
        invoke("eval", "--set", "data.source_language=de")
