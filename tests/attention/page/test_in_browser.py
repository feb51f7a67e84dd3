"""The page in Chromium: its numbers, what lights up, its links, its explanations."""

import itertools

import numpy as np
import pytest
from page_actions import KINDS, changed, words
from sample_pages import PAIRS, run

from seq2seq_cli.attention.page.page import attention_page

pytest_plugins = ["browser"]
PROBABLE = "probability"


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_shows_the_numbers_of_python(open_page, kind):
    page = open_page(kind)
    attention = run(kind, kind, PAIRS).attentions[1]
    for which in attention.kinds:
        layers, heads = attention.shape(which)
        for layer, head, pieces in itertools.product(
            range(1, layers + 1), ["mean", "max", *range(1, heads + 1)], [False, True]
        ):
            view = page.evaluate(
                """async (choice) => {
                    const [view] = await attentionOf(1, choice);
                    return { ...view, weights: Array.from(view.weights) };
                }""",
                {"kind": which, "layer": layer, "head": head, "pieces": pieces},
            )
            expected = attention.view(which, layer, head, pieces)
            assert (view["queries"], view["keys"]) == (expected.queries, expected.keys)
            assert view["title"] == expected.title
            np.testing.assert_allclose(view["weights"], expected.weights.ravel(), atol=1e-6)
    probabilities = page.evaluate(
        """async () => (await attentionOf(
            1, { kind: "cross", layer: 0, head: "mean", pieces: false }))[0].probabilities"""
    )
    np.testing.assert_allclose(probabilities, attention.probabilities, atol=1e-9)


@pytest.mark.parametrize(("side", "other"), [("query", "key"), ("key", "query")])
@pytest.mark.parametrize("way", ["pointer", "keyboard"])
def test_hovering_over_a_word_highlights_the_other_side_by_weight(open_page, side, other, way):
    page = open_page("transformer")
    view = run("x", "transformer", PAIRS).attentions[0].view()
    weights = view.weights[1] if side == "query" else view.weights[:, 1]
    if way == "pointer":
        words(page, side).nth(1).hover()
    else:
        words(page, side).nth(0).focus()
        page.keyboard.press("ArrowRight")
    lit = words(page, other).evaluate_all("all => all.map((word) => word.dataset.weight)")
    for text, weight in zip(lit, weights, strict=True):
        assert text == (f"{100 * weight:.0f}\u202f%" if weight >= 0.01 else "")
    best = words(page, other).nth(int(weights.argmax()))
    assert best.evaluate("word => word.style.backgroundColor") != ""
    detail = page.locator(".detail").inner_text()
    assert f"{100 * weights.max():.0f}\u202f%" in detail
    assert ("looked at" in detail) == (side == "query" or "was looked at" in detail)
    assert (PROBABLE in detail) == (side == "query")
    page.mouse.move(2, 2)
    page.keyboard.press("Tab")
    page.evaluate("document.activeElement.blur()")
    assert set(words(page, other).evaluate_all("all => all.map((w) => w.dataset.weight)")) == {""}


def test_a_word_stays_highlighted_when_the_window_changes(open_page):
    page = open_page("transformer")
    words(page, "query").nth(0).focus()
    weights = "all => all.map((word) => word.dataset.weight)"
    before = words(page, "key").evaluate_all(weights)
    assert any(before)
    page.set_viewport_size({"width": 900, "height": 700})
    page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
    assert words(page, "key").evaluate_all(weights) == before


def test_enter_selects_a_word_and_escape_deselects_it(open_page):
    page = open_page("rnn")
    words(page, "query").nth(1).press("Enter")
    assert page.url.endswith("#word=0q1")
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    assert words(page, "query").nth(1).get_attribute("aria-pressed") == "true"
    assert "looked at" in page.locator(".detail").inner_text()
    page.keyboard.press("Escape")
    assert "#" not in page.url
    page.wait_for_selector(".detail.idle")
    words(page, "query").nth(1).click()
    words(page, "query").nth(1).click()
    assert "#" not in page.url


def test_a_link_opens_the_same_view(open_page):
    page = open_page("transformer")
    changed(page, lambda: page.get_by_role("radio", name="Decoder").check(force=True))
    changed(page, lambda: page.locator("#layer").select_option("1"))
    changed(page, lambda: page.locator("#head").select_option("max"))
    changed(page, lambda: page.get_by_role("radio", name="Pieces").check(force=True))
    changed(page, lambda: page.get_by_role("radio", name="Lines").check(force=True))
    changed(page, lambda: page.locator("#after").click())
    changed(page, lambda: page.locator("#sort").select_option("least"))
    words(page, "key").nth(2).click()
    fragment = page.url.partition("#")[2]
    assert fragment == (
        "sentence=2&kind=decoder&layer=1&head=max&pieces=yes&graphic=lines&sort=least&word=0k2"
    )
    other = open_page("transformer", fragment)
    assert other.url.partition("#")[2] == fragment
    assert other.locator(".map-title").inner_text() == (
        "decoder self-attention, layer 1 of 2, maximum of 4 heads"
    )
    assert other.locator("#position").inner_text() == "2 of 3"
    assert words(other, "key").nth(2).get_attribute("aria-pressed") == "true"
    assert other.locator("#sort").input_value() == "least"


@pytest.mark.parametrize(
    "fragment", ["sentence=99&kind=x&layer=-1&head=9&word=9q99&sort=1", "%%%", "sentence=<b>"]
)
def test_a_broken_link_shows_the_default_view(open_page, fragment):
    page = open_page("transformer", fragment)
    assert page.locator(".word").count() > 4


def test_the_address_is_written_later_if_the_browser_refuses(open_page):
    page = open_page("rnn")
    page.evaluate(
        """() => {
            const replace = history.replaceState.bind(history);
            let refused = 3;
            history.replaceState = (...given) => {
                if (refused-- > 0) throw new DOMException("too many calls", "SecurityError");
                replace(...given);
            };
        }"""
    )
    changed(page, lambda: page.locator("#after").click())
    changed(page, lambda: page.locator("#after").click())
    assert page.locator("#position").inner_text() == "3 of 3"
    assert "sentence" not in page.url
    page.wait_for_url("**#sentence=3", timeout=10_000)


@pytest.mark.parametrize("graphic", ["matrix", "lines"])
def test_the_drawing_is_visible_and_reacts_to_the_pointer(open_page, graphic):
    page = open_page("rnn", f"graphic={graphic}")
    box = page.locator(".graphic canvas").bounding_box()
    colours = page.evaluate(
        """() => {
            const canvas = document.querySelector(".graphic canvas");
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    assert colours > 20
    x, y = (box["width"] * 0.45, box["height"] * 0.5) if graphic == "matrix" else (60, 60)
    page.mouse.move(box["x"] + x, box["y"] + y)
    assert "idle" not in page.locator(".detail").get_attribute("class")
    page.mouse.move(2, 2)
    assert "idle" in page.locator(".detail").get_attribute("class")


def test_a_drawing_is_drawn_again_only_for_another_word(open_page):
    page = open_page("rnn")
    page.evaluate(
        """() => {
            window.draws = 0;
            const { clearRect } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.clearRect = function (...given) {
                window.draws += 1;
                clearRect.apply(this, given);
            };
        }"""
    )
    box = words(page, "query").nth(1).bounding_box()
    canvas = page.locator(".graphic canvas").bounding_box()
    x, y = canvas["x"] + canvas["width"] * 0.45, canvas["y"] + canvas["height"] * 0.5
    page.mouse.move(x, y)
    first = page.evaluate("window.draws")
    assert first > 0
    page.mouse.move(x + 1, y + 1)
    page.mouse.move(x, y)
    assert page.evaluate("window.draws") == first
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    assert page.evaluate("window.draws") > first


def test_a_thumbnail_selects_its_layer_and_head(open_page):
    page = open_page("transformer")
    page.locator("details.all-heads summary").click()
    page.wait_for_function("() => document.querySelectorAll('.heads button').length === 8")
    view = run("x", "transformer", PAIRS).attentions[0].view("cross", 1, 2, False)
    darkness = page.get_by_label("layer 1, head 2").evaluate(
        """({ firstChild: { width, height }, firstChild }) => {
            const { data } = firstChild.getContext("2d").getImageData(0, 0, width, height);
            const all = Array.from({ length: width * height }, (_, i) => -data[4 * i]);
            return data.every((part, i) => i % 4 !== 3 || part === 255) ? all : null;
        }"""
    )
    assert (np.argmax(darkness), len(darkness)) == (view.weights.argmax(), view.weights.size)
    changed(page, lambda: page.get_by_label("layer 1, head 2").click())
    assert page.locator(".map-title").inner_text() == "cross-attention, layer 1 of 2, head 2 of 4"
    assert page.url.endswith("#layer=1&head=2")


def test_sentences_can_be_searched_and_sorted(open_page):
    page = open_page("rnn")
    texts = page.locator("#list .one-line:first-child")
    assert texts.all_text_contents() == [source for source, _ in PAIRS]
    page.locator("#search").fill("MANZANAS")
    page.wait_for_function("() => document.querySelectorAll('#list li').length === 1")
    assert texts.all_text_contents() == [PAIRS[1][0]]
    assert page.locator("#count").inner_text() == "1 of 3"
    page.locator("#search").fill("")
    page.wait_for_function("() => document.querySelectorAll('#list li').length === 3")
    confidences = [each.confidence for each in run("rnn", "rnn", PAIRS).attentions]
    for order, sign in (("least", 1), ("most", -1)):
        page.locator("#sort").select_option(order)
        expected = [PAIRS[i][0] for i in np.argsort(sign * np.array(confidences))]
        page.wait_for_function(
            """(expected) => [...document.querySelectorAll("#list .one-line:first-child")]
                .every((each, i) => each.innerText === expected[i])""",
            arg=expected,
        )


def test_selecting_a_sentence_does_not_change_the_list(open_page):
    page = open_page("rnn", "sort=longest")
    page.evaluate(
        """() => {
            window.changes = 0;
            const observer = new MutationObserver((found) => { window.changes += found.length; });
            observer.observe(document.getElementById("list"), { childList: true });
        }"""
    )
    changed(page, lambda: page.evaluate("location.hash = 'sentence=3&sort=longest'"))
    assert page.locator("#list [aria-current]").inner_text().startswith(PAIRS[2][0])
    assert page.locator("#list button[tabindex='0']").count() == 1
    assert page.evaluate("window.changes") == 0
    changed(page, lambda: page.evaluate("location.hash = 'sentence=3&sort=least'"))
    page.wait_for_function("window.changes > 0")


def test_a_sentence_is_shown_if_the_list_changes_while_it_is_unpacked(open_page):
    page = open_page("transformer")
    page.evaluate(
        """() => {
            document.getElementById("after").click();
            const sort = document.getElementById("sort");
            sort.value = "longest";
            sort.dispatchEvent(new Event("change"));
        }"""
    )
    page.wait_for_function(
        "() => document.getElementById('position').textContent === '2 of 3'", timeout=5000
    )
    assert words(page, "key").first.inner_text() == "I"


def test_two_runs_are_shown_side_by_side(open_page):
    page = open_page("two", "kind=encoder")
    boxes = [panel.bounding_box() for panel in page.locator(".panel").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert page.locator(".note:visible").all_inner_texts() == [
        "This model has no such attention. Its cross-attention is shown."
    ]
    assert page.locator(".map-title").all_inner_texts() == [
        "cross-attention",
        "encoder self-attention, layer 2 of 2, mean of 4 heads",
    ]
    assert page.locator("#sort option").all_inner_texts()[-1] == "runs furthest apart"


def test_the_list_shows_the_translation_of_the_least_sure_run(open_page, tmp_path):
    source = PAIRS[0][0]
    runs = [
        run(name, "rnn", [(source, f"Texto de {name}")], seed) for seed, name in enumerate("AB")
    ]
    path = tmp_path / "page.html"
    for order in (runs, runs[::-1]):
        path.write_text(attention_page(order, "two"), "utf-8")
        page = open_page(path)
        least = min((run.attentions[0] for run in runs), key=lambda each: each.confidence)
        item = page.locator("#list button")
        assert item.locator(".muted").text_content() == least.translation
        assert item.locator(".confidence").text_content() == f"{100 * least.confidence:.0f}\u202f%"


def test_the_explanation_is_a_tab(open_page):
    page = open_page("explained")
    assert not page.locator(".explained").first.is_visible()
    changed(page, lambda: page.get_by_role("radio", name="Explanation").check(force=True))
    assert page.url.endswith("#tab=explain")
    assert not page.locator(".words").first.is_visible()
    rows = page.locator(".explained tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["No", "inyectaré", "desinfectante.", "</s>"]
    assert "▁<b>" in rows[0]
    tree = page.locator(".tree > li")
    assert tree.count() == 3
    assert tree.nth(0).locator("> div").inner_text() == "1 ▁No -2.00 ▁b -5.00 </s> -3.00 finished"
    assert tree.nth(0).locator("li").all_inner_texts() == ["2 ▁a -4.00"]
    assert page.locator(".hypothesis.dropped").all_text_contents() == ["▁<i> -3.00 dropped"]
    assert page.locator(".hypothesis.finished").count() == 1
    assert page.locator("mark").all_inner_texts() == ["inject", "medicine!"]
    news = page.locator(".explained").last.locator("p").all_inner_texts()
    assert news == [
        "Not in 10 of the 20 training sources: <u>.",
        "Not together in 10 of the 20 training sources: inject + disinfectant.",
    ]
    changed(page, lambda: page.locator("#after").click())
    assert page.locator(".explained tbody tr").first.inner_text().startswith("Me")
    changed(page, lambda: page.get_by_role("radio", name="Attention", exact=True).check(force=True))
    assert page.locator(".words").first.is_visible()


def test_a_page_without_explanations_has_no_tab_for_them(open_page):
    page = open_page("rnn", "tab=explain")
    assert not page.locator("#tabs").is_visible()
    assert page.locator(".words").first.is_visible()


def test_a_page_with_one_sentence_has_no_list(open_page):
    page = open_page("single")
    assert not page.locator("#list").is_visible()
    assert not page.locator("#after").is_visible()
