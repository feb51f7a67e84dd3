"""Pages in Chromium, driven by Playwright: fixtures."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from page_actions import KINDS
from sample_pages import HOSTILE, LONG, PAIRS, explained_run, run

from seq2seq_cli.attention.page.page import attention_page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Yield a browser; without one the test is skipped, but never in continuous integration."""
    is_in_ci = bool(os.environ.get("CI"))
    if not is_in_ci:
        pytest.importorskip("playwright", reason="it comes with the extra `test`")
        if not executable():
            pytest.skip("there is no Chromium; install it, or name it by CHROMIUM=PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Without a sandbox it runs in a container, too. It opens only the tests' own pages.
        browser = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")  # no event loop may run in the tests of other modules
def browser():
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A page for each architecture, one of two runs with hostile texts, and two more."""
    folder = tmp_path_factory.mktemp("pages")
    runs = {kind: [run(kind, kind, PAIRS)] for kind in KINDS}
    hostile = [PAIRS[0], HOSTILE, LONG, ("", "")]
    runs["two"] = [run("A <b>", "rnn", hostile, 1), run("B", "transformer", hostile, 2)]
    runs["explained"] = [explained_run("one <i>", PAIRS)]
    runs["hebrew"] = [run("one", "rnn", [("שלום עולם", "Hola mundo")])]
    runs["tagged"] = [run("one", "rnn", [("<2es> שלום עולם", "Hola mundo")])]
    runs["single"] = [run("one", "rnn", PAIRS[:1])]
    paths = {}
    for name, read in runs.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(attention_page(read, name), "utf-8")
    return paths


@pytest.fixture
def open_page(browser, pages):
    """Return a function that opens a page and fails at the end if a script failed."""
    opened, errors = [], []

    def open_one(name: str | Path, fragment: str = "", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.on("dialog", lambda dialog: errors.append("a dialog"))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:")) else errors.append(request.url)
            ),
        )
        path = pages[name] if isinstance(name, str) else name
        page.goto(f"{path.as_uri()}#{fragment}")
        page.wait_for_selector("body[data-shown]")
        opened.append(context)
        return page

    yield open_one
    for context in opened:
        context.close()
    assert errors == []
