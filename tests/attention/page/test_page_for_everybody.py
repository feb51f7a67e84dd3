"""The page in Chromium by keyboard, by axe-core, on narrow screens, and with hostile texts."""

import pytest
from page_actions import axe_script, changed, words

pytest_plugins = ["browser"]


def test_every_control_is_reachable_by_keyboard(open_page):
    page = open_page("transformer")
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => {
                    const { id, name, className, tagName } = document.activeElement;
                    return id || name || className || tagName;
                }"""
            )
        )
        if seen[-1] == "BODY":  # from where it begins again
            break
    for name in ["link", "theme", "search", "sort", "after", "kind", "layer", "head", "unit"]:
        assert name in seen
    assert sum(name.startswith("word") for name in seen) == 2, seen
    page.locator("input[name=kind]:checked").focus()
    changed(page, lambda: page.keyboard.press("ArrowRight"))
    assert "encoder self-attention" in page.locator(".map-title").inner_text()
    page.locator("#head").focus()
    changed(page, lambda: page.keyboard.type("3"))
    assert "head 3 of 4" in page.locator(".map-title").inner_text()
    page.locator("#list button[aria-current]").focus()
    changed(page, lambda: page.keyboard.press("ArrowDown"))
    assert page.locator("#position").inner_text() == "2 of 3"


def test_hostile_texts_are_escaped(open_page):
    page = open_page("two", "sentence=2")
    assert page.title() == "two"
    source = words(page, "key").all_inner_texts()
    assert source[:3] == ["<script>document.title='broken'</script>", "</script>", "<!--"]
    assert len(words(page, "key").nth(4).text_content()) == 5000
    assert page.locator("h2").first.text_content() == "A <b>"
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    assert page.locator("main img, main script, main b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.few_cases(3)
def test_nothing_is_wider_than_the_window(open_page, width, scheme):
    for fragment in (
        "sentence=2",
        "sentence=3&graphic=lines&pieces=yes",
        "kind=decoder",
        "sentence=4",
    ):
        page = open_page(
            "two", fragment, viewport={"width": width, "height": 844}, color_scheme=scheme
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width, fragment


def test_a_button_switches_the_theme(open_page):
    page = open_page("rnn", color_scheme="light")
    background = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(background)
    page.locator("#theme").click()
    assert page.evaluate(background) != light
    page.locator("#theme").click()
    assert page.evaluate(background) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("transformer", ""),
        ("two", "graphic=lines&word=1q1"),
        ("decoder_only", "kind=stack"),
        ("explained", "tab=explain"),
    ],
)
@pytest.mark.few_cases(4)
def test_axe_finds_no_violations(open_page, name, fragment, scheme):
    script = axe_script()
    page = open_page(name, fragment, color_scheme=scheme, bypass_csp=True)
    page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
    page.wait_for_timeout(200)
    page.evaluate(script)
    found = page.evaluate("async () => (await axe.run()).violations")
    problems = [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]
    assert problems == []
