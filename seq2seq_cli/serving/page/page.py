"""Writes the page. It shares the words and the map with the attention page."""

from pathlib import Path

from seq2seq_cli.attention.page.page import PAGE as ATTENTION_PAGE
from seq2seq_cli.html.single_file import SingleFilePage

PAGE = SingleFilePage(
    Path(__file__).parent,
    "serve.html.j2",
    ("page.css", "panels.css", "serve.css"),
    ("dom.js", "colours.js", "canvas.js", "matrix.js", "words.js", "client.js", "translate.js"),
    borrowed=ATTENTION_PAGE.folder,
    connects=True,
)
"""The files of the page. Those that are not in this folder belong to the attention page."""


def serve_page() -> str:
    """Return the page as HTML. It sends requests only to its own server."""
    return PAGE.render("Translate")


def page_headers() -> dict[str, str]:
    """Return the headers of a page. The page itself contains the policy for its scripts."""
    return {"content-security-policy": "frame-ancestors 'none'; base-uri 'none'"}
