"""The diagrams of the pages in docs/, as a browser draws them."""

import os
from pathlib import Path

import pytest
from browser import opened_browser
from test_docs import blocks

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def mermaid() -> str:
    """The library that GitHub and the site use; `npm install --no-save` puts it into the folder."""
    path = ROOT / "node_modules/mermaid/dist/mermaid.min.js"
    if not path.is_file() and not os.environ.get("CI"):
        pytest.skip("there is no Mermaid; run: npm install --no-save")
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def page(mermaid):
    with opened_browser() as browser:
        page = browser.new_page()
        page.set_content("<body></body>")
        page.add_script_tag(content=mermaid)
        yield page


@pytest.mark.parametrize(("name", "text"), blocks("mermaid"))
def test_a_diagram_is_drawn_with_all_its_lines(page, name, text):
    svg = page.evaluate("async text => (await mermaid.render('drawn', text)).svg", text)
    arrows = text.count("-->") if "flowchart" in text else 0  # a chart has ranges
    assert svg.count("marker-end=") == arrows
