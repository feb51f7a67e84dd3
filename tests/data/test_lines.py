import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data import lines
from seq2seq_cli.data.lines import BadLineError, decode_line, estimated_lines


@given(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])))
def test_any_text_line_decodes_to_itself(text):
    assert decode_line(text.encode() + b"\n") == text.removesuffix("\r")


@given(st.binary())
def test_any_bytes_give_text_or_a_reason(raw):
    try:
        assert "\0" not in decode_line(raw)
    except BadLineError as error:
        assert str(error)


@pytest.fixture(params=[False, True])
def text(request, tmp_path):
    """Return what writes a text file, gzipped or not."""

    def write(count: int):
        path = tmp_path / "text"
        content = "".join(f"{number} of the lines\n" for number in range(count)).encode()
        half = content.index(b"\n", len(content) // 2) + 1
        members = gzip.compress(content[:half]) + gzip.compress(content[half:])
        path.write_bytes(members if request.param else content)
        return path

    return write


def test_the_lines_of_a_small_file_are_counted(text):
    path = text(1234)
    assert estimated_lines(path) == 1234
    with path.open("ab") as file:
        file.write(gzip.compress(b"one more") if path.read_bytes()[0] == 0x1F else b"one more")
    assert estimated_lines(path) == 1235


def test_the_lines_of_a_large_file_are_estimated(text, monkeypatch):
    monkeypatch.setattr(lines, "SAMPLED_BYTES", 1 << 17)
    estimate = estimated_lines(text(150_000))
    assert 110_000 < estimate < 190_000
    assert estimate % 10_000 == 0


def test_a_file_that_cannot_be_read_has_no_estimate(tmp_path):
    assert estimated_lines(tmp_path / "none") is None
    (tmp_path / "cut").write_bytes(gzip.compress(b"a\n" * 1000)[:20])
    assert estimated_lines(tmp_path / "cut") is None
