"""Charts as Vega-Lite specifications, which Vega's own library draws in the browser."""

import functools
import json
from collections.abc import Sequence
from typing import Any

from seq2seq_cli.attention.evolution import Evolution
from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.run_report import AttentionMap, RunReport

_TRAINING = {
    "loss": "Training loss (nats per token)",
    "learning_rate": "Learning rate",
    "gradient_norm": "Gradient norm, before clipping",
    "pairs_per_second": "Pairs per second",
    "padding_share": "Share of padding",
}
_VALIDATION = {
    "dev_loss": "Dev loss (nats per token)",
    "dev_bleu": "Dev BLEU",
    "dev_chrf": "Dev chrF",
    "attention_entropy": "Entropy of attention (share of the largest)",
}


@functools.cache
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that defines vegaEmbed.

    Raises:
        UsageError: if the package that contains them is not installed.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(
            "the charts of a report need vl-convert-python. Install it: pip install 's2s[report]'"
        ) from error
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script


def curve_data(reports: Sequence[RunReport]) -> dict[str, list[dict[str, Any]]]:
    """Return the points of all curves, by the name of the data set."""
    return {
        "training": _points(reports, "training", _TRAINING),
        "validations": _points(reports, "validations", _VALIDATION),
    }


def curves(reports: Sequence[RunReport]) -> list[dict[str, Any]]:
    """Return a specification for each curve that has points, the most important ones first.

    Their data is in the data sets of `curve_data`, by name.
    """
    data = curve_data(reports)
    order = ("loss", "dev_loss", "dev_bleu", "dev_chrf", "learning_rate", "gradient_norm")
    titles = {**_TRAINING, **_VALIDATION}
    fields = [*order, *(name for name in titles if name not in order)]
    found = []
    for name in fields:
        source = "training" if name in _TRAINING else "validations"
        if any(point.get(name) is not None for point in data[source]):
            found.append(_curve(name, titles[name], source, len(reports) > 1))
    return found


def attention_chart(map_: AttentionMap) -> dict[str, Any]:
    """Return the specification of a heat map: target tokens by source tokens."""
    cells = [
        {"i": i, "j": j, "source": source, "target": target, "weight": map_.weights[j][i]}
        for j, target in enumerate(map_.target_tokens)
        for i, source in enumerate(map_.source_tokens)
    ]
    heat_map = _heat_map(map_.source_tokens, map_.target_tokens, "translation")
    return {"data": {"values": cells}, "title": "Attention", **heat_map}


def evolution_chart(evolution: Evolution) -> dict[str, Any]:
    """Return the specification of a heat map with a slider over the validations."""
    frames = evolution.frames
    cells = [
        {
            "i": i,
            "j": j,
            "source": source,
            "target": target,
            "weights": [_rounded(float(frame.weights[j, i])) for frame in frames],
        }
        for j, target in enumerate(evolution.queries)
        for i, source in enumerate(evolution.keys)
    ]
    last = len(frames)
    slider = {"bind": {"input": "range", "min": 1, "max": last, "step": 1}} if last > 1 else {}
    captions = json.dumps([frame.caption for frame in frames])
    return {
        "data": {"values": cells},
        "params": [{"name": "validation", "value": last, **slider}],
        "transform": [{"calculate": "datum.weights[validation - 1]", "as": "weight"}],
        "title": {"text": {"expr": f"{captions}[validation - 1]"}},
        **_heat_map(evolution.keys, evolution.queries, "reference"),
    }


def _heat_map(source: Sequence[str], target: Sequence[str], side: str) -> dict[str, Any]:
    """Return the marks of cells with `i`, `j`, `source`, `target` and `weight`."""
    return {
        "mark": {"type": "rect", "tooltip": True},
        "width": {"step": 26},
        "height": {"step": 22},
        "encoding": {
            "x": _tokens("i", source, "source"),
            "y": _tokens("j", target, side),
            "color": {
                "field": "weight",
                "type": "quantitative",
                "scale": {"scheme": "viridis", "domain": [0, 1]},
            },
            "tooltip": [
                {"field": "source", "type": "nominal"},
                {"field": "target", "type": "nominal"},
                {"field": "weight", "type": "quantitative", "format": ".3f"},
            ],
        },
    }


def _points(
    reports: Sequence[RunReport], kind: str, fields: dict[str, str]
) -> list[dict[str, Any]]:
    return [
        {
            "run": report.summary.name,
            "step": entry["step"],
            **{name: _rounded(entry[name]) for name in fields if entry.get(name) is not None},
        }
        for report in reports
        for entry in getattr(report, kind)
    ]


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _curve(name: str, title: str, source: str, several: bool) -> dict[str, Any]:
    """Return a line chart with zoom by the wheel, panning by dragging, and values at the pointer.

    The wheel zooms only with Ctrl or ⌘. Otherwise it scrolls the page.
    """
    x = {"field": "step", "type": "quantitative", "title": "update"}
    is_share = name.endswith(("_share", "_entropy"))
    y: dict[str, Any] = {"field": name, "type": "quantitative", "title": None}
    y |= {"axis": {"format": "%"}} if is_share else {"scale": {"zero": False}}
    colour: dict[str, Any] = {"value": "#4c78a8"}
    if several:
        # Two columns of short labels fit on a phone.
        legend = {"orient": "bottom", "title": None, "columns": 2, "labelLimit": 130}
        colour = {"field": "run", "type": "nominal", "legend": legend}
    tooltip = [
        {"field": "run", "type": "nominal"},
        {"field": "step", "type": "quantitative", "title": "update"},
        {"field": name, "type": "quantitative", "title": title, "format": ".4g"},
    ]
    zoom = {"type": "interval", "zoom": "wheel![event.ctrlKey || event.metaKey]"}
    nearest = {"name": "near", "select": {"type": "point", "nearest": True, "on": "pointermove"}}
    lit = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    return {
        "data": {"name": source},
        "title": title,
        "width": "container",
        "height": 220,
        "encoding": {"x": x, "y": y, "color": colour},
        "layer": [
            {
                "mark": {"type": "line", "point": source == "validations"},
                "params": [{"name": "zoom", "select": zoom, "bind": "scales"}],
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80},
                "params": [nearest],
                "encoding": {"opacity": lit, "tooltip": tooltip},
            },
        ],
    }


def _tokens(field: str, tokens: Sequence[str], title: str) -> dict[str, Any]:
    """Return an axis on which each position is labelled by its token."""
    axis = {
        "labelAngle": -45 if field == "i" else 0,
        "labelExpr": f"{json.dumps(tokens)}[datum.value]",
    }
    return {"field": field, "type": "ordinal", "title": title, "axis": axis}
