"""Texts of all kinds in training data, translate and score: a line out for each, or file:line."""

from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from conftest import s2s, tiny_config

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.decoding import loading
from seq2seq_cli.decoding.scoring import Score
from seq2seq_cli.decoding.translator import Translation
from seq2seq_cli.errors import DataError
from seq2seq_cli.runs.run import Run

LONG = "ab " * 400_000  # 1.2 MB; a line is read up to 1 MB


class Case(NamedTuple):
    """A text in the third of five lines, as the others are `a line`.

    raw: its bytes.
    text: what is read, or None if it is an error.
    problem: in the error.
    """

    raw: bytes
    text: str | None
    problem: str = ""


CASES = {
    "invalid UTF-8": Case(b"caf\xe9", None, r"invalid UTF-8 at byte 4 \(0xe9\)"),
    "NUL": Case(b"a\0b", None, "contains a NUL character"),
    "lone surrogate": Case(b"a \xed\xa0\x80", None, r"invalid UTF-8 at byte 3 \(0xed\)"),
    "overlong": Case(b"\xc0\xaf", None, r"invalid UTF-8 at byte 1 \(0xc0\)"),
    "BOM": Case(b"\xef\xbb\xbfa", "\ufeffa"),  # inside a file it is a character
    "CRLF": Case(b"a b\r", "a b"),
    "U+2028": Case("a\u2028b".encode(), "a\u2028b"),
    "U+0085": Case("a\u0085b".encode(), "a\u0085b"),
    "a megabyte": Case(LONG.encode(), LONG),
    "empty": Case(b"", ""),
    "a tab": Case(b"a\tb\tc\td", "a\tb\tc\td"),
}
NAMES = pytest.mark.parametrize("name", CASES)


def lines(middle: bytes) -> bytes:
    """Return five lines, of which the third is given, without an end of the last one."""
    return b"\n".join([b"a line", b"a line", middle, b"a line", b"a line"])


@pytest.fixture
def models(workdir, monkeypatch) -> None:
    """Let a run translate each text to itself, and score a pair by its length."""

    class Translator:
        def translate(self, sentences, first_number=0):
            return [Translation(sentence) for sentence in sentences]

    class Scorer:
        def score(self, pairs):
            return [Score(float(len(a + b)) if a or b else None, [], []) for a, b in pairs]

    loaded = SimpleNamespace(
        translator=lambda **options: Translator(),
        scorer=lambda **options: Scorer(),
        decoding=tiny_config(None).decoding,
        towards=lambda to: loaded,
    )
    monkeypatch.setattr(loading, "load_ensemble", lambda runs, warn, configs: loaded)
    run = Run(Path("runs/x"))
    run.path.mkdir(parents=True)
    run.write(tiny_config(None), {})


def answer(command: str, content: bytes, by_file: bool) -> tuple[int, list[str], str]:
    """Give a command a text by a file or by stdin; return exit code, lines and message."""
    options = ["--run", "x", "--device", "cpu", "--quiet"]
    if by_file:
        Path("in.txt").write_bytes(content)
        options += ["--input", "in.txt"]
    code, out, error = s2s(command, *options, stdin=b"" if by_file else content)
    return code, out.split("\n")[:-1], " ".join(error.split())


@NAMES
@pytest.mark.parametrize("by_file", [True, False], ids=["a file", "stdin"])
def test_translate_gives_a_line_for_each_line(name, by_file, models):
    case = CASES[name]
    code, out, error = answer("translate", lines(case.raw), by_file)
    if case.text is None:
        assert (code, out) == (3, ["a line"] * 2)
        assert f"{'in.txt' if by_file else 'stdin'}:3: " in error
        assert "The lines before it have been translated" in error
    else:
        assert code == 0
        assert len(out) == 5
        assert out[2] == case.text[: 1 << 20]


@NAMES
def test_score_gives_a_line_for_each_line(name, models):
    case = CASES[name]
    pair = case.raw + b"\tx" if case.raw else b""
    pairs = b"\n".join([b"a\tb", b"a\tb", pair, b"a\tb", b"a\tb"])
    code, out, error = answer("score", pairs, by_file=True)
    # The end of a line of 1 MB is not read, so it has no second side.
    if case.text is None or name == "a megabyte":
        assert (code, out) == (3, ["2.0000"] * 2)
        assert "in.txt:3: " in error
    else:
        assert (code, len(out)) == (0, 5)
        assert (out[2] == "") == (name == "empty")


@NAMES
def test_an_invalid_line_of_training_data_is_named_or_skipped(name, tmp_path):
    case = CASES[name]
    path = tmp_path / "x.tsv"
    path.write_bytes(b"\n".join([b"a\tb", b"a\tb", case.raw + b"\tx", b"a\tb", b"a\tb"]))
    problem = case.problem or "5 columns where 2 are expected" * (name == "a tab")
    if problem:
        with pytest.raises(DataError, match=f"x.tsv:3: {problem}.*data.skip_bad_lines=true"):
            list(read(path)[0])
    pairs, reader = read(path, skip_bad_lines=True)
    found = list(pairs)
    reason = "bad line" if problem else "empty"
    if problem or name == "empty":
        assert len(found) == 4
        assert reader.dropped == {reason: 1}
    else:
        assert len(found) == 5
        assert found[2] == (case.text.strip(), "x")
        assert not reader.dropped


def read(path: Path, **settings: object):
    reader = Reader(DataConfig(corpus=str(path), **settings))
    (corpus,) = reader.corpora()
    return corpus.pairs, reader


def test_a_byte_order_mark_is_not_part_of_the_text(models, tmp_path):
    content = b"\xef\xbb\xbf" + lines(b"")
    assert answer("translate", content, by_file=True)[1][0] == "a line"
    path = tmp_path / "x.tsv"
    path.write_bytes(b"\xef\xbb\xbfa\tb\n")
    assert list(read(path)[0]) == [("a", "b")]


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n", b"a", b"a\n", b"a\n\n", b"\r\n\r\n"])
def test_there_are_as_many_output_lines_as_input_lines(content, models):
    expected = len(content.splitlines())
    assert len(answer("translate", content, by_file=True)[1]) == expected
    assert len(answer("score", content.replace(b"a", b"a\tb"), by_file=False)[1]) == expected


def test_files_of_unequal_length_are_refused(tmp_path):
    (tmp_path / "x.en").write_bytes(b"a\nb\n")
    (tmp_path / "x.es").write_bytes(b"a\nb\n\n")
    with pytest.raises(DataError, match=r"x.en has 2 lines and .*x.es has 3"):
        list(read(tmp_path / "x")[0])
