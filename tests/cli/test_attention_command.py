"""The command `attention`."""

import json

import numpy as np
import pytest
from conftest import invoke, s2s, toy_pairs

from seq2seq_cli.errors import CheckpointError, DataError, DiskError, UsageError

SENTENCE = "I see one cats."
TRANSLATION = "yo mirar un gatos."


def record(*arguments: str) -> dict:
    (line,) = invoke("attention", *arguments, "--json")
    return json.loads(line)


def test_json_has_the_map_the_probabilities_and_the_alignment_of_translate(home):
    found = record(SENTENCE)
    (line,) = invoke("translate", SENTENCE, "--alignments", "--json")
    translated = json.loads(line)
    assert found["translation"] == translated["translation"] == TRANSLATION
    assert found["alignment"] == translated["alignment"]
    assert found["queries"] == [*TRANSLATION.split(), "</s>"]
    assert found["keys"] == [*SENTENCE.split(), "</s>"]
    np.testing.assert_allclose(np.sum(found["weights"], axis=1), 1, atol=1e-6)
    total = sum(token["log_probability"] for token in found["tokens"])
    assert total == pytest.approx(translated["log_probability"], abs=1e-4)
    assert (found["kind"], found["layer"], found["head"]) == ("cross", 1, "mean")
    pieces = record(SENTENCE, "--pieces")
    assert pieces["keys"] == translated["attention"]["source_tokens"]
    np.testing.assert_allclose(pieces["weights"], translated["attention"]["weights"], atol=2e-5)


def test_a_given_translation_is_read_in_place_of_its_own(home):
    found = record(SENTENCE, "--target", "ellos comer")
    assert found["queries"] == ["ellos", "comer", "</s>"]
    (score,) = invoke("score", SENTENCE, "ellos comer")
    assert found["log_probability"] == pytest.approx(float(score), abs=1e-3)


def test_the_terminal_shows_words_and_per_cent(home):
    code, out, err = s2s("attention", SENTENCE)
    assert (code, err) == (0, "")
    for word in [*SENTENCE.split(), *TRANSLATION.split(), "cross-attention"]:
        assert word in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_a_file_has_a_map_for_each_line_and_null_for_a_blank_one(home, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(f"{SENTENCE}\n\nwe eat two books.\tnosotros\n", "utf-8")
    records = [json.loads(line) for line in invoke("attention", "--input", str(path), "--json")]
    assert [each and each["translation"] for each in records] == [TRANSLATION, None, "nosotros"]


def test_stdin_is_read_where_there_is_no_sentence(home):
    code, out, _ = s2s("attention", "--json", stdin=b"we eat two books.\n")
    assert code == 0
    assert json.loads(out)["source"] == "we eat two books."


def test_several_runs_are_shown_one_after_the_other(home, trained):
    lines = invoke("attention", SENTENCE, "--run", trained.name, "--run", str(trained), "--json")
    assert [json.loads(line)["run"] for line in lines] == [trained.name, trained.name]


def test_a_page_is_written_with_all_sentences(home, tmp_path):
    path = tmp_path / "page.html"
    sentences = [source for source, _ in toy_pairs()[:3]]
    code, out, err = s2s("attention", *sentences, "--html", str(path))
    assert (code, out) == (0, "")
    assert f"Wrote {path}" in err
    html = path.read_text("utf-8")
    assert all(sentence in html for sentence in sentences)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_page_that_browsers_open_slowly_is_a_warning(home, tmp_path, monkeypatch):
    monkeypatch.setattr("seq2seq_cli.cli.sentences._LARGEST_PAGE", 1000)
    _, _, err = s2s("attention", SENTENCE, "--html", str(tmp_path / "page.html"))
    assert "which is slow in browsers" in err


def test_figures_are_written(home, tmp_path):
    pytest.importorskip("matplotlib", reason="it comes with the extra `plot`")
    png, svg = tmp_path / "a.png", tmp_path / "a.svg"
    invoke("attention", SENTENCE, "--png", str(png), "--svg", str(svg), "--dark")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ">gatos.<" in svg.read_text("utf-8")


def test_figures_of_several_sentences_are_refused_before_any_is_read(home, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="it comes with the extra `plot`")
    monkeypatch.setattr("seq2seq_cli.attention.reader.AttentionReader.read", None)
    with pytest.raises(UsageError, match="one sentence of one run, and there are 2"):
        invoke("attention", SENTENCE, SENTENCE, "--png", str(tmp_path / "a.png"))


@pytest.mark.parametrize(
    "options", [["--png", "a", "--svg", "./a"], ["--evolution", "RUN", "--gif", "b", "--svg", "b"]]
)
def test_two_options_do_not_write_the_same_file(home, options):
    with pytest.raises(UsageError, match="have the same file"):
        invoke("attention", *([SENTENCE] if "--png" in options else []), *options)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([SENTENCE, "--kind", "encoder"], UsageError, "no such attention. It has cross"),
        ([SENTENCE, "--layer", "2"], UsageError, "layer 2: the layers of cross are 1 to 1"),
        ([SENTENCE, "--head", "2"], UsageError, "head 2: the heads of cross are 1 to 1"),
        (
            [SENTENCE, "--head", "x"],
            UsageError,
            "--head x: must be a number of at least 1, or mean",
        ),
        ([SENTENCE, "we", "--target", "x"], UsageError, "--target is the translation of one"),
        (["--target", "x"], UsageError, "--target is the translation of one sentence"),
        ([SENTENCE, "--layer", "9", "--html", "a.html"], UsageError, "a page has all maps"),
        ([SENTENCE, "--dark"], UsageError, "--dark is for --png and --svg"),
        ([SENTENCE, "--run", "none"], CheckpointError, "no such run"),
        ([SENTENCE, "--html", "no/page.html"], DiskError, "--html no/page.html: cannot be written"),
        ([" ", "--html", "page.html"], DataError, "all sentences are blank"),
        ([SENTENCE, "--input", "x"], UsageError, "sentences and --input exclude each other"),
    ],
)
def test_what_cannot_be_done_is_said(home, arguments, error, message):
    with pytest.raises(error, match=message):
        invoke("attention", *arguments)
