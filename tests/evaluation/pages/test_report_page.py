"""The page of a report, in a browser."""

import dataclasses
import sys

import pytest
from browser import opened_browser
from opened_pages import WIDTH, accessibility_problems, backgrounds, opened
from sample_evolutions import snapshots

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.faults import Faults
from seq2seq_cli.evaluation.metrics import Bootstrap, score_by
from seq2seq_cli.evaluation.pages.charts import curves, library
from seq2seq_cli.evaluation.pages.report import changed_rows, report_page
from seq2seq_cli.evaluation.run_report import AttentionMap, RunReport, SplitScores, gather
from seq2seq_cli.runs.run import Run

pytest.importorskip("vl_convert", reason="it comes with the extra `report`")

HOSTILE = "</script><script>document.title='taken'</script><b>"
START = {
    **{"kind": "start", "step": 0, "corpus": HOSTILE, "pairs": 500, "train_pairs": 400},
    **{"dev_pairs": 50, "test_pairs": 50, "shared_pairs": 0, "dropped": {"empty": 3}},
    **{"vocabulary": "words", "parameters": 12345, "batches_per_epoch": 9, "padding_share": 0.2},
    "computation": {"device": "CPU", "precision": "float32", "shards": 2},
}


def make_report(path, seed: int) -> RunReport:
    overrides = Overrides()
    overrides.set("training.seed", seed, "test")
    run = Run(path)
    run.path.mkdir()
    run.write(load_config(overrides), {})
    run.append_metrics(START)
    for step in range(10, 200, 10):
        figures = {"learning_rate": 0.1, "gradient_norm": 1.0, "pairs_per_second": 9.0}
        figures |= {"loss": 4 / step, "padding_share": 0.2, "seconds": 1.0, "share_done": 1.0}
        run.append_metrics({"kind": "training", "step": step, **figures})
    for step in (100, 200):
        scores = {"dev_loss": 1.0, "dev_bleu": step / 10, "dev_chrf": 9.0, "attention_entropy": 0.5}
        samples = [["a source", "a reference", f"{HOSTILE} {step}"]]
        run.append_metrics({"kind": "validation", "step": step, **scores, "samples": samples})
    for snapshot in snapshots():
        run.attention.write(snapshot)
    run.append_metrics({"kind": "diagnosis", "step": 9, "name": "x", "text": f"bad {HOSTILE}"})
    scores = score_by(["BLEU", "chrF", "chrF++", "TER"], ["a b c"], [["a b c"]], Bootstrap(10))
    maps = [AttentionMap(["a", HOSTILE, "a"], ["x", "x"], [[0.5, 0.25, 0.25], [0.1, 0.9, 0.0]])]
    test = SplitScores("test", "step-1", "greedy", 1, scores, Faults(0.0, 0.0, 0.0, 0.0), maps)
    return gather(run, test)


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> list[RunReport]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        make_report(folder / "one", 1),
        make_report(folder / f"<i>two {'with a long name ' * 3}", 2),
    ]


@pytest.fixture(scope="module")
def page_file(reports, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(report_page(reports), encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    return path


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(browser, page_file):
    with opened(browser, page_file) as page:
        page.wait_for_selector("body[data-drawn=yes]")
        yield page


def test_each_curve_and_map_is_drawn(page, reports):
    number = len(curves(reports))
    assert number == 9
    assert page.locator(".chart svg").count() == number
    assert page.locator("figure svg").count() == 2 + 4
    lines = page.locator("#curve-0 svg .mark-line path")
    assert lines.count() == 2  # of each run


def test_a_curve_shows_its_values_and_can_be_zoomed(page):
    chart = page.locator("#curve-0 svg").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    page.mouse.move(*middle)
    tooltip = page.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    assert "Training loss" in tooltip.inner_text()
    text = "document.querySelector('#curve-0 svg').textContent"
    before = page.evaluate(text)
    scrolled = page.evaluate("window.scrollY")
    page.mouse.wheel(0, 40)  # the wheel alone scrolls the page
    page.wait_for_function("before => window.scrollY != before", arg=scrolled)
    assert page.evaluate(text) == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_function(f"before => {text} != before", arg=before)


def test_a_slider_chooses_the_validation_whose_attention_is_shown(page):
    chart = page.locator("#evolution-0")
    title = chart.locator("svg .role-title-text text")
    cells = "document.querySelectorAll('#evolution-0 .mark-rect path')"
    colours = f"[...{cells}].map((cell) => cell.getAttribute('fill')).join()"
    assert title.text_content() == "update 4,000, dev BLEU 49.2"
    last = page.evaluate(colours)
    chart.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"before => {colours} != before", arg=last)
    assert title.text_content() == "update 1,000, dev BLEU 12.3"
    page.keyboard.press("End")
    page.wait_for_function(f"before => {colours} == before", arg=last)


def test_hostile_text_stays_text(page):
    assert page.title().startswith("Report on ")
    assert page.locator("main script, main b:has(b)").count() == 0
    assert page.locator("article dd", has_text=HOSTILE).count() == 4
    assert page.locator(".problem").first.inner_text().endswith(f"bad {HOSTILE}.")
    assert HOSTILE[:20] in page.locator("#map-0 svg").first.text_content()  # the label is shortened


def test_scores_data_and_differences_are_shown(page):
    assert "100.00 ± 0.00" in page.locator("main").inner_text()
    assert "12,345" in page.locator("table").first.inner_text()
    marked = page.locator("tr", has_text="training.seed").first.locator("mark")
    assert [marked.nth(k).inner_text() for k in (0, 1)] == ["1", "2"]
    assert "s2s train --attention additive --seed 2" in page.locator("main").inner_text()


def test_it_fits_a_phone_and_charts_follow_light_and_dark(page):
    light, dark = backgrounds(page)
    assert light != dark
    page.wait_for_selector("body[data-drawn=yes]")
    fill = "getComputedStyle(document.querySelector('#curve-0 .role-title-text text')).fill"
    in_dark = page.evaluate(fill)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"before => {fill} != before", arg=in_dark)


def test_the_names_of_runs_fit_a_phone(page):
    page.wait_for_selector("body[data-drawn=yes]")
    names = page.locator("#curve-0 svg .role-legend-label text")
    assert names.count() == 2
    box = page.locator("#curve-0 svg .role-legend").bounding_box()
    assert box["x"] + box["width"] <= WIDTH


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UsageError, match=r"pip install 's2s\[report\]'"):
        library.__wrapped__()


def test_keys_that_differ_have_a_row(reports):
    assert changed_rows(reports) == [{"key": "training.seed", "values": [1, 2], "differs": True}]
    assert changed_rows(reports[:1]) == [{"key": "training.seed", "values": [1], "differs": False}]


def test_the_keys_of_all_kinds_of_model_are_shown(reports):
    (report, *_) = reports
    other = dataclasses.replace(report, config={"model.heads": 4}, changed={})
    page = report_page([report, other])
    assert page.count("<td>model.heads</td>") == 2  # among the differences, and among all keys
    damaged = dataclasses.replace(report, config={}, changed={})
    assert "All keys have" not in report_page([damaged])


def test_a_run_without_figures_has_a_page(tmp_path):
    run = Run(tmp_path / "new")
    run.path.mkdir()
    run.write(load_config(Overrides()), {})
    page = report_page([dataclasses.replace(gather(run), test=None)])
    assert "has not recorded any metrics yet" in page
    assert "All keys have their default values." in page


def test_axe_finds_nothing(browser, page_file):
    assert accessibility_problems(browser, page_file, "body[data-drawn=yes]") == []
