"""Documents: their structure stays, and their text is translated once and in order."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from seq2seq_cli.documents.formats import FORMATS, format_of, translate_document
from seq2seq_cli.errors import DataError

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(body: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", XML + "<Types/>")
        archive.writestr(
            "word/document.xml", f"{XML}<w:document {W}><w:body>{body}</w:body></w:document>"
        )
        archive.writestr("word/styles.xml", f"{XML}<w:styles {W}/>")
    return out.getvalue()


def docx_run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


BOLD = "<w:rPr><w:b/></w:rPr>"
MARKDOWN = """---
title: A page
---
# Some *red* apples

I like **red** apples, `code here` and [a link](http://x.org/a_b "A title").
They cost 5.50 now. Write to {name} or %(count)d at https://x.org/path.

> A quote of
> two lines.

- one cat
- two cats

| left | right |
|------|-------|
| a cat | a dog |

```python
print("keep me")
```

[ref]: http://x.org
"""
HTML = """<!DOCTYPE html>
<html><head><title>A page</title><style>p { color: red }</style></head>
<body class="one two"><!-- a comment -->
<p title="keep">I like <b>red</b> apples &amp; pears. We eat {n} of them.<br>Good.</p>
<script>let text = "keep <b>";</script><pre>keep  this</pre>
<p translate="no">keep that</p></body></html>
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
<i>I like apples
and pears.</i>

2
00:00:03,000 --> 00:00:04,000
{\\an8}- Who is it?
- It is %s.
"""
PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: a.py:1
#, python-format
msgid "I see %s cats."
msgstr ""

msgid "done"
msgstr "hecho"

msgid "one file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
"""
PROSE = """A title

I like apples. I like {fruit}
and pears.

    Write to me@x.org now.
"""
DOCX = docx(
    f"<w:p>{docx_run('I like ')}{docx_run('ap')}{docx_run('ples. ')}{docx_run('Red', BOLD)}</w:p>"
    f"<w:p><w:r><w:instrText>PAGE</w:instrText></w:r>{docx_run('one cat')}</w:p>"
)
SAMPLES = {
    "txt": PROSE.encode(),
    "markdown": MARKDOWN.encode(),
    "html": HTML.encode(),
    "srt": SRT.encode(),
    "docx": DOCX,
    "po": PO.encode(),
}
SEGMENTS = {
    "txt": ["A title", "I like apples.", "I like", "and pears.", "Write to", "now."],
    "markdown": [
        *("Some", "red", "apples", "I like", "red", "apples,", "and", "a link"),
        *("They cost 5.50 now.", "Write to", "or", "at", "A quote of two lines."),
        *("one cat", "two cats", "left", "right", "a cat", "a dog"),
    ],
    "html": ["A page", "I like", "red", "apples & pears.", "We eat", "of them.", "Good."],
    "srt": ["I like apples and pears.", "Who is it?", "It is"],
    "docx": ["I like apples.", "Red", "one cat"],
    "po": ["I see", "cats.", "one file", "files"],
}
KEPT = {
    "txt": ["{fruit}", "me@x.org", "\n\n    "],
    "markdown": [
        *("title: A page", "`code here`", '](http://x.org/a_b "A title")', "{name}", "%(count)d"),
        *("https://x.org/path.", 'print("keep me")', "[ref]: http://x.org", "|------|-------|"),
    ],
    "html": [
        *("<!DOCTYPE html>", "p { color: red }", '<body class="one two"><!-- a comment -->'),
        *('<p title="keep">', "<b>", "{n}", 'let text = "keep <b>";', "<pre>keep  this</pre>"),
        *('<p translate="no">keep that</p>', "&amp;"),
    ],
    "srt": ["00:00:01,000 --> 00:00:02,500\n<i>", "</i>\n\n2\n", "{\\an8}- ", "\n- ", "%s"],
    "po": ["#: a.py:1\n#, python-format", 'msgid "I see %s cats."', 'msgstr "hecho"'],
}


def translated(name: str, content: bytes, translate=lambda text: text):
    seen: list[str] = []

    def all_of(texts):
        assert not seen
        seen.extend(texts)
        return [translate(text) for text in texts]

    found = translate_document(content, "doc", FORMATS[name], all_of)
    return found, seen


def shouted(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"po"}))
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
    found, seen = translated(name, SAMPLES[name])
    assert seen == SEGMENTS[name]
    assert found.segments == len(seen)


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
        ("markdown", b"a\n\0", "doc:2: a NUL character"),
        ("html", b"<p>a</p>\n<pre>b", "doc:2: <pre> has no </pre>"),
        ("srt", SAMPLES["srt"] + b"\n3\nno time\n", "doc:11: a subtitle without times"),
        ("srt", b"text", "doc:1: not a subtitle"),
        ("po", b'msgid "a"\nmsgstr "b\n', "doc:2: not a PO catalog: the closing quote"),
        ("po", b'msgid "a"\nnothing\n', "doc:2: not a PO catalog"),
        ("docx", b"text", "doc: not a DOCX document"),
        ("docx", DOCX[:200], "doc: not a DOCX document"),
        ("docx", docx("<w:p>"), "doc: word/document.xml:2: "),
    ],
)
def test_a_malformed_document_is_an_error_with_its_line(name, content, message):
    with pytest.raises(DataError, match=message):
        translated(name, content)


def test_the_ending_of_a_file_says_the_format(tmp_path):
    for ending, name in {"md": "markdown", "HTM": "html", "srt": "srt", "docx": "docx"}.items():
        assert format_of(tmp_path / f"a.{ending}") == name
    assert format_of(tmp_path / "a.txt") is None


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
MARKS = "\n|\r\n| |a cat|Dogs. |*|**|_|`|[|](x y)|]|> |- |# |<b>|</b>|<!--|-->|&amp;|\\|%s|{a}"
MARKUP = st.lists(st.sampled_from([*MARKS.split("|"), "|"]), max_size=25).map("".join)


@pytest.mark.parametrize("name", ["txt", "markdown", "html", "srt", "po", "docx"])
@given(text=TEXTS | MARKUP)
def test_any_text_stays_under_the_identity_or_is_an_error(name, text):
    content = text.encode()
    try:
        found, seen = translated(name, content)
    except DataError:
        return
    if name != "po":
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
