"""Write the page; its words and its map are those of the attention page."""

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
"""The files of the page; what is not in this folder is the attention page's."""


def serve_page() -> str:
    """Return the page as HTML. It asks its own server for translations, and nothing else."""
    return PAGE.render("Translate")


def page_headers() -> dict[str, str]:
    """Return the headers of a page; the page itself says what its scripts may do."""
    return {"content-security-policy": "frame-ancestors 'none'; base-uri 'none'"}
