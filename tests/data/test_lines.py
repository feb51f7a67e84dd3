from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data.lines import BadLineError, decode_line


@given(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])))
def test_any_text_line_decodes_to_itself(text):
    assert decode_line(text.encode() + b"\n") == text.removesuffix("\r")


@given(st.binary())
def test_any_bytes_give_text_or_a_reason(raw):
    try:
        assert "\0" not in decode_line(raw)
    except BadLineError as error:
        assert str(error)
