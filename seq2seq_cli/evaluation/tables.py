"""The scores of compared systems as a table in Markdown or LaTeX."""

import re
from collections.abc import Callable, Sequence

from seq2seq_cli.evaluation.comparison import Comparison
from seq2seq_cli.evaluation.significance import LEVEL, SystemScore

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def to_markdown(comparison: Comparison) -> str:
    """Return the scores with intervals and marks, the p-values, and the signatures.

    If the time of a training is known, there is a column for it.
    """
    names = [markdown_text(name) for name in comparison.systems]
    metrics = [each.metric for each in comparison.metrics]
    rows = [["system", *metrics], *_cells(comparison, names, _scored("\\*"))]
    if any(minutes is not None for minutes in comparison.minutes):
        times = ["" if each is None else f"{each:.1f} min" for each in comparison.minutes]
        for row, cell in zip(rows, ["training", *times], strict=True):
            row.insert(1, cell)
    lines = _markdown_rows(rows[0], rows[1:])
    note = f"\\*: differs from {names[0]} by both tests, p < {LEVEL}. ± is the 95 % interval."
    lines += ["", f"{_size(comparison)} {note}", ""]
    lines += _markdown_rows(
        [f"p against {names[0]}", *metrics], _cells(comparison, names, _p_values)[1:]
    )
    lines += ["", "p-values by paired bootstrap / paired approximate randomisation.", ""]
    lines += [
        f"- {each.metric} `{each.bootstrap_signature}`, `{each.randomisation_signature}`"
        for each in comparison.metrics
    ]
    return "\n".join(lines) + "\n"


def to_latex(comparison: Comparison) -> str:
    """Return the scores with intervals and marks, for the package booktabs."""
    names = [latex_text(name) for name in comparison.systems]
    metrics = [latex_text(each.metric) for each in comparison.metrics]
    lines = [
        *(f"% {each.metric}: {each.bootstrap_signature}" for each in comparison.metrics),
        *(f"% {each.metric}: {each.randomisation_signature}" for each in comparison.metrics),
        f"% {_size(comparison)} *: differs from the first system by both tests, p < {LEVEL}.",
        r"\begin{tabular}{l" + "r" * len(metrics) + "}",
        r"\toprule",
        " & ".join(["system", *metrics]) + r" \\",
        r"\midrule",
        *(
            " & ".join(row) + r" \\"
            for row in _cells(comparison, names, _scored("$^{*}$", " $\\pm$ "))
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Return a text in which no character is markup of Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>|&])", r"\\\1", " ".join(text.split()))


def latex_text(text: str) -> str:
    """Return a text in which no character is a command of LaTeX."""
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _size(comparison: Comparison) -> str:
    return f"{comparison.sentences:,} sentences, {comparison.references:,} references."


def _cells(
    comparison: Comparison, names: Sequence[str], cell: Callable[[SystemScore], str]
) -> list[list[str]]:
    return [
        [name, *(cell(metric.systems[k]) for metric in comparison.metrics)]
        for k, name in enumerate(names)
    ]


def _scored(mark: str, between: str = " ± ") -> Callable[[SystemScore], str]:
    def cell(score: SystemScore) -> str:
        text = f"{score.score:.2f}{between}{score.half_width:.2f}"
        return text + mark if score.is_significant else text

    return cell


def _p_values(score: SystemScore) -> str:
    if score.bootstrap_p is None or score.randomisation_p is None:
        return ""
    return f"{score.bootstrap_p:.4f} / {score.randomisation_p:.4f}"


def _markdown_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
