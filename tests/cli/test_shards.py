"""Shards of a file, and translations of them."""

from pathlib import Path

import pytest
from conftest import invoke, s2s
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.cli.shards import Shard, open_lines
from seq2seq_cli.errors import UsageError

pytestmark = pytest.mark.usefixtures("uncompiled")
TEXTS = st.lists(st.sampled_from(["\n", "a", "é", "a long line", "\r\n"]), max_size=30).map("".join)


@given(TEXTS, st.integers(1, 9))
def test_shards_have_whole_lines_and_are_the_file(tmp_path_factory, text, count):
    path = tmp_path_factory.mktemp("shards") / "file"
    path.write_bytes(text.encode())
    found = b""
    for number in range(1, count + 1):
        with open_lines(path, Shard(number, count)) as (stream, name, before):
            assert (name, before) == (str(path), found.count(b"\n"))
            assert not found or found.endswith(b"\n") or before == text.count("\n")
            found += b"".join(iter(lambda stream=stream: stream.read(7), b""))
    assert found == text.encode()


def test_shards_have_about_the_same_size(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a line\n" * 1000)
    for number in range(1, 5):
        with open_lines(path, Shard(number, 4)) as (stream, _, _):
            assert abs(len(stream.read(10_000)) - 1750) < 7


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/99999999"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(UsageError, match="give NUMBER/COUNT, such as 2/4"):
        Shard.parse(text)


def test_a_stream_has_no_shards(home, tmp_path, monkeypatch):
    code, _, error = s2s("translate", "--shard", "1/2", stdin=b"I see one cats.\n")
    assert (code, "--shard needs a file as --input" in error) == (2, True)
    code, _, error = s2s("translate", "I see one cats.", "--shard", "1/2")
    assert (code, "--shard needs a file as --input" in error) == (2, True)


@pytest.mark.parametrize("search", [[], ["--sample", "--seed", "3"]], ids=["greedy", "sample"])
def test_translated_shards_are_the_translated_file(search, home, tmp_path):
    command = ["translate", "--input", str(write_lines(tmp_path / "in.txt")), *search]
    whole = invoke(*command)
    shards = [invoke(*command, "--shard", f"{n}/3") for n in (1, 2, 3)]
    assert all(shards)
    assert [line for shard in shards for line in shard] == whole


def test_a_bad_line_of_a_shard_has_its_number_in_the_file(home, tmp_path):
    path = write_lines(tmp_path / "in.txt")
    path.write_bytes(path.read_bytes() + b"\xff\n")
    code, _, error = s2s("translate", "--input", str(path), "--shard", "2/2")
    assert code == 3
    assert f"{path}:13: " in error


@pytest.mark.slow
def test_launched_processes_translate_a_file_in_order(home, tmp_path):
    path, output = write_lines(tmp_path / "in.txt"), tmp_path / "out.txt"
    launch = ("launch", "--workers", "2", "--", "translate")
    code, out, error = s2s(*launch, "--input", str(path), f"--output={output}", "--quiet")
    assert (code, out) == (0, ""), error
    assert output.read_text("utf-8").splitlines() == invoke("translate", "--input", str(path))
    assert sorted(tmp_path.iterdir()) == [path, output]
    path.write_bytes(b"\xff\n")
    code, _, error = s2s(*launch, "-i", str(path), "-o", str(output))
    assert (code, "a worker ended with exit code 3" in error) == (3, True)
    assert output.read_text("utf-8").count("\n") == 12
    assert sorted(tmp_path.iterdir()) == [path, output]


@pytest.mark.parametrize("options", [[], ["--input", "x"], ["one sentence"]])
def test_launched_translations_need_files(options):
    code, _, error = s2s("launch", "--", "translate", *options)
    assert (code, "translate needs --input and --output" in error) == (2, True)


def write_lines(path: Path) -> Path:
    """Write twelve lines, two of which are empty."""
    sentences = ["I see one cats.", "you see two dogs.", "", "we eat."]
    path.write_text("".join(f"{sentence}\n" for sentence in sentences * 3), "utf-8")
    return path
