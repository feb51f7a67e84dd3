"""Pages in a browser, at a phone's width, without a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from page_actions import axe_script

WIDTH = 360


@contextmanager
def opened(browser: Any, path: Path) -> Iterator[Any]:
    """Open a page; messages of the console, errors and requests of other files are failures."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 800}, offline=True)
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: messages.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert messages == [path.as_uri()]
    context.close()


def backgrounds(page: Any) -> list[str]:
    """Return the page's background in light and in dark, after a look at its width in each."""
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    return colours


def accessibility_problems(browser: Any, path: Path, ready: str = "body") -> list:
    """Return the rules of axe-core that a page breaks, in light and in dark, with their elements.

    Args:
        browser: that opens the page.
        path: the page.
        ready: a selector of what is there when the page is complete.
    """
    script, problems = axe_script(), []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector(ready)
        page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
        page.evaluate(script)
        for rule in page.evaluate("async () => (await axe.run()).violations"):
            problems.append((scheme, rule["id"], [node["html"][:120] for node in rule["nodes"]]))
        context.close()
    return problems
