"""How fast the page of attention opens and switches with 500 sentences, in headless Chromium.

    python benchmarks/page_speed.py

Two runs with random weights read 500 sentences, one of them of 200 words. Each figure is in
milliseconds: what the page's thread computes, or what passes, whichever is less.
"""

import argparse
import importlib
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ATTEMPTS = 6  # of what is timed

# Each acts on the page of 500 sentences; `i` counts the repetitions.
SWITCHES = {
    "sentence": "document.getElementById('after').click()",
    "kind": "check('kind', ['encoder', 'decoder'][i % 2])",
    "graphic": "check('graphic', ['lines', 'matrix'][i % 2])",
    "unit": "check('unit', ['pieces', 'words'][i % 2])",
    "sort": "choose('sort', ['least', 'most'][i % 2])",
    "to 200 words": "location.hash = 'sentence=8'",
    "back": "location.hash = 'sentence=20'",
    "head of 200 words": "location.hash = `sentence=8&pieces=yes&head=${1 + (i % 3)}`",
}
# What each of these begins with, untimed.
BEGINS = {"to 200 words": "sentence=20", "back": "sentence=8"}
SWITCH = """async (i) => {
    const check = (name, value) =>
        document.querySelector(`input[name=${name}][value=${value}]`).click();
    const choose = (id, value) => {
        const select = document.getElementById(id);
        select.value = value;
        select.dispatchEvent(new Event("change"));
    };
    const painted = () => new Promise((done) =>
        requestAnimationFrame(() => setTimeout(done, 0)));
    const before = document.body.dataset.shown;
    const begin = performance.now();
    ACTION;
    while (document.body.dataset.shown === before) await painted();
    return performance.now() - begin;
}"""


class Clock:
    """Milliseconds that the page's thread has computed, whatever else the machine does."""

    def __init__(self, page: Any):
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self) -> float:
        """Return the milliseconds until now."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration")


def write_page(path: Path) -> None:
    """Write a page of 500 sentences and two runs, with the tests' own samples."""
    folders = ("attention", "attention/page", "models", "models/layers")
    sys.path[:0] = [str(TESTS / folder) for folder in folders]
    samples = importlib.import_module("sample_pages")

    from seq2seq_cli.attention.page.page import attention_page

    pairs = [(f"{source} {n}", target) for n in range(167) for source, target in samples.PAIRS]
    pairs = pairs[:500]
    pairs[7] = samples.LONG
    runs = [samples.run("a", "transformer", pairs, 1), samples.run("b", "rnn", pairs, 2)]
    path.write_text(attention_page(runs, "many"), "utf-8")


def measure(page: Any, path: Path) -> dict[str, list[float]]:
    """Return the times of opening and of each switch."""
    page.goto(path.as_uri())
    clock, times = Clock(page), {}
    begin = clock.now()
    page.reload()
    page.wait_for_selector("body[data-shown]")
    took = page.evaluate("performance.getEntriesByName('shown')[0].startTime")
    times["opening"] = [min(took, clock.now() - begin)]
    page.wait_for_function("() => document.querySelectorAll('#list li').length === 500")
    for name, action in SWITCHES.items():
        times[name] = []
        for i in range(ATTEMPTS):
            if BEGINS.get(name, "") not in page.url:
                page.evaluate(SWITCH.replace("ACTION", f"location.hash = '{BEGINS[name]}'"), i)
                page.wait_for_timeout(50)
            begin = clock.now()
            took = page.evaluate(SWITCH.replace("ACTION", action), i)
            times[name].append(min(took, clock.now() - begin))
    return times


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.parse_args()
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "many.html"
        write_page(path)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        times = measure(browser.new_page(viewport={"width": 1280, "height": 900}), path)
        browser.close()
    for name, found in times.items():
        print(f"{name:20} median {statistics.median(found):6.1f} ms   at most {max(found):6.1f}")


if __name__ == "__main__":
    main()
