"""The page in Chromium by keyboard, by axe-core, on narrow screens, and with hostile texts."""

import re

import pytest
from page_actions import axe_script, changed, words

from seq2seq_cli.attention.themes import ink_on

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


def test_a_search_keeps_one_sentence_in_the_tab_order(open_page):
    page = open_page("rnn")
    for text, number in (("MANZANAS", 1), ("libros", 1), ("", 3)):
        page.locator("#search").fill(text)
        page.wait_for_function(
            "number => document.querySelectorAll('#list li').length === number", arg=number
        )
        assert page.locator("#list button[tabindex='0']").count() == 1


def test_the_focus_stays_on_a_thumbnail_that_is_chosen(open_page):
    page = open_page("transformer")
    page.locator("details.all-heads summary").press("Enter")
    page.get_by_label("layer 1, head 2").focus()
    changed(page, lambda: page.keyboard.press("Enter"))
    page.wait_for_selector(".heads [aria-pressed=true]")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "layer 1, head 2"


def test_one_word_of_all_runs_is_pinned(open_page):
    page = open_page("two")
    words(page, "query", 0).nth(1).press("Enter")
    words(page, "key", 1).nth(2).press("Enter")
    pinned = page.locator(".word[aria-pressed=true]")
    assert pinned.count() == 1
    page.keyboard.press("ArrowRight")
    assert words(page, "key", 1).nth(2).get_attribute("aria-pressed") == "true"
    assert pinned.count() == 1
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('.word[aria-pressed=true]')")
    page.evaluate("document.activeElement.blur()")
    assert page.locator(".detail.idle").count() == 2


@pytest.mark.parametrize("name", ["hebrew", "tagged"])
def test_words_from_right_to_left_keep_their_order(open_page, name):
    page = open_page(name)
    source, target = words(page, "key"), words(page, "query")
    assert source.nth(0).bounding_box()["x"] > source.nth(1).bounding_box()["x"]
    assert target.nth(0).bounding_box()["x"] < target.nth(1).bounding_box()["x"]
    source.nth(0).focus()
    for key in ("Control+ArrowLeft", "Alt+Home", "ArrowRight"):
        page.keyboard.press(key)
        assert source.nth(0).evaluate("word => word === document.activeElement")
    page.keyboard.press("ArrowLeft")
    assert source.nth(1).evaluate("word => word === document.activeElement")
    assert f"\u2068{source.nth(1).inner_text()}\u2069" in page.locator(".detail").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_readable_on_their_colours(open_page, scheme):
    page = open_page("rnn", color_scheme=scheme)
    seen = set()
    for number in range(words(page, "query").count()):
        words(page, "query").nth(number).hover()
        seen |= set(
            words(page, "key").evaluate_all(
                """all => all.filter((word) => word.style.color)
                    .map(({ style }) => `${style.color} ${style.backgroundColor}`)"""
            )
        )
    assert len(seen) > 5
    for each in seen:
        ink, background = (
            tuple(map(int, colour.split(","))) for colour in re.findall(r"rgb\((.*?)\)", each)
        )
        assert ink == ink_on(background)


def test_highlights_and_choices_are_visible_in_forced_colours(open_page):
    page = open_page("transformer", forced_colors="active")
    background = "each => getComputedStyle(each).backgroundColor"
    chosen = page.locator("input[name=kind]:checked + span").evaluate(background)
    other = page.locator("input[name=kind]:not(:checked) + span").first.evaluate(background)
    assert chosen != other
    border = "each => getComputedStyle(each).borderTopColor"
    current = page.locator("#list button[aria-current]").evaluate(border)
    assert current != page.locator("#list button:not([aria-current])").first.evaluate(border)
    words(page, "query").nth(1).hover()
    page.wait_for_timeout(200)  # the transition of the colour
    lit = words(page, "key").evaluate_all(
        """all => all.filter((word) => word.dataset.weight).map(
            (word) => [word.style.backgroundColor, getComputedStyle(word).backgroundColor])"""
    )
    assert len({wanted for wanted, _ in lit}) > 1
    assert all(seen == wanted for wanted, seen in lit)


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
