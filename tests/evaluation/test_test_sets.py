import socket
from pathlib import Path

import pytest

from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.evaluation.test_sets import read_files, read_hypotheses, read_named, read_tsv


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_files_correspond_line_by_line(tmp_path):
    source = write(tmp_path / "s", "a\nb \n")
    references = [write(tmp_path / "r1", "x\ny\n"), write(tmp_path / "r2", "z\n\n")]
    found = read_files(source, references)
    assert found.sources == ["a", "b"]
    assert found.references == [["x", "z"], ["y", ""]]
    short = write(tmp_path / "short", "x\n")
    with pytest.raises(DataError, match=r"has 2 lines and .*short has 1"):
        read_files(source, [short])
    with pytest.raises(DataError, match="is empty"):
        read_files(write(tmp_path / "e", ""), [write(tmp_path / "f", "")])


def test_a_tsv_has_any_number_of_references(tmp_path):
    found = read_tsv(write(tmp_path / "t.tsv", "a\tx\ty\nb\tz\n"))
    assert (found.sources, found.references) == (["a", "b"], [["x", "y"], ["z"]])
    with pytest.raises(DataError, match=r"t\.tsv:2: 1 column"):
        read_tsv(write(tmp_path / "t.tsv", "a\tx\nb\n"))


def test_there_is_a_hypothesis_for_each_source(tmp_path):
    path = write(tmp_path / "h", "uno\ndos\n")
    assert read_hypotheses(path, 2) == ["uno", "dos"]
    with pytest.raises(DataError, match="has 2 lines, and the test set has 3"):
        read_hypotheses(path, 3)


def test_a_line_that_is_not_text_is_named(tmp_path):
    (tmp_path / "h").write_bytes(b"uno\n\xff\n")
    with pytest.raises(DataError, match=r"h:2: invalid UTF-8"):
        read_hypotheses(tmp_path / "h", 2)


@pytest.fixture
def library(tmp_path, monkeypatch) -> Path:
    """The folder of sacreBLEU's test sets, with no network behind it."""
    from sacrebleu import DATASETS

    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr(DATASETS["wmt13"], "_outdir", str(tmp_path))
    monkeypatch.setattr(DATASETS["wmt13"], "_rawdir", str(tmp_path / "raw"))
    return tmp_path


def test_a_named_test_set_is_that_of_sacrebleu(library):
    from sacrebleu import DATASETS

    texts = {"src": "a\nb\n", "ref": "x\ny\n"}
    for field in DATASETS["wmt13"].fieldnames("en-es"):
        write(library / f"wmt13.en-es.{field}", texts.get(field, "-\n-\n"))
    found = read_named("wmt13", ("en", "es"))
    assert (found.name, found.sources) == ("wmt13 en-es", ["a", "b"])
    assert found.references == [["x"], ["y"]]


def test_an_unavailable_test_set_is_refused(library):
    with pytest.raises(DataError, match=r"could not download it \(no network\)"):
        read_named("wmt13", ("en", "es"))
    with pytest.raises(UsageError, match="there is no en-xx in it; there is: .*en-es"):
        read_named("wmt13", ("en", "xx"))
    with pytest.raises(UsageError, match="no such set. For en-es it has: .*wmt13"):
        read_named("wmt99", ("en", "es"))


def test_a_silent_server_is_given_up(tmp_path, monkeypatch):
    from sacrebleu import DATASETS

    with socket.create_server(("127.0.0.1", 0)) as server:  # it accepts, and never answers
        url = f"http://127.0.0.1:{server.getsockname()[1]}/dev.tgz"
        monkeypatch.setattr(DATASETS["wmt13"], "data", [url])
        monkeypatch.setattr(DATASETS["wmt13"], "_outdir", str(tmp_path))
        monkeypatch.setattr(DATASETS["wmt13"], "_rawdir", str(tmp_path / "raw"))
        monkeypatch.setattr("seq2seq_cli.evaluation.test_sets.PATIENCE", 0.1)
        with pytest.raises(DataError, match="could not download it .*timed out"):
            read_named("wmt13", ("en", "es"))
    assert socket.getdefaulttimeout() is None
