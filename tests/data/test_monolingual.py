import gzip
import os

import pytest

from seq2seq_cli.data.lines import BadLineError
from seq2seq_cli.data.monolingual import MonolingualText
from seq2seq_cli.errors import DataError


def test_a_text_has_a_count_and_a_hash_that_do_not_depend_on_gzip(tmp_path):
    (tmp_path / "a").write_bytes(b"one\r\n\ntwo")
    (tmp_path / "b").write_bytes(gzip.compress(b"one\n\ntwo\n"))
    (tmp_path / "c").write_bytes(b"one\n\ntwos\n")
    a, b, c = (MonolingualText.read(tmp_path / name) for name in "abc")
    assert list(a.lines()) == list(b.lines()) == ["one", "", "two"]
    assert (a.count, a.sha256) == (b.count, b.sha256) == (3, a.sha256)
    assert c.sha256 != a.sha256


def test_a_bad_line_is_named_at_once_or_left_out(tmp_path):
    (tmp_path / "a").write_bytes(b"one\n\xff\ntwo\n")
    with pytest.raises(DataError, match=r"a:2: invalid UTF-8 .*--skip-bad-lines"):
        MonolingualText.read(tmp_path / "a")
    text = MonolingualText.read(tmp_path / "a", skip_bad_lines=True)
    assert [isinstance(line, BadLineError) for line in text.lines()] == [False, True, False]


def test_a_pipe_is_refused_since_the_text_is_read_twice(tmp_path):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(DataError, match="a: is a pipe or a device, but the file is read several"):
        MonolingualText.read(tmp_path / "a")


def test_a_text_without_sentences_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"\n \n")
    with pytest.raises(DataError, match="has no sentences"):
        MonolingualText.read(tmp_path / "a")
