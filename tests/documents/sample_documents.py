"""Documents of each format, and their translation by a function."""

import io
import zipfile

from seq2seq_cli.documents.formats import FORMATS, translate_document

STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(body: str, namespace: str = W) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", XML + "<Types/>")
        archive.writestr(
            "word/document.xml",
            f"{XML}<w:document {namespace}><w:body>{body}</w:body></w:document>",
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
