"""`s2s translate` with documents."""

import os
import sys
import threading

import pytest
from conftest import s2s

from seq2seq_cli.decoding.translator import Translator

pytestmark = pytest.mark.usefixtures("uncompiled")
PAGE = b"<p title='keep'>I see <b>one</b> cats.</p><pre>we eat</pre>\n"


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "in.html"
    path.write_bytes(PAGE)
    return path


def test_a_page_is_translated_and_keeps_its_tags(home, page):
    out = page.with_name("out.html")
    code, printed, error = s2s("translate", "--input", str(page), "--output", str(out))
    assert (code, printed) == (0, "")
    assert "1 line (1) with a tag or a placeholder inside a sentence" in " ".join(error.split())
    text = out.read_text("utf-8")
    assert text.startswith("<p title='keep'>")
    assert text.endswith("</p><pre>we eat</pre>\n")
    assert text.count("<b>") == 1
    assert text != PAGE.decode()


def test_a_document_from_a_pipe_is_read_once(home, tmp_path):
    pipe, out = tmp_path / "pipe", tmp_path / "out.html"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[PAGE], daemon=True)
    writer.start()
    options = ("--format", "html", "--output", str(out))
    assert s2s("translate", "--input", str(pipe), *options)[0] == 0
    assert out.read_text("utf-8").endswith("</p><pre>we eat</pre>\n")


@pytest.mark.parametrize(
    ("options", "sentences"),
    [
        ((), ["I see one", "cats.", "", "we eat two books."]),
        (("--format", "txt"), ["I see one cats.", "we eat two books."]),
    ],
)
def test_txt_is_translated_line_by_line_unless_it_is_prose(
    home, tmp_path, monkeypatch, options, sentences
):
    translate, seen = Translator.translate, []

    def watched(self, sentences, *arguments, **named):
        seen.extend(sentences)
        return translate(self, sentences, *arguments, **named)

    monkeypatch.setattr(Translator, "translate", watched)
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("I see one\ncats.\n\nwe eat two books.\n")
    code, _, error = s2s("translate", "--input", str(source), "--output", str(out), *options)
    assert (code, error) == (0, "")
    assert seen == sentences
    assert out.read_text("utf-8").endswith("\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "needs --output FILE"),
        (
            ("--output", "out.html", "--scores"),
            "--scores applies only to lines, but --input is html",
        ),
        (("--output", "out.html", "--n-best", "2"), "--n-best applies only to lines"),
    ],
)
def test_options_that_are_not_for_documents_are_errors(page, options, message):
    code, _, error = s2s("translate", "--input", str(page), *options)
    assert code == 2
    assert message in error


def test_a_format_needs_an_input(workdir):
    code, _, error = s2s("translate", "a", "--format", "html")
    assert code == 2
    assert "needs --input FILE" in error


def test_a_malformed_document_writes_nothing(home, page):
    page.write_bytes(b"<p>a</p>\n<script>")
    out = page.with_name("out.html")
    out.write_text("before")
    code, _, error = s2s("translate", "--input", str(page), "--output", str(out))
    assert code == 3
    assert f"{page}:2: <script> has no </script>" in error
    assert out.read_text() == "before"
    assert sorted(path.name for path in page.parent.iterdir()) == ["in.html", "out.html"]


@pytest.mark.parametrize(
    ("ending", "module"),
    [("srt", "srt"), ("po", "polib"), ("docx", "lxml"), ("md", "markdown_it"), ("html", "syntok")],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, ending, module):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"in.{ending}"
    path.write_bytes(b"<p>A cat.</p>\n")
    code, _, error = s2s("translate", "--input", str(path), "--output", str(tmp_path / "out"))
    assert code == 2
    assert "pip install 's2s[documents]'" in error
