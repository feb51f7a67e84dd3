"""What several test files do with a page in a browser."""

import os
from pathlib import Path

import pytest

KINDS = ["rnn", "transformer", "decoder_only"]


def axe_script() -> str:
    """Return axe-core, which `npm install --no-save` puts into the repository's folder."""
    path = Path(__file__).parents[3] / "node_modules/axe-core/axe.min.js"
    if not path.is_file() and not os.environ.get("CI"):
        pytest.skip("there is no axe-core; run: npm install --no-save")
    return path.read_text("utf-8")


def changed(page, action) -> None:
    """Do something and wait until the page shows what follows."""
    before = page.evaluate("document.body.dataset.shown")
    action()
    page.wait_for_function("before => document.body.dataset.shown !== before", arg=before)


def words(page, side: str, panel: int = 0):
    return page.locator(".panel").nth(panel).locator(f".strip.{side} button")
