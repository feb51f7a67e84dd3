"""The plots of `s2s recipe figures`, drawn by matplotlib."""

from collections.abc import Sequence
from typing import Any

from seq2seq_cli.recipes.paper_results import Estimate, LengthResult, ModelResult
from seq2seq_cli.recipes.plotting import new_figure, to_svg

_COLOURS = ("#4c78a8", "#e45756", "#54a24b", "#f58518")


def draw_lengths(results: Sequence[LengthResult]) -> bytes:
    """Return an SVG with a line for each model: BLEU by the length of the source."""
    drawn = new_figure(6, 4)
    axes = drawn.add_subplot()
    groups = [*dict.fromkeys(result.group for result in results)]
    for number, model in enumerate(dict.fromkeys(result.model for result in results)):
        own = [result for result in results if result.model == model]
        positions = [groups.index(result.group) for result in own]
        colour = _COLOURS[number % len(_COLOURS)]
        _draw(axes, positions, [result.bleu for result in own], colour, fmt="o-", label=model)
    axes.set_xticks(range(len(groups)), groups, rotation=20)
    axes.set(xlabel="source", ylabel="BLEU", ylim=(0, None))
    axes.legend()
    return to_svg(drawn, "BLEU by source length")


def draw_models(results: Sequence[ModelResult]) -> bytes:
    """Return an SVG with BLEU and dev perplexity of each model, the first model at the top."""
    drawn = new_figure(9, 1.2 + 0.35 * len(results))
    left, right = drawn.subplots(1, 2, sharey=True)
    positions = range(len(results))
    for axes, label, estimates in (
        (left, "test BLEU", [result.bleu for result in results]),
        (right, "dev perplexity per token", [result.perplexity for result in results]),
    ):
        _draw(axes, positions, estimates, _COLOURS[0], across=True, fmt="o")
        axes.set(xlabel=label)
        axes.grid(axis="x", alpha=0.3)
    left.set_yticks(positions, [result.model for result in results], parse_math=False)
    left.invert_yaxis()
    return to_svg(drawn, "BLEU and perplexity")


def _draw(
    axes: Any,
    positions: Sequence[int],
    estimates: Sequence[Estimate],
    colour: str,
    across: bool = False,
    **style: Any,
) -> None:
    """Draw means with the ranges of their seeds, along the x axis if `across`."""
    means = [each.mean for each in estimates]
    ranges = [
        [each.mean - each.lowest for each in estimates],
        [each.highest - each.mean for each in estimates],
    ]
    where = (means, positions) if across else (positions, means)
    axes.errorbar(
        *where, **{"xerr" if across else "yerr": ranges}, color=colour, capsize=3, **style
    )
