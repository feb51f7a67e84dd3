"""The command `explain`."""

import json

import pytest
from conftest import invoke, s2s

SENTENCE = "I see one cats."


@pytest.fixture
def cache(home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "s2s" / "training-pairs"


def test_json_has_all_parts(cache):
    (line,) = invoke("explain", SENTENCE, "--beam", "3", "--json", "--quiet")
    found = json.loads(line)
    (translated,) = invoke("translate", SENTENCE, "--beam", "3")
    assert found["translation"] == translated
    assert [word["word"] for word in found["words"]] == [*translated.split(), "</s>"]
    assert found["search"]
    assert len(found["nearest"]) == 5
    assert 0 < found["nearest"][0]["similarity"] <= 1
    assert len(list(cache.iterdir())) == 1


def test_the_terminal_shows_all_parts(cache):
    code, out, err = s2s("explain", SENTENCE, "--beam", "3", "--quiet")
    assert (code, err) == (0, "")
    for text in ["alternatives", "The search", "The most similar training pairs", "dropped: ", "%"]:
        assert text in out


def test_the_page_has_the_explanations(cache, tmp_path):
    path = tmp_path / "page.html"
    code, out, _ = s2s("explain", SENTENCE, "", "--html", str(path), "--quiet")
    assert (code, out) == (0, "")
    assert '"looked_at"' in path.read_text("utf-8")


def test_blank_lines_and_given_translations(cache):
    lines = invoke("explain", "", "--json", "--quiet")
    assert lines == ["null"]
    (line,) = invoke("explain", SENTENCE, "--target", "ellos", "--beam", "3", "--json", "--quiet")
    found = json.loads(line)
    assert found["search"] == []
    assert found["translation"] == "ellos"
