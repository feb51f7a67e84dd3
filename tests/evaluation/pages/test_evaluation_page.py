"""The page of an evaluation, in a browser."""

from collections import Counter

import numpy as np
import pytest
from browser import opened_browser
from opened_pages import accessibility_problems, backgrounds, opened

from seq2seq_cli.evaluation.analysis import find_details, score_output
from seq2seq_cli.evaluation.calibration import calibrate
from seq2seq_cli.evaluation.metrics import Bootstrap
from seq2seq_cli.evaluation.pages.evaluation import evaluation_page
from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
OF = EvaluationSet(HOSTILE, ["a", HOSTILE], [["uno dos"], [HOSTILE]])


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    system = SystemOutput(f"mine {HOSTILE}", ["uno tres", HOSTILE], [True, False])
    calibration = calibrate(np.array([0.95, 0.55]), np.array([True, False]))
    details = find_details(OF, system, Counter(a=3), calibration)
    scored = score_output(OF, system, Bootstrap(10), details)
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(evaluation_page(OF, [scored]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def page(browser, page_file):
    with opened(browser, page_file) as page:
        yield page


def test_scores_groups_calibration_and_sentences_are_shown(page):
    text = page.locator("main").inner_text()
    for part in ("(μ = ", "0-3 words", "seen 1-9 times", "from 90 %", "50.0 %", "error 0.300"):
        assert part in text
    assert page.locator("article").count() == 2
    assert page.locator("article").first.locator("mark").inner_text() == "tres"


def test_hostile_text_stays_text(page):
    assert page.title() == f"Scores on {HOSTILE}"
    assert page.locator("img").count() == 0


def test_it_fits_a_phone_in_light_and_dark(page):
    light, dark = backgrounds(page)
    assert light != dark


def test_axe_finds_nothing(browser, page_file):
    assert accessibility_problems(browser, page_file) == []
