"""The page of a comparison, in a browser."""

import pytest
from browser import opened_browser
from opened_pages import accessibility_problems, backgrounds, opened

from seq2seq_cli.evaluation.comparison import compare
from seq2seq_cli.evaluation.pages.comparison import _rows, comparison_page, marked
from seq2seq_cli.evaluation.significance import Resampling
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
ORIGIN = {"command": f"s2s train {HOSTILE}", "minutes": 4.16}


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    sources = ["a", HOSTILE, "c", "d"]
    references = [["uno dos"], [HOSTILE], ["tres"], ["no"]]
    test_set = EvaluationSet(f"small {HOSTILE}", sources, references)
    outputs = [
        SystemOutput(f"A {HOSTILE}", ["uno tres", "x", "tres", "no"]),
        SystemOutput("B", ["uno dos", HOSTILE, "cuatro", "no"], origin=ORIGIN),
    ]
    compared = compare(test_set, outputs, None, Resampling(20, 20))
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(comparison_page(compared, test_set, outputs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as started:
        yield started


@pytest.fixture
def page(browser, page_file):
    with opened(browser, page_file) as page:
        yield page


def test_words_that_differ_are_marked():
    parts = marked("a b c", "a x c d")
    assert [(part.text, part.differs) for part in parts] == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]
    assert marked("", "a") == []


def test_hostile_text_stays_text(page):
    assert page.title() == f"Comparison on small {HOSTILE}"
    assert page.locator("article dd").nth(2).inner_text() == HOSTILE
    assert (
        f"B; trained by s2s train {HOSTILE} in 4.2 minutes" in page.locator("dl").first.inner_text()
    )
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_sentences_are_sorted_and_filtered(page):
    def numbers() -> list[str]:
        return page.locator("article:visible").evaluate_all("all => all.map(a => a.dataset.number)")

    assert numbers() == ["1", "2", "3", "4"]
    page.select_option("#order", "loss")
    assert numbers() == ["3", "4", "1", "2"]
    page.select_option("#order", "gain")
    assert numbers() == ["2", "1", "4", "3"]
    page.check("#differing")
    assert numbers() == ["2", "1", "3"]
    page.fill("#filter", "TRES")
    assert numbers() == ["1", "3"]
    assert page.locator("#count").inner_text() == "2 of 4 sentences"
    page.fill("#filter", "chrf")
    assert numbers() == []
    page.fill("#filter", " ")
    page.uncheck("#differing")
    assert page.locator("#count").inner_text() == "4 of 4 sentences"


def test_gain_and_loss_of_several_systems_are_the_largest():
    test_set = EvaluationSet("small", ["a"], [["uno dos tres"]])
    texts = ["uno dos", "uno", "uno dos tres"]
    outputs = [SystemOutput(text, [text]) for text in texts]
    (row,) = _rows(test_set, outputs)
    assert row["gain"] > 0 > row["loss"]


def test_words_are_marked_beside_each_other(page):
    first = page.locator("article[data-number='1'] .output")
    assert [first.nth(k).locator("mark").inner_text() for k in (0, 1)] == ["tres", "dos"]
    assert "better" in first.nth(1).get_attribute("class")
    assert "worse" in page.locator("article[data-number='3'] .output").nth(1).get_attribute("class")


def test_it_fits_a_phone_in_light_and_dark(page):
    light, dark = backgrounds(page)
    assert light != dark


def test_axe_finds_nothing(browser, page_file):
    assert accessibility_problems(browser, page_file) == []
