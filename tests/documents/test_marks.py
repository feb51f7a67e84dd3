"""What separates texts in real documents: marks of lists, speakers, templates, formats of Word."""

import io
import time
import zipfile

import pytest
from sample_documents import PO, docx, docx_run, shouted, translated


@pytest.mark.parametrize(
    ("name", "content", "segments"),
    [
        ("html", "<p>{% if a %}One cat{% endif %}, <%= b %> two</p>", ["One cat", "two"]),
        ("html", '<p class="a notranslate">Acme</p><p>A cat</p>', ["A cat"]),
        (
            "txt",
            "Some:\n- one cat\n  sits\n2) a dog\n---\nI. go",
            [*("Some:", "one cat sits"), *("a dog", "I. go")],
        ),
        ("txt", "> I like\n> apples.\n> * one", ["I like apples.", "one"]),
        ("txt", "Name:\tJohn   Ford", ["Name:", "John", "Ford"]),
        ("markdown", "See it[^1]. :smile: Good.\n\n[^1]: A note.", ["See it", "Good.", "A note."]),
    ],
)
def test_marks_of_a_format_are_no_text(name, content, segments):
    found, seen = translated(name, content.encode(), lambda text: "ZQ")
    assert seen == segments
    kept = found.content.decode().split("ZQ")
    assert len(kept) == len(segments) + 1
    assert all(part in content for part in kept)


def test_notes_and_speakers_of_subtitles_are_texts_of_their_own():
    text = "JOHN: Hello.\n– [DOOR OPENS] ♪ La la ♪\n— MRS. O'NEIL 2: Who?\nNASA: 5"
    content = f"1\n00:00:01,000 --> 00:00:02,500\n{text}\n"
    found, seen = translated("srt", content.encode(), str.lower)
    assert seen == ["Hello.", "DOOR OPENS", "La la", "Who?"]
    assert "JOHN: hello.\n– [door opens] ♪ la la ♪\n— MRS. O'NEIL 2: who?" in found.content.decode()


def test_marks_and_placeholders_of_messages_stay():
    message = "_Save &As:\\t<b>%{n}</b> of %1 &amp; {n, plural, one {# cat} other {# cats}} AT&T"
    content = PO + f'\nmsgid "{message}"\nmsgstr ""\n'
    found, seen = translated("po", content.encode(), lambda text: text.lower())
    assert seen[-4:] == ["Save", "As:", "of", "AT&T"]
    expected = message.replace("Save", "save").replace("As", "as").replace("AT&T", "at&t")
    assert f'msgstr "{expected}"' in found.content.decode().replace('"\n"', "")


def test_a_docx_joins_what_looks_alike():
    seen_by_word = "<w:proofErr/>", '<w:rPr><w:lang w:val="en-GB"/><w:noProof/></w:rPr>'
    body = f"<w:p>{docx_run('I li')}{seen_by_word[0]}{docx_run('ke ap', seen_by_word[1])}"
    body += "<w:r><w:lastRenderedPageBreak/><w:t>ples.</w:t></w:r></w:p>"
    found, seen = translated("docx", docx(body), shouted)
    assert seen == ["I like apples."]
    with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
        new = archive.read("word/document.xml").decode()
    assert "I LIKE APPLES." in new
    assert "lastRenderedPageBreak" in new


@pytest.mark.parametrize("name", ["_GoBack", "here"])
def test_a_bookmark_of_no_text_splits_no_sentence(name):
    mark = f"<w:bookmarkStart w:id='7' w:name='{name}'/><w:bookmarkEnd w:id='7'/>"
    body = f"<w:p>{docx_run('I like ')}{mark}{docx_run('red apples.')}</w:p>"
    assert translated("docx", docx(body), shouted)[1] == ["I like red apples."]


def test_the_bookmark_of_the_last_change_splits_no_sentence():
    start = "<w:bookmarkStart w:id='0' w:name='_GoBack'/>"
    body = f"<w:p>{docx_run('I ')}{start}{docx_run('like ')}<w:bookmarkEnd w:id='0'/>"
    body += f"{docx_run('apples.')}</w:p>"
    assert translated("docx", docx(body), shouted)[1] == ["I like apples."]


def test_bookmarks_and_comments_of_a_docx_keep_their_words():
    body = f"<w:p>{docx_run('I like ')}<w:bookmarkStart w:name='a'/>{docx_run('red ')}"
    body += f"{docx_run('apples')}<w:bookmarkEnd/>{docx_run(' now.')}</w:p>"
    found, seen = translated("docx", docx(body), shouted)
    assert seen == ["I like", "red apples", "now."]
    with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
        new = archive.read("word/document.xml").decode()
    inside = new.partition("bookmarkStart")[2].partition("bookmarkEnd")[0]
    assert "RED APPLES" in inside


def test_a_cell_with_a_bar_is_translated_in_its_place():
    table = "| a | b |\n|---|---|\n| cat \\| dog | cat |\n"
    found, seen = translated("markdown", table.encode(), shouted)
    assert seen == ["a", "b", "cat | dog", "cat"]
    assert "| CAT \\| DOG | CAT |" in found.content.decode()


def test_a_language_with_one_form_gets_the_plural():
    catalog = 'msgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'
    found, _ = translated("po", catalog.encode(), shouted)
    assert 'msgstr[0] "%d FILES"' in found.content.decode()


def test_an_unchanged_message_stays_untranslated():
    catalog = 'msgid "OK"\nmsgstr ""\n\nmsgid "cats"\nmsgstr ""\n'
    found, _ = translated("po", catalog.encode(), {"OK": "OK", "cats": "gatos"}.get)
    assert found.content.decode().endswith(catalog.removesuffix('""\n') + '"gatos"\n')


def test_a_sentence_of_many_lines_takes_little_time():
    content = b"a word\n" * 5000
    began = time.monotonic()
    found, _ = translated("txt", content, shouted)
    assert found.content == content.upper()
    assert time.monotonic() - began < 10  # it was minutes; it is a fifth of a second


def test_a_full_stop_after_a_url_ends_the_sentence():
    _, seen = translated("txt", b"See https://x.org/a.b. Then (www.x.org) go home.\n", shouted)
    assert seen == ["See", "Then (", "go home."]
