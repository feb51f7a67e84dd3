"""Scores and the details behind them: as JSON, and drawn by Rich."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seq2seq_cli.cli.console import two_columns

if TYPE_CHECKING:
    from seq2seq_cli.evaluation.analysis import Details, ScoredOutput, ScoredSentence
    from seq2seq_cli.evaluation.breakdown import GroupScore
    from seq2seq_cli.evaluation.calibration import Calibration
    from seq2seq_cli.evaluation.faults import Faults
    from seq2seq_cli.evaluation.metrics import MetricScore
    from seq2seq_cli.evaluation.systems import EvaluationSet

_DECIMALS = 2


def evaluation_record(
    scored: "ScoredOutput", test_set: "EvaluationSet", where: dict[str, str], device: str
) -> dict[str, Any]:
    """Return the scores of a system, for JSON.

    Args:
        scored: the system's translations with their scores.
        test_set: the sentences and their references.
        where: the split, if it is one.
        device: of the model; empty if there is none.
    """
    origin = dict(scored.output.origin)
    search = {"search": origin.pop("search")} if "search" in origin else {}
    return {
        **origin,
        **where,
        "test_set": test_set.name,
        **score_record(scored.scores),
        "sentences": len(test_set.sources),
        "references": sum(map(len, test_set.references)),
        **search,
        **({"device": device} if device else {}),
        "outputs": asdict(scored.faults),
        **(asdict(scored.details) if scored.details else {}),
    }


def drawn_evaluation(scored: "ScoredOutput", test_set: "EvaluationSet") -> Group:
    """Return the scores of a system, and the details behind them if requested."""
    references = sum(map(len, test_set.references))
    label, name = "test set", f"{test_set.name}, "
    if test_set.split == test_set.name:
        label, name = test_set.name, ""
    rows = [
        ("run" if "run" in scored.output.origin else "hypotheses", scored.output.name),
        (label, f"{name}{len(test_set.sources):,} sentences, {references:,} references"),
        *score_rows(scored.scores),
        fault_row(scored.faults),
    ]
    return Group(two_columns(rows), *([drawn_details(scored.details)] if scored.details else []))


def score_record(scores: "Sequence[MetricScore]") -> dict[str, Any]:
    """Return scores, signatures and intervals by the names of the metrics, for JSON."""
    from seq2seq_cli.evaluation.metrics import KEYS

    record: dict[str, Any] = {}
    for each in scores:
        key = KEYS[each.metric]
        record |= {key: each.score, f"{key}_signature": each.signature}
        if each.mean is not None:
            record |= {f"{key}_mean": each.mean, f"{key}_half_width": each.half_width}
    return record


def score_rows(scores: "Sequence[MetricScore]") -> list[tuple[str, str]]:
    """Return the names of the metrics, with their scores and signatures."""
    return [(each.metric, f"{score_text(each)}   {each.signature}") for each in scores]


def score_text(score: "MetricScore") -> str:
    """Return a score as text, with its interval if there is one."""
    if score.mean is None:
        return f"{score.score:.{_DECIMALS}f}"
    return (
        f"{score.score:.{_DECIMALS}f} (μ = {score.mean:.{_DECIMALS}f} ± "
        f"{score.half_width:.{_DECIMALS}f})"
    )


def fault_row(faults: "Faults") -> tuple[str, str]:
    """Return the shares of faulty translations, as text."""
    shares = [f"{share:.1%} {name}" for name, share in asdict(faults).items() if share is not None]
    return "outputs", ", ".join(shares)


def score_table(results: "Sequence[ScoredOutput]") -> RenderableType:
    """Return the scores of several checkpoints as a table; signatures and faults below."""
    first = results[0].scores
    table = Table(
        "", *(each.metric for each in first), box=None, pad_edge=False, header_style="bold cyan"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for scored in results:
        table.add_row(Text(scored.output.name), *(score_text(each) for each in scored.scores))
    faults = Table("outputs", "", box=None, pad_edge=False, header_style="bold cyan")
    for scored in results:
        faults.add_row(Text(scored.output.name), fault_row(scored.faults)[1])
    return Group(table, two_columns([(each.metric, each.signature) for each in first]), faults)


def drawn_details(details: "Details") -> Group:
    """Return the details behind the scores."""
    parts: list[RenderableType] = [_group_table("source", details.by_length)]
    if details.by_rarest_word:
        parts.append(_group_table("rarest source word", details.by_rarest_word))
    if details.calibration:
        parts.append(_calibration_table(details.calibration))
    parts.append(Text(f"The {len(details.worst)} sentences with the lowest chrF", "bold cyan"))
    parts += [_sentence(each) for each in details.worst]
    return Group(*parts)


def _group_table(name: str, groups: "Sequence[GroupScore]") -> Table:
    table = Table(
        name, "sentences", "BLEU", "chrF", box=None, pad_edge=False, header_style="bold cyan"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for group in groups:
        scores = (f"{group.bleu:.{_DECIMALS}f}", f"{group.chrf:.{_DECIMALS}f}")
        table.add_row(group.name, f"{group.sentences:,}", *scores)
    return table


def _calibration_table(calibration: "Calibration") -> Group:
    table = Table(
        "confidence", "tokens", "mean", "right", box=None, pad_edge=False, header_style="bold cyan"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for each in calibration.bins:
        figures = (f"{each.tokens:,}", f"{each.confidence:.1%}", f"{each.accuracy:.1%}")
        table.add_row(f"from {each.lowest:.0%}", *figures)
    summary = (
        f"{calibration.accuracy:.1%} of {calibration.tokens:,} tokens are right, with a mean "
        f"confidence of {calibration.confidence:.1%}; expected calibration error "
        f"{calibration.error:.3f}"
    )
    return Group(table, two_columns([("calibration", summary)]))


def _sentence(each: "ScoredSentence") -> Table:
    rows = [
        (f"{each.number}", f"chrF {each.chrf:.1f}"),
        ("  source", each.source),
        *(("  reference", reference) for reference in each.references),
        ("  translation", each.translation),
    ]
    return two_columns(rows)
