"""Repair of mojibake and invisible characters."""

import re

from seq2seq_cli.data.checking.kinds import Kind

# The C0 and C1 controls, soft hyphen, bidi marks, zero-width characters except the joiners U+200C
# and U+200D, line and paragraph separators, byte order mark, annotation marks.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb]"
)
_SPACES = re.compile("[\t\n\x0b\x0c\r\x1c-\x1f\x85\u2028\u2029]")

# The characters of CP1252's bytes 80 to 9F, and Latin-1's for the five bytes that CP1252 lacks.
_CP1252 = {
    ord(bytes([byte]).decode("cp1252")): byte
    for byte in range(0x80, 0xA0)
    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_MISREAD = re.compile(
    "[\xc2-\xf4][\x80-\xbf" + "".join(re.escape(chr(code)) for code in _CP1252) + "]"
)
SUSPECT = re.compile(f"{_INVISIBLE.pattern}|\ufffd|{_MISREAD.pattern}")
"""Matches every text in which `repair` finds something."""


def repair(text: str) -> tuple[str, Kind]:
    """Undo mojibake and remove invisible characters; return the text and the kinds of problems.

    A control character that separated words becomes a space. U+FFFD is a problem, but is kept.
    """
    problems = Kind.ENCODING if "\ufffd" in text else Kind(0)
    while True:
        if (again := _undo_mojibake(text)) != text:
            problems |= Kind.MOJIBAKE
        elif _INVISIBLE.search(text):
            again = _INVISIBLE.sub("", _SPACES.sub(" ", text))
            problems |= Kind.CONTROL
        else:
            return text, problems | (Kind.ENCODING if "\ufffd" in text else Kind(0))
        text = again


def _undo_mojibake(text: str) -> str:
    """Encode as CP1252 and decode as UTF-8, if that succeeds and the result is plausible.

    A text in which all characters beyond ASCII fit this pattern is nearly always mojibake. An
    exception is a single capital before a closing mark ("CAFÉ…"), which would decode to one letter
    of a rare alphabet. So a single character counts only if it is Latin or a common sign.
    """
    if not _MISREAD.search(text):
        return text
    try:
        decoded = text.translate(_CP1252).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
    gained = [char for char in decoded if not char.isascii()]
    usual = any("\xa0" <= char <= "\u017f" or "\u2010" <= char <= "\u2122" for char in gained)
    return decoded if usual or len(gained) > 1 else text


def visible(text: str) -> str:
    """Return a text with its invisible characters in a form such as <U+200B>."""
    return _INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
