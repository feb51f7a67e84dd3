"""Gettext message catalogs (PO): the messages that have no translation yet."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from seq2seq_cli.documents.passages import PLACEHOLDERS, Format, Passage, decode, missing_extra
from seq2seq_cli.errors import DataError

if TYPE_CHECKING:
    import polib

_STRING_LINE = re.compile(r'\s*(?:msg\w+(?:\[\d+\])?\s*)?"')
_CHARSET = re.compile(r'^"Content-Type:[^"]*charset=([\w-]+)', re.MULTILINE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"\s*$')


def read(content: bytes, name: str) -> list[Passage]:
    """Return the messages that have no translation. A plural follows its singular.

    Raises:
        DataError: if it is not a catalog in UTF-8.
        UsageError: if polib is not installed.
    """
    catalog = _parse(decode(content, name), name)
    return [
        Passage(message, entry.linenum)
        for entry in _untranslated(catalog)
        for message in _messages(entry)
    ]


def write(content: bytes, texts: Sequence[str]) -> bytes:
    """Return the catalog with the texts as translations of the messages that `read` returned.

    A message with an unchanged text stays untranslated: gettext then shows the message itself. If
    any text is changed, polib writes the catalog, and wraps long texts again.
    """
    catalog = _parse(content.decode("utf-8"), "")
    following = iter(texts)
    changed = False
    for entry in _untranslated(catalog):
        messages = _messages(entry)
        translations = [next(following) for _ in messages]
        if translations == messages:
            continue
        changed = True
        singular, plural = translations[0], translations[-1]
        if entry.msgid_plural:
            forms = {number: plural for number in sorted(entry.msgstr_plural or {0: "", 1: ""})}
            if len(forms) > 1:  # a language with one form uses it for every number
                forms[0] = singular
            entry.msgstr_plural = forms
        else:
            entry.msgstr = singular
    return (str(catalog).rstrip("\n") + "\n").encode("utf-8") if changed else content


def _parse(text: str, name: str) -> "polib.POFile":
    try:
        import polib
    except ImportError as error:
        raise missing_extra("polib", error) from error
    text = text.removeprefix("\ufeff")
    charset = _CHARSET.search(text)
    if charset and charset[1].lower() not in {"utf-8", "utf8"}:
        raise DataError(
            f"{name}: declares the charset {charset[1]}. Declare UTF-8 in its header, or convert "
            "it with msgconv --to-code=UTF-8"
        )
    for number, line in enumerate(text.split("\n"), start=1):
        # polib drops the last character of such a line.
        if _STRING_LINE.match(line) and not _STRING.search(line):
            raise DataError(f"{name}:{number}: not a PO catalog: the closing quote is missing")
    try:
        # polib treats a text as a path if such a file exists. A line feed prevents that.
        return polib.pofile(text + "\n", wrapwidth=78)
    except (OSError, ValueError, IndexError, KeyError, AttributeError) as error:
        line_number = re.search(r"line (\d+)", str(error))
        place = f"{name}:{line_number[1]}" if line_number else name
        raise DataError(f"{place}: not a PO catalog. Correct it; msgfmt --check helps") from error


def _untranslated(catalog: "polib.POFile") -> Iterator["polib.POEntry"]:
    for entry in catalog:
        translated = entry.msgstr or any(entry.msgstr_plural.values())
        if not entry.obsolete and not translated and entry.msgid:
            yield entry


def _messages(entry: "polib.POEntry") -> list[str]:
    """Return the message, and its plural if it has one."""
    return [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]


# Line breaks and tabs of a message are significant. Each text between them is translated alone.
PO = Format(
    read,
    write,
    protected=r"[\n\t]|</?[A-Za-z][^<>]*>|&#?\w+;"
    r"|(?<!\w)[_&](?=[^\W\d_])|" + PLACEHOLDERS,  # an accelerator key, as in _File
)
