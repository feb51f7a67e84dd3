"""Links from pages to code, as the site shows them."""

from pathlib import Path

import site_hooks

COURSE = site_hooks.ROOT / "docs/course"
TEXT = (
    "[a](../../seq2seq_cli/models/reference.py), [b](language.py), [c](missing.py), "
    "[d](https://x.org/e.py), [f](index.md)"
)


def test_linked_files_of_python_are_found():
    assert site_hooks.linked_files(TEXT, COURSE) == [
        Path("seq2seq_cli/models/reference.py"),
        Path("docs/course/language.py"),
    ]


def test_links_to_code_lead_to_pages_and_others_stay():
    assert site_hooks.with_links_to_pages(TEXT, COURSE) == (
        "[a](../code/seq2seq_cli/models/reference.md), [b](../code/docs/course/language.md), "
        "[c](missing.py), [d](https://x.org/e.py), [f](index.md)"
    )


def test_a_page_of_code_has_all_of_it():
    path = Path("seq2seq_cli/models/reference.py")
    code = (site_hooks.ROOT / path).read_text("utf-8")
    assert f"\n{code}~~~~~\n" in site_hooks.code_page(path)
