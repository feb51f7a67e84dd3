from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.data.checking.kinds import Kind
from seq2seq_cli.data.checking.repair import repair


def test_capitals_before_closing_marks_are_not_mojibake():
    for text in ("CAFÉ…", "UN CAFÉ”", "«MAÑANA»", "ÇA Á™", "São Paulo"):
        assert repair(text) == (text, Kind(0))


@given(st.text(), st.integers(1, 2), st.sampled_from(["cp1252", "latin-1"]))
def test_mojibake_of_latin_text_is_repaired(text, times, encoding):
    text = repair("é" + text)[0]
    garbled = text
    try:
        for _ in range(times):
            garbled = garbled.encode().decode(encoding)
    except UnicodeDecodeError:
        return
    assert repair(garbled)[0] == text


def test_mojibake_after_a_control_character_is_repaired():
    assert repair("Ã\u200b©\u200b") == ("é", Kind.MOJIBAKE | Kind.CONTROL)


@given(st.text())
def test_repairing_twice_changes_nothing_more(text):
    once = repair(text)[0]
    assert repair(once) == (once, Kind.ENCODING if "\ufffd" in once else Kind(0))
