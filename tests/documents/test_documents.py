"""Documents: their structure stays, and their text is translated once and in order."""

import html
import io
import re
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sample_documents import (
    BOLD,
    DOCX,
    KEPT,
    SAMPLES,
    SEGMENTS,
    STRICT,
    docx,
    docx_run,
    shouted,
    translated,
)

from seq2seq_cli.documents.formats import format_of
from seq2seq_cli.errors import DataError


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_identity_changes_no_byte(name, ends, mark):
    content = SAMPLES[name]
    if name != "docx":
        content = mark + content.replace(b"\n", ends.encode())
    found, seen = translated(name, content)
    assert found.content == content
    assert seen == SEGMENTS[name]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_text_is_translated_once_and_in_order(name):
    assert translated(name, SAMPLES[name])[1] == SEGMENTS[name]


@pytest.mark.parametrize("name", sorted(KEPT))
def test_what_is_no_text_stays(name):
    content = translated(name, SAMPLES[name], shouted)[0].content.decode()
    assert [kept for kept in KEPT[name] if kept not in content] == []
    for text in SEGMENTS[name]:
        assert shouted(text).split()[0].replace("&", "&amp;") in content


def test_line_breaks_stay_inside_a_sentence():
    content = translated("srt", SAMPLES["srt"], shouted)[0].content.decode()
    assert "I LIKE APPLES\nAND PEARS." in content
    content = translated("markdown", SAMPLES["markdown"], shouted)[0].content.decode()
    assert "> A QUOTE OF\n> TWO LINES." in content


def test_a_catalog_keeps_its_messages_and_gets_plurals():
    content = translated("po", SAMPLES["po"], shouted)[0].content.decode()
    assert 'msgstr "I SEE %s CATS."' in content
    assert 'msgstr[0] "ONE FILE"\nmsgstr[1] "%d FILES"' in content
    again, seen = translated("po", content.encode(), shouted)
    assert seen == []
    assert again.content.decode() == content


def test_a_docx_keeps_its_other_parts_and_formats():
    content = translated("docx", DOCX, shouted)[0].content
    with zipfile.ZipFile(io.BytesIO(content)) as new, zipfile.ZipFile(io.BytesIO(DOCX)) as old:
        assert new.namelist() == old.namelist()
        assert new.read("word/styles.xml") == old.read("word/styles.xml")
        body = new.read("word/document.xml").decode()
    assert "I LIKE APPLES. </w:t>" in body
    assert f'{BOLD}<w:t xml:space="preserve">RED</w:t>' in body
    assert "<w:instrText>PAGE</w:instrText>" in body


@pytest.mark.parametrize(
    ("name", "text"),
    [("markdown", "1. *a* [b](c) `d` <e> # - & &amp; |"), ("html", '<b>a</b> & &amp; "q"')],
)
def test_a_translation_adds_no_markup(name, text):
    source = {"markdown": b"A cat.\n", "html": b"<p>A cat.</p>\n"}[name]
    content = translated(name, source, lambda _: text)[0].content
    assert translated(name, content)[1] != []
    if name == "markdown":
        tokens = MarkdownIt("commonmark").enable("table").parse(content.decode())
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        assert "".join(child.content for child in tokens[1].children) == text
    else:
        assert content == b'<p>&lt;b&gt;a&lt;/b&gt; &amp; &amp;amp; "q"</p>\n'


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("<p>Price &# 1;</p><p>Price &# 2;</p><b>Go</b>", ["Price &# 1;", "Price &# 2;", "Go"]),
        ("<p>I&#39d go.</p><p>a <& b</p>", ["I'd go.", "a <& b"]),
        ("<b>&times;</b> <p>A &raquo;</p><td>&nbsp;</td>", ["A »"]),
        ("Tom &amp; Jerry went home.", ["Tom & Jerry went home."]),
        ("He said &quot;Go.&quot; We eat.", ['He said "Go."', "We eat."]),
        ("<p>One&#31;two three four.</p>", ["Onetwo three four."]),
        ("<b>Name:</b>&nbsp;a&eacute;b.&nbsp;C", ["Name:", "aéb.", "C"]),
    ],
)
def test_character_references_are_the_characters_that_a_reader_sees(text, segments):
    found, seen = translated("html", text.encode())
    assert seen == segments
    assert found.content == text.encode()
    assert found.untranslated == []
    shown = html.unescape(translated("html", text.encode(), shouted)[0].content.decode())
    assert re.findall(r"</?\w+>", shown) == re.findall(r"</?\w+>", text)
    assert html.unescape(text).count("\xa0") == shown.count("\xa0")


def test_only_names_in_capitals_stay_in_subtitles():
    lines = ["Он сказал: иди.", "АННА: Привет.", "O'BRIEN 2: Go on.", "Man: Stop.", "A_1: We."]
    times = "00:00:01,000 --> 00:00:02,000"
    content = "\n\n".join(f"{i}\n{times}\n{line}" for i, line in enumerate(lines, start=1))
    seen = translated("srt", content.encode())[1]
    assert seen == ["Он сказал: иди.", "Привет.", "Go on.", "Man: Stop.", "We."]


@pytest.mark.parametrize("fence", ["---", "+++"])
def test_front_matter_stays(fence):
    matter = f'{fence}\ntitle = "A page"\n{fence}\n'
    content = translated("markdown", f"{matter}\nA cat.\n".encode(), shouted)[0].content
    assert content.decode() == f"{matter}\nA CAT.\n"


def test_what_is_not_translated_is_named():
    found, _ = translated("markdown", b"A cat.\n\n<div>A dog</div>\n\nOne **red** cat.\n")
    assert found.untranslated == [3]
    assert found.in_parts == [5]
    found, _ = translated("html", b"<p>A cat.</p>\n<p>One <b>red</b> cat.</p>\n<p>A dog</p>")
    assert found.in_parts == [2]
    found, _ = translated("html", b"<p>A cat. <b>A dog.</b></p>")
    assert found.in_parts == []
    assert translated("docx", DOCX)[0].in_parts == []
    split = docx(f"<w:p>{docx_run('A ')}{docx_run('red', BOLD)}{docx_run(' cat')}</w:p>")
    assert translated("docx", split)[0].in_parts == [1]
    found, _ = translated("txt", b"A cat.\n\nA dog.\n", lambda text: None)
    assert found.untranslated == [1, 3]
    assert found.content == b"A cat.\n\nA dog.\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("txt", b"a\nb \xff", "doc:2: invalid UTF-8"),
        ("markdown", b"a\n\0", "doc:2: contains a NUL character"),
        ("html", b"<p>a</p>\n<pre>b", "doc:2: <pre> has no </pre>"),
        ("srt", SAMPLES["srt"] + b"\n3\nno time\n", "doc:11: the subtitle has no times"),
        ("srt", b"text", "doc:1: not an SRT subtitle"),
        ("po", b'msgid "a"\nmsgstr "b\n', "doc:2: not a PO catalog: the closing quote"),
        ("po", b'msgid "a"\nnothing\n', "doc:2: not a PO catalog"),
        ("docx", b"text", "doc: not a DOCX document"),
        ("docx", DOCX[:200], "doc: not a DOCX document"),
        ("docx", docx("<w:p>"), "doc: word/document.xml:2: "),
        (
            "docx",
            docx("", f'xmlns:w="{STRICT}"'),
            "doc: word/document.xml is not transitional Open XML",
        ),
        ("srt", b"1\n99999999999:00:00,000 --> 00:00:02,000\nHi\n", ":1: a time after this line"),
        ("po", b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=latin-1\\n"\n', "latin-1"),
    ],
)
def test_a_malformed_document_is_an_error_with_its_line(name, content, message):
    with pytest.raises(DataError, match=message):
        translated(name, content)


def test_every_arrow_that_srt_accepts_is_found():
    content = b"1\n00:00:01,000 - > 00:00:02,000\nI like apples.\n"
    assert translated("srt", content, shouted)[0].content == content.replace(
        b"I like apples.", b"I LIKE APPLES."
    )


def test_every_part_of_a_docx_is_verified_before_the_translation():
    styles = DOCX.index(b"styles")  # the parts are stored, not compressed
    damaged = DOCX[: styles + 30] + b"X" + DOCX[styles + 31 :]
    with pytest.raises(DataError, match=r"doc: word/styles\.xml in it is damaged"):
        translated("docx", damaged)


def test_the_ending_of_a_file_says_the_format(tmp_path):
    for ending, name in {"md": "markdown", "HTM": "html", "srt": "srt", "docx": "docx"}.items():
        assert format_of(tmp_path / f"a.{ending}") == name
    assert format_of(tmp_path / "a.txt") is None


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
MARKS = "\n|\r\n| |a cat|Dogs. |*|**|_|`|[|](x y)|]|> |- |# |<b>|</b>|<!--|-->|&amp;|\\|%s|{a}"
MARKUP = st.lists(st.sampled_from([*MARKS.split("|"), "|"]), max_size=25).map("".join)


@pytest.mark.parametrize("name", ["txt", "markdown", "html", "srt", "po", "docx"])
@given(text=TEXTS | MARKUP)
@example("<p>a <![5]> b</p>")
def test_any_text_stays_under_the_identity_or_is_an_error(name, text):
    content = text.encode()
    try:
        found, seen = translated(name, content)
    except DataError:
        return
    assert found.content == content
    assert all("\n" not in segment for segment in seen)


@pytest.mark.parametrize("name", ["txt", "html", "markdown"])
@given(text=MARKUP)
def test_any_text_keeps_what_is_between_the_segments(name, text):
    try:
        found, seen = translated(name, text.encode(), lambda text: "ZQ")
    except DataError:
        return
    rest = found.content.decode()
    assert rest.count("ZQ") == len(seen)
    position = 0
    for kept in rest.split("ZQ"):
        position = text.find(kept, position)
        assert position >= 0
        position += len(kept)
