"""The page of 500 sentences in Chromium; benchmarks/page_speed.py measures how fast it is."""

from page_actions import words
from sample_pages import LONG, PAIRS, run

from seq2seq_cli.attention.page.page import attention_page

pytest_plugins = ["browser"]


def test_a_page_of_five_hundred_sentences_draws_a_long_one_in_parts(open_page, tmp_path):
    pairs = [(f"{source} {n}", target) for n in range(167) for source, target in PAIRS][:500]
    pairs[7] = LONG
    path = tmp_path / "many.html"
    runs = [run("a", "transformer", pairs, 1), run("b", "rnn", pairs, 2)]
    path.write_text(attention_page(runs, "many"), "utf-8")
    page = open_page(path)
    page.wait_for_function("() => document.querySelectorAll('#list li').length === 500")
    longest = page.locator(".graphic canvas").evaluate_all(
        "all => Math.max(...all.map((canvas) => Math.max(canvas.width, canvas.height)))"
    )
    assert longest < 2000
    page.evaluate("location.hash = 'sentence=8'")
    page.wait_for_function("() => document.querySelector('.word').textContent === 'word0'")
    assert words(page, "query").count() == 191
