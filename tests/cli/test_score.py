"""The command `score`."""

import json

import pytest
from conftest import invoke, s2s

SENTENCE = "I see one cats."


def test_the_score_of_a_translation_is_that_of_its_search(home):
    record = json.loads(invoke("translate", SENTENCE, "--json")[0])
    found = json.loads(invoke("score", SENTENCE, record["translation"], "--json")[0])
    assert found["log_probability"] == pytest.approx(record["log_probability"], abs=1e-3)
    by_token = [token["log_probability"] for token in found["tokens"]]
    assert sum(by_token) == pytest.approx(found["log_probability"], abs=1e-5)
    plain = invoke("score", SENTENCE, record["translation"], "--tokens")[0].split("\t")
    assert float(plain[0]) == pytest.approx(found["log_probability"], abs=1e-4)
    assert len(plain[1].split()) == len(by_token)
    assert float(invoke("score", SENTENCE, "gatos gatos")[0]) < found["log_probability"]


def test_a_warning_names_the_sides_that_were_cut(home):
    long = b"cats " * 600
    lines = [b"a\t" + long, long + b"\tb", long + b"\t" + long]
    code, out, err = s2s("score", stdin=b"\n".join(lines))
    assert (code, out.count("\n")) == (0, 3)
    sides = ["translation", "source", "source and the translation"]
    assert err.splitlines() == [
        f"warning: line {n}: cut the {side} to 512 tokens (decoding.max_source_tokens)"
        for n, side in enumerate(sides, start=1)
    ]


def test_score_gives_a_line_for_each_line_and_an_empty_one_for_an_empty_one(home):
    text = b"I see one cats.\tyo\n\n \t\r\nI see one cats.\tyo\n"
    for options in ([], ["--tokens"]):
        code, out, _ = s2s("score", *options, stdin=text)
        assert code == 0
        assert [bool(line) for line in out.split("\n")] == [True, False, False, True, False]
    records = [json.loads(line) for line in s2s("score", "--json", stdin=text)[1].splitlines()]
    assert [record["log_probability"] is None for record in records] == [False, True, True, False]
    assert records[1] == {"source": "", "translation": "", "log_probability": None, "tokens": []}
