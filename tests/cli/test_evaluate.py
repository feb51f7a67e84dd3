"""The command `eval`."""

import json
import re

import pytest
from conftest import invoke, s2s

from seq2seq_cli.errors import CheckpointError, UsageError

uncompiled = pytest.mark.usefixtures("uncompiled")


@uncompiled
def test_eval_uses_the_options_of_search_and_averaging(home, trained):
    runs = ["--run", trained.name, "--run", trained.name]
    record = json.loads(invoke("eval", "--json", "--beam", "3", *runs)[0])
    assert record["search"] == "beam 3"
    assert record["run"].count(trained.name) == 2
    assert record["bleu"] == json.loads(invoke("eval", "--json", "--beam", "3")[0])["bleu"]


def test_scores_with_signatures(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = s2s("eval")
    assert (code, err) == (0, "")
    assert re.search(r"BLEU +\d+\.\d\d +nrefs:\S*tok:13a\S*version:", out)
    assert re.search(r"chrF +\d+\.\d\d +nrefs:", out)


@uncompiled
def test_json(home):
    code, out, _ = s2s("eval", "--json", "--split", "dev")
    record = json.loads(out)
    assert code == 0
    assert {"run", "checkpoint", "split", "bleu", "bleu_signature", "chrf"} <= set(record)


@uncompiled
def test_output_has_a_line_for_each_sentence(home, tmp_path):
    out = tmp_path / "out.tsv"
    code, text, _ = s2s("eval", "--json", "--output", str(out))
    assert code == 0
    assert len(out.read_text().splitlines()) == json.loads(text)["sentences"]


@uncompiled
def test_languages_are_those_of_a_corpus_that_moved(home, corpus, tmp_path):
    pairs = [line.split("\t") for line in corpus.read_text("utf-8").splitlines()]
    for side, ending in enumerate(("eng", "spa")):
        lines = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / f"moved.{ending}").write_text(lines, encoding="utf-8")
    options = ["--data", str(tmp_path / "moved"), "--source", "eng", "--target", "spa"]
    record = json.loads(invoke("eval", "--json", *options)[0])
    assert record["bleu"] == json.loads(invoke("eval", "--json")[0])["bleu"]


def test_languages_cannot_be_exchanged(home, tmp_path):
    (tmp_path / "a.tsv").write_text("los gatos\tthe cats\n")
    with pytest.raises(UsageError, match="translates from en to es. --source and --target give"):
        invoke("eval", "--source", "es", "--target", "en", "--tsv", str(tmp_path / "a.tsv"))


def test_only_decoding_can_be_set_for_a_trained_run(home):
    with pytest.raises(UsageError, match="--set data.source_language: a trained run accepts only"):
        invoke("eval", "--set", "data.source_language=de")


def test_each_checkpoint_of_a_run_has_its_scores(home, trained):
    lines = invoke("eval", "--json", "--checkpoint", "all")
    records = {record["checkpoint"]: record for record in map(json.loads, lines)}
    there = sorted(path.name for path in (trained / "checkpoints").iterdir())
    assert list(records) == there
    assert len(there) > 1
    best = json.loads(invoke("eval", "--json")[0])
    assert records[best["checkpoint"]] == best
    last = json.loads(invoke("eval", "--json", "--checkpoint", "last")[0])
    assert last == records[there[-1]]
    code, out, _ = s2s("eval", "--checkpoint", "best", "--checkpoint", there[0])
    assert code == 0
    assert out.count(there[0]) + out.count(best["checkpoint"]) >= 2
    assert out.count("0.0% empty") == 2
    assert "calibration" not in out
    two = ["--checkpoint", there[0], "--checkpoint", there[-1]]
    assert s2s("eval", *two, "--details")[1].count("expected calibration error") == 2


@uncompiled
def test_details_of_a_run(home):
    record = json.loads(invoke("eval", "--json", "--details")[0])
    assert sum(each["sentences"] for each in record["by_length"]) == record["sentences"]
    assert sum(each["sentences"] for each in record["by_rarest_word"]) == record["sentences"]
    assert len(record["worst"]) == 20
    calibration = record["calibration"]
    assert calibration["tokens"] > record["sentences"]
    assert 0 <= calibration["error"] <= 1
    assert record["outputs"]["cut"] == 0


@uncompiled
def test_translations_that_reach_the_maximum_length_are_cut(home):
    options = ["--set", "decoding.max_length=3"]
    assert json.loads(invoke("eval", "--json", *options)[0])["outputs"]["cut"] == 1


@uncompiled
def test_a_run_translates_other_sentences(home, tmp_path):
    path = tmp_path / "other.tsv"
    path.write_text("I see one cats.\tyo mirar un gatos.\n", encoding="utf-8")
    record = json.loads(invoke("eval", "--json", "--tsv", str(path))[0])
    assert (record["sentences"], record["test_set"]) == (1, str(path))
    assert "split" not in record


def test_options_of_intervals_need_intervals(home):
    for option in ("--resamples", "--seed"):
        with pytest.raises(UsageError, match="--resamples and --seed are for --confidence"):
            invoke("eval", option, "9")


def test_missing_checkpoints_are_refused(home, trained):
    with pytest.raises(UsageError, match="'newest' is not a checkpoint. Give best, last, all"):
        invoke("eval", "--checkpoint", "newest")
    with pytest.raises(CheckpointError, match="has no checkpoint of update 7. It has: "):
        invoke("eval", "--checkpoint", "7")
    with pytest.raises(UsageError, match="--checkpoint is for one run"):
        invoke("eval", "--checkpoint", "last", "--run", trained.name, "--run", trained.name)
    with pytest.raises(UsageError, match="need exactly one --checkpoint"):
        invoke("eval", "--checkpoint", "all", "--output", "x")
