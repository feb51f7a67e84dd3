"""Pages of one file: what is written into them, and what may run."""

import base64
import hashlib
import json
import re

import pytest

from seq2seq_cli.attention.page.page import PAGE
from seq2seq_cli.html.single_file import SingleFilePage, as_parsed, joined, script_json

TEMPLATE = """{% extends "page.html.j2" %}
{% block body %}<p>{{ text }}</p>{% endblock %}
"""
HOSTILE = "</script><script>1</script>&"


@pytest.fixture
def folder(tmp_path):
    for name, content in {
        "a.html.j2": TEMPLATE,
        "a.css": "p { color: red; }",
        "low.js": "export const low = 1;",
        "high.js": 'import { low } from "./low.js";\ndocument.title = low;',
    }.items():
        (tmp_path / name).write_text(content, "utf-8")
    return tmp_path


def allowed(page: str) -> list[str]:
    (sources,) = re.findall(r"script-src (.*?);", page)
    return sources.split()


def test_texts_are_escaped_and_data_cannot_close_its_element(folder):
    page = SingleFilePage(folder, "a.html.j2", ["a.css"], ["low.js", "high.js"])
    html = page.render(HOSTILE, {"text": HOSTILE}, text=HOSTILE)
    assert HOSTILE not in html
    assert html.count("<script") == 2
    (data,) = re.findall(r'id="data">(.*?)</script>', html)
    assert json.loads(data) == {"text": HOSTILE}
    assert "<p>&lt;/script&gt;" in html
    assert "p { color: red; }" in html


def test_only_the_scripts_of_the_page_may_run(folder):
    page = SingleFilePage(folder, "a.html.j2", ["a.css"], ["low.js", "high.js"])
    html = page.render("t", library='"</SCRIPT>"\r\n', text="")
    scripts = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", html, re.DOTALL)
    assert scripts[0] == '"<\\/SCRIPT>"\n'
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts]
    assert allowed(html) == [f"'sha256-{each.decode()}'" for each in hashes]
    compiles = SingleFilePage(folder, "a.html.j2", [], ["low.js"], compiles=True)
    assert allowed(compiles.render("t", text=""))[1:] == ["'unsafe-eval'"]


def test_a_page_without_scripts_allows_none(folder):
    html = SingleFilePage(folder, "a.html.j2", ["a.css"]).render("t", text="")
    assert allowed(html) == ["'none'"]
    assert "<script" not in html


def test_json_cannot_close_its_element():
    text = script_json(["</script>", "<!--", "\u2028"])
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == ["</script>", "<!--", "\u2028"]


def test_a_library_cannot_close_its_element():
    assert as_parsed('"</script>" < "</b>"') == r'"<\/script>" < "</b>"'


def test_modules_are_joined_in_the_order_of_their_imports():
    script = joined([PAGE.folder], PAGE.scripts)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    with pytest.raises(ValueError, match=r"main.js imports .*, which does not come before it"):
        joined([PAGE.folder], PAGE.scripts[::-1])
