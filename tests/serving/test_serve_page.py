"""The page of the server in Chromium."""

from dataclasses import replace

import pytest
from page_actions import axe_script, changed
from scripted_server import ScriptedEngine, running

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.serving.limits import Limits
from seq2seq_cli.serving.work import Direction

pytest_plugins = ["browser"]


@pytest.fixture(scope="module")
def shared():
    with running() as server:
        yield server


@pytest.fixture
def open_server(browser):
    """Return a function that opens a server's page and fails at the end if a script failed."""
    opened, errors = [], []

    def open_one(server, fragment="", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((server.url, "data:"))
                else errors.append(request.url)
            ),
        )
        page.goto(f"{server.url}/#{fragment}")
        page.wait_for_selector("body[data-loaded]")
        opened.append(context)
        return page

    yield open_one
    for context in opened:
        context.close()
    assert errors == []


def typed(page, text):
    changed(page, lambda: page.locator("#text").fill(text))


def words(page, side, line=0):
    return page.locator(".line").nth(line).locator(f".strip.{side} button")


def test_the_page_translates_while_the_user_types(shared, open_server):
    page = open_server(shared)
    typed(page, "a bc\nd")
    assert words(page, "query").all_inner_texts() == ["A", "BC", "</s>"]
    assert words(page, "query", 1).all_inner_texts() == ["D", "</s>"]
    typed(page, "")
    assert page.locator(".line").count() == 0


def test_screen_readers_announce_the_translation(shared, open_server):
    page = open_server(shared)
    typed(page, "a bc\nd")
    announced = page.locator("#announced")
    assert announced.get_attribute("role") == "status"
    assert announced.text_content() == "A BC\nD"
    words(page, "query").nth(1).click()
    changed(page, lambda: page.locator("#alternatives button").first.click())
    assert announced.text_content() == "A otra"
    assert page.locator(".detail[role=status]").count() == 2
    typed(page, "")
    assert announced.text_content() == ""


def test_a_translation_stays_if_its_text_cannot_be_translated_again(open_server):
    with running() as server:
        page = open_server(server)
        typed(page, "a")
        server.service.limits = replace(server.service.limits, hypotheses=1)
        page.locator("#beam").select_option("5")
        page.wait_for_function("() => document.getElementById('said').textContent")
        assert words(page, "query").first.inner_text() == "A"
        assert page.locator("#results.old").count() == 0


def test_a_refused_text_does_not_keep_the_translation_of_another(open_server):
    with running(limits=Limits(characters=20)) as server:
        page = open_server(server)
        typed(page, "a")
        typed(page, "a" * 21)
        assert page.locator(".line").count() == 0
        assert "20" in page.locator("#said").inner_text()
        changed(page, lambda: page.locator("#swap").click())
        assert page.locator("#text").input_value() == "a" * 21


def test_the_page_translates_the_text_of_its_address(shared, open_server):
    page = open_server(shared, "a & b+c")
    assert page.locator("#text").input_value() == "a & b+c"
    assert open_server(shared, "5%").locator("#text").input_value() == "5%"


def test_beams_above_the_limit_cannot_be_chosen(open_server):
    with running(limits=Limits(hypotheses=5)) as server:
        page = open_server(server)
        found = page.locator("#beam option:not([disabled])").all_inner_texts()
    assert found == ["1", "2", "4", "5"]


def test_a_run_with_a_beam_above_the_limit_uses_the_largest_allowed_one(open_server):
    engine = ScriptedEngine()
    engine.runs = [run._replace(decoding=DecodingConfig(beam=8)) for run in engine.runs]
    with running(engine, limits=Limits(hypotheses=5)) as server:
        page = open_server(server, "a")
        page.wait_for_selector(".line")
        assert page.locator("#beam option:checked").inner_text() == "5"


def test_the_page_begins_with_the_search_of_the_run(open_server):
    engine = ScriptedEngine()
    sampling = DecodingConfig(sample=True, temperature=0.7, n_best=3)
    engine.runs = [run._replace(decoding=sampling) for run in engine.runs]
    with running(engine) as server:
        page = open_server(server, "a")
        page.wait_for_selector(".line")
        assert page.locator("#sample").is_checked()
        changed(page, lambda: page.locator("#sample").uncheck())
        page.wait_for_selector(".line")
        used = [work.decoding for work, _ in engine.batches if work.kind == "translate"]
    assert used[0].model_copy(update={"seed": 0}) == DecodingConfig(sample=True, temperature=0.7)
    assert used[-1] == DecodingConfig()


def test_hovering_over_a_word_highlights_what_it_attends_to(shared, open_server):
    page = open_server(shared, "a bc")
    page.wait_for_selector(".line")
    words(page, "query").nth(1).hover()
    weights = words(page, "key").evaluate_all("all => all.map((each) => each.dataset.weight)")
    assert weights[1] == max(weights, key=lambda each: int(each.split("\u202f")[0]))
    assert "looked at “\u2068bc\u2069”" in page.locator(".detail").inner_text()


def test_an_alternative_continues_from_its_word(shared, open_server):
    page = open_server(shared, "a bc d")
    page.wait_for_selector(".line")
    words(page, "query").nth(1).click()
    choices = page.locator("#alternatives button")
    assert choices.all_inner_texts()[0].startswith("otra…")
    changed(page, lambda: choices.first.click())
    assert words(page, "query").all_inner_texts() == ["A", "otra", "D", "</s>"]
    work = [work for work, _ in shared.engine.batches if work.kind == "translate"][-1]
    assert work.prefix == "A otra"


def test_alternatives_are_not_offered_while_another_text_is_translated(open_server):
    engine = ScriptedEngine()
    with running(engine) as server:
        page = open_server(server)
        typed(page, "a bc")
        engine.free.clear()
        page.locator("#text").fill("d ef")
        page.wait_for_selector("#results.old")
        words(page, "query").first.click()
        assert not page.locator("#alternatives").is_visible()
        engine.free.set()
        page.wait_for_function("() => document.querySelector('.line')?.innerText.includes('EF')")


def test_another_text_after_the_number_sign_is_translated(shared, open_server):
    page = open_server(shared, "a")
    page.wait_for_selector(".line")
    changed(page, lambda: page.evaluate("location.hash = 'b c'"))
    assert page.locator("#text").input_value() == "b c"
    assert words(page, "query").all_inner_texts() == ["B", "C", "</s>"]


def test_alternatives_are_reachable_by_keyboard(shared, open_server):
    page = open_server(shared, "a bc")
    page.wait_for_selector(".line")
    words(page, "query").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#alternatives").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#alternatives").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "BC"
    page.keyboard.press("Enter")
    changed(page, lambda: page.keyboard.press("Enter"))
    assert words(page, "query").all_inner_texts()[:2] == ["A", "otra"]
    assert page.evaluate("document.activeElement.textContent") == "otra"
    page.keyboard.press("Enter")
    assert page.locator("#alternatives").is_visible()


def test_a_word_without_alternatives_can_be_left_by_keyboard(open_server):
    class Sure(ScriptedEngine):
        def _attention(self, work, pair):
            return replace(super()._attention(work, pair), runners_up=())

    with running(Sure()) as server:
        page = open_server(server, "a bc")
        page.wait_for_selector(".line")
        words(page, "query").first.press("Enter")
        assert page.locator("#alternatives").evaluate("box => box === document.activeElement")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.textContent") == "A"


def test_words_say_what_they_open(shared, open_server):
    page = open_server(shared, "a bc")
    page.wait_for_selector(".line")
    words(page, "query").first.hover()
    for side, opens in (("query", "dialog"), ("key", None)):
        word = words(page, side).first
        assert word.get_attribute("aria-haspopup") == opens
        assert word.get_attribute("aria-pressed") is None


def test_the_controls_set_the_options_of_the_search(shared, open_server):
    page = open_server(shared, "a")
    page.wait_for_selector(".line")
    changed(page, lambda: page.locator("#beam").select_option("5"))
    found = [work for work, _ in shared.engine.batches if work.kind == "translate"]
    assert found[-1].decoding.beam == 5
    changed(page, lambda: page.locator("#sample").check())
    changed(page, lambda: page.locator("#again").click())
    found = [work for work, _ in shared.engine.batches if work.kind == "translate"]
    assert found[-1].decoding.sample
    assert found[-1].decoding.seed == 1


def test_a_button_swaps_the_direction(shared, open_server):
    page = open_server(shared, "a")
    page.wait_for_selector(".line")
    changed(page, lambda: page.locator("#swap").click())
    assert page.locator("#text").input_value() == "A"
    found = [work for work, _ in shared.engine.batches if work.kind == "translate"]
    assert found[-1].run == "002-b"


def test_a_text_that_is_not_translated_yet_is_kept_when_the_direction_is_swapped(open_server):
    engine = ScriptedEngine()
    with running(engine) as server:
        page = open_server(server)
        typed(page, "a")
        engine.free.clear()
        page.locator("#text").fill("a new text")
        page.locator("#swap").click()
        assert page.locator("#text").input_value() == "a new text"
        engine.free.set()
        page.wait_for_function("() => document.querySelector('.line')?.innerText.includes('NEW')")


def test_the_direction_is_swapped_within_a_model(open_server):
    both = (Direction("en", "es"), Direction("es", "en"))
    engine = ScriptedEngine()
    engine.runs = [run._replace(directions=both) for run in engine.runs]
    with running(engine) as server:
        page = open_server(server, "a")
        page.wait_for_selector(".line")
        changed(page, lambda: page.locator("#direction").select_option(label="en → es (002-b)"))
        changed(page, lambda: page.locator("#swap").click())
        assert page.locator("#direction option:checked").inner_text() == "es → en (002-b)"


def test_a_button_copies_the_translation(shared, open_server):
    page = open_server(shared, "a b", permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector(".line")
    page.locator("#copy").click()
    page.wait_for_function("() => document.getElementById('said').textContent === 'Copied.'")
    assert page.evaluate("navigator.clipboard.readText()") == "A B"


def test_a_key_is_asked_for(open_server):
    with running(keys=("key",)) as server:
        page = open_server(server)
        assert page.locator("#key").is_visible()
        page.locator("#key").fill("key")
        page.locator("#key").press("Enter")
        page.wait_for_function("() => document.querySelectorAll('#direction option').length > 0")
        typed(page, "a")
        assert words(page, "query").first.inner_text() == "A"


def test_hostile_texts_are_escaped(shared, open_server):
    page = open_server(shared)
    typed(page, "<img/src=x/onerror=document.title=1> \u202eabc </bdi> " + "w" * 3000)
    assert page.locator("main img").count() == 0
    assert page.title() == "Translate"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(shared, open_server, scheme, width):
    script = axe_script()
    view = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    page = open_server(shared, "a bc def\ngh", bypass_csp=True, **view)
    page.wait_for_selector(".line")
    words(page, "query").nth(1).click()
    page.wait_for_timeout(200)
    page.evaluate(script)
    found = page.evaluate("async () => (await axe.run()).violations")
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
