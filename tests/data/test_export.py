"""Splits as plain files."""

import json
import os

import pytest
from conftest import tiny_config

from seq2seq_cli.data.corpus import Corpus, read_corpus
from seq2seq_cli.data.export import export
from seq2seq_cli.data.pairs import in_memory
from seq2seq_cli.data.splits import group_references
from seq2seq_cli.errors import DiskError, UsageError

PAIRS = [("a", "x"), ("b", "y"), ("a", "z"), ("c", "v\rw")]


def small_corpus() -> Corpus:
    return Corpus(in_memory([("t", "u")]), PAIRS, PAIRS[:2], "small", "f" * 64)


def lines(path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


def test_each_source_has_all_its_references(tmp_path):
    exported = export(small_corpus(), ("en", "es"), tmp_path / "out")
    folder = tmp_path / "out"
    assert lines(folder / "dev.en") == ["a", "b", "c"]
    assert lines(folder / "dev.es") == ["x", "y", "v w"]
    assert lines(folder / "dev.es.2") == [
        "z",
        "y",
        "v w",
    ]  # the first again
    assert not (folder / "test.es.2").exists()
    assert exported.splits["dev"].references == 4
    assert exported.line_breaks == 2


def test_the_files_are_the_splits_of_training(corpus, tmp_path):
    data = tiny_config(corpus).data
    exported = export(read_corpus(data), ("en", "es"), tmp_path / "out")
    found = read_corpus(data)
    for name in ("train", "dev", "test"):
        pairs = list(getattr(found, name))
        sources = [s for s, _ in pairs] if name == "train" else group_references(pairs)[0]
        assert lines(tmp_path / f"out/{name}.en") == sources
        assert exported.splits[name].lines == len(sources)
    index = json.loads((tmp_path / "out/split.json").read_text("utf-8"))
    assert index["fingerprint"] == found.fingerprint


def test_weights_of_pairs_are_written(corpus, tmp_path):
    config = tiny_config(None, data__sources=[{"corpus": str(corpus), "weight": 2.0}])
    export(read_corpus(config.data), ("en", "es"), tmp_path / "out")
    assert set(lines(tmp_path / "out/train.weights")) == {"2"}


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there/mine").write_text("precious")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        export(small_corpus(), ("en", "es"), tmp_path / "there")
    assert os.listdir(tmp_path / "there") == ["mine"]
    assert os.listdir(tmp_path) == ["there"]


def test_an_existing_empty_folder_is_accepted(tmp_path):
    export(small_corpus(), ("en", "es"), tmp_path)
    assert (tmp_path / "test.en").is_file()


def test_nothing_remains_after_a_failure(tmp_path, monkeypatch):
    def fail(corpus):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("seq2seq_cli.data.export.group_references", fail)
    with pytest.raises(DiskError, match="No space left"):
        export(small_corpus(), ("en", "es"), tmp_path / "out")
    assert os.listdir(tmp_path) == []
