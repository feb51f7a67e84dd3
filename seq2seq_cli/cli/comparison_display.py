"""A comparison of systems, drawn by Rich."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seq2seq_cli.cli.console import two_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seq2seq_cli.evaluation.comparison import Comparison, Difference, GroupComparison
    from seq2seq_cli.evaluation.ngrams import NgramDifference
    from seq2seq_cli.evaluation.significance import SystemScore

_HEAD = "bold cyan"


def drawn_comparison(found: "Comparison") -> Group:
    """Return a comparison: scores, groups, n-grams and sentences."""
    size = f"{found.sentences:,} sentences, {found.references:,} references"
    named = [(chr(ord("A") + k), name) for k, name in enumerate(found.systems)]
    parts: list[RenderableType] = [
        two_columns([*named, ("test set", f"{found.test_set}, {size}")]),
        _score_table(found),
        Text("*: differs from A in both tests, p < 0.05", style="dim"),
        two_columns([(each.metric, each.bootstrap_signature) for each in found.metrics]),
        _group_table("source", found.by_length, len(found.systems)),
    ]
    if found.by_rarest_word:
        parts.append(_group_table("rarest source word", found.by_rarest_word, len(found.systems)))
    for k, difference in enumerate(found.differences, start=1):
        parts += _difference(difference, chr(ord("A") + k))
    return Group(*parts)


def _score_table(found: "Comparison") -> Table:
    table = Table("", box=None, pad_edge=False, header_style=_HEAD)
    for metric in found.metrics:
        table.add_column(metric.metric, justify="right")
        table.add_column("p", justify="right", style="dim")
    for k in range(len(found.systems)):
        cells = [cell for metric in found.metrics for cell in _score_cells(metric.systems[k])]
        table.add_row(chr(ord("A") + k), *cells)
    return table


def _score_cells(score: "SystemScore") -> tuple[str, str]:
    mark = "*" if score.is_significant else ""
    text = f"{score.score:.2f} ± {score.half_width:.2f}"
    if score.bootstrap_p is None or score.randomisation_p is None:
        return text, ""
    return text, f"{score.bootstrap_p:.4f}, {score.randomisation_p:.4f}{mark}"


def _group_table(name: str, groups: "Sequence[GroupComparison]", systems: int) -> Table:
    letters = [chr(ord("A") + k) for k in range(systems)]
    scores = [f"{metric} {letter}" for metric in ("BLEU", "chrF") for letter in letters]
    table = Table(name, "sentences", *scores, box=None, pad_edge=False, header_style=_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    for group in groups:
        figures = (f"{score:.2f}" for score in [*group.bleu, *group.chrf])
        table.add_row(group.name, f"{group.sentences:,}", *figures)
    return table


def _difference(found: "Difference", letter: str) -> list[RenderableType]:
    counts = f"chrF higher in {found.better:,} sentences, lower in {found.worse:,}, equal in "
    parts: list[RenderableType] = [Text(f"{letter} against A: {counts}{found.equal:,}", _HEAD)]
    parts += [_ngram_table(f"{letter} matches more often", found.ngrams_gained, letter)]
    parts += [_ngram_table(f"{letter} matches less often", found.ngrams_lost, letter)]
    for title, sentences in (("gain", found.gained), ("loss", found.lost)):
        if sentences:
            parts.append(Text(f"Sentences with the largest {title} of chrF", _HEAD))
        for each in sentences:
            rows = [
                (str(each.number), f"chrF {each.baseline_chrf:.1f} → {each.system_chrf:.1f}"),
                ("  source", each.source),
                *(("  reference", reference) for reference in each.references),
                ("  A", each.baseline),
                (f"  {letter}", each.system),
            ]
            parts.append(two_columns(rows))
    return parts


def _ngram_table(title: str, ngrams: "Sequence[NgramDifference]", letter: str) -> Table:
    table = Table(title, "A", letter, box=None, pad_edge=False, header_style=_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    for each in ngrams:
        table.add_row(Text(each.ngram), f"{each.baseline:,}", f"{each.system:,}")
    return table
