"""The page of a report: one run, or several side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq_cli.evaluation.metrics import METRICS
from seq2seq_cli.evaluation.pages import charts
from seq2seq_cli.evaluation.run_report import RunReport
from seq2seq_cli.html.single_file import SingleFilePage

_PAGE = SingleFilePage(
    Path(__file__).parent, "report.html.j2", ["style.css"], ["report.js"], compiles=True
)


def report_page(reports: Sequence[RunReport]) -> str:
    """Return the page as HTML.

    Args:
        reports: of the runs, in order.

    Raises:
        UsageError: if the package that draws the charts is not installed.
    """
    names = [report.summary.name for report in reports]
    curves = charts.curves(reports)
    maps = [
        (report.summary.name, charts.attention_chart(each))
        for report in reports
        if report.test
        for each in report.test.maps
    ]
    evolutions = [(report.summary.name, each) for report in reports for each in report.evolutions]
    return _PAGE.render(
        "Report on " + ", ".join(names),
        {
            "data": charts.curve_data(reports),
            "curves": curves,
            "maps": [chart for _, chart in maps],
            "evolutions": [charts.evolution_chart(each) for _, each in evolutions],
        },
        charts.library(),
        reports=reports,
        keys=_keys(reports),
        changed=changed_rows(reports),
        signatures=_signatures(reports),
        curves=curves,
        maps=maps,
        evolutions=evolutions,
    )


def _signatures(reports: Sequence[RunReport]) -> dict[str, list[str]]:
    """Return the signatures of each metric. They depend on the references of the test split."""
    found: dict[str, dict[str, None]] = {name: {} for name in METRICS}
    for report in reports:
        for score in report.test.scores if report.test else []:
            found[score.metric][score.signature] = None
    return {name: list(signatures) for name, signatures in found.items()}


def _keys(reports: Sequence[RunReport]) -> list[str]:
    """Return the config keys of all runs; runs of different kinds of model have different ones."""
    return [*dict.fromkeys(key for report in reports for key in report.config)]


def changed_rows(reports: Sequence[RunReport]) -> list[dict[str, Any]]:
    """Return a row for each key that differs from the default in any run, or between runs.

    A row has the key, the value of each run, and whether these differ.
    """
    keys = dict.fromkeys(key for report in reports for key in report.changed)
    rows = []
    for key in _keys(reports):
        values = [report.config.get(key, "-") for report in reports]
        differs = any(value != values[0] for value in values)
        if key in keys or differs:
            rows.append({"key": key, "values": values, "differs": differs})
    return rows
