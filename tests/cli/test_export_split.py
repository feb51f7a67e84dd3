"""The command `export-split`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import invoke, s2s

from seq2seq_cli.errors import DataError, UsageError


def test_the_split_of_a_run_is_written(home, trained, tmp_path):
    (line,) = invoke("export-split", str(tmp_path / "out"), "--json")
    record = json.loads(line)
    assert record["splits"]["test"]["files"] == ["test.en", "test.es"]
    from_corpus = tmp_path / "again"
    options = ["--data", str(Path(record["corpus"])), "--set", "data.dev_pairs=40"]
    invoke("export-split", str(from_corpus), *options, "--set", "data.test_pairs=40")
    for file in from_corpus.iterdir():
        assert file.read_bytes() == (tmp_path / "out" / file.name).read_bytes()


def test_a_corpus_that_is_not_the_runs_is_refused(home, trained, corpus, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text(corpus.read_text("utf-8").replace("apples", "pears"), "utf-8")
    with pytest.raises(DataError, match="is not the corpus that"):
        invoke(
            "export-split", str(tmp_path / "out"), "--run", "001-rnn-additive", "--data", str(other)
        )
    assert not (tmp_path / "out").exists()


def test_a_run_and_a_config_exclude_each_other(home, tmp_path):
    with pytest.raises(UsageError, match="--run has its own config"):
        invoke("export-split", str(tmp_path / "out"), "--run", "x", "--set", "data.dev_pairs=1")


def test_a_folder_with_files_is_refused_with_its_code(home, tmp_path):
    code, out, err = s2s("export-split", str(home))
    assert (code, out) == (2, "")
    assert "nothing is overwritten" in err


def test_an_empty_folder_may_be_linked_but_not_the_current_one(corpus, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    os.symlink("other", tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    assert s2s("export-split", "link", "--data", str(corpus))[0] == 0
    assert (tmp_path / "other/train.en").is_file()
    monkeypatch.chdir(tmp_path / "empty")
    code, _, error = s2s("export-split", ".", "--data", str(corpus))
    assert (code, "is the current folder" in error) == (2, True)
    assert os.listdir(".") == []


@pytest.mark.parametrize("command", ["export-split out", "bench decode", "eval"])
def test_an_empty_corpus_is_an_error(home, command):
    for data, problem in (
        ("", "is empty"),
        ("caf\udce9", "has a NUL character or bytes that are not UTF-8"),
    ):
        code, _, error = s2s(*command.split(), "--data", data)
        assert (code, f"the path {problem}" in " ".join(error.split())) == (2, True)


def test_it_needs_no_tensorflow(corpus, tmp_path):
    code = (
        "import sys; from seq2seq_cli.cli import app; "
        f"app(['export-split', {str(tmp_path / 'out')!r}, '--data', {str(corpus)!r}], "
        "standalone_mode=False); sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
