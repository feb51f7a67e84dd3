"""Tables of the scores of compared systems, in Markdown and LaTeX."""

import re
from collections.abc import Callable, Sequence

from seq2seq_cli.evaluation.comparison import Comparison
from seq2seq_cli.evaluation.significance import LEVEL, SystemScore

_COMMAND = "command"
_INTERVAL = "± gives the 95 % interval by bootstrap resampling."
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
    """Return a table for a README: scores with intervals and marks, p-values, and signatures.

    The name of a system is the command that trains it, if all commands are known and differ. There
    is a column for the time of training, if one is known.
    """
    kind, names = _names(comparison, _markdown_code, markdown_text)
    metrics = [each.metric for each in comparison.metrics]
    rows = _with_times(comparison, [kind, *metrics], _cells(comparison, names, _scored("\\*")))
    note = f"\\*: differs from {names[0]} by both tests, p < {LEVEL}."
    lines = [
        *_markdown_rows(rows[0], rows[1:]),
        "",
        f"{markdown_text(_size(comparison))} {_INTERVAL} {note}",
        "",
    ]
    lines += [
        f"- {each.metric} `{each.bootstrap_signature}`, `{each.randomisation_signature}`"
        for each in comparison.metrics
    ]
    described = [markdown_text(text) for text in _described(comparison, kind == _COMMAND)]
    lines += [f"- {name}: {text}" for name, text in zip(names, described, strict=True) if text]
    p_values = _cells(comparison, names, _p_values)[1:]
    lines += ["", *_markdown_rows([f"p against {names[0]}", *metrics], p_values)]
    lines += ["", "p-values by paired bootstrap / paired approximate randomisation."]
    return "\n".join(lines) + "\n"


def to_latex(comparison: Comparison) -> str:
    """Return a table of scores with intervals, marks and times, for the package booktabs.

    The names of the systems are those of `to_markdown`.
    """
    kind, names = _names(comparison, _latex_code, latex_text)
    metrics = [latex_text(each.metric) for each in comparison.metrics]
    cells = _cells(comparison, names, _scored("$^{*}$", " $\\pm$ "))
    head, *rows = _with_times(comparison, [kind, *metrics], cells)
    lines = [
        *(f"% {each.metric}: {each.bootstrap_signature}" for each in comparison.metrics),
        *(f"% {each.metric}: {each.randomisation_signature}" for each in comparison.metrics),
        *(f"% {kind} {k}: {text}" for k, text in enumerate(_described(comparison, True), start=1)),
        f"% {_size(comparison)} {_INTERVAL}",
        f"% *: differs from the first {kind} by both tests, p < {LEVEL}.",
        r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
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


def _names(
    comparison: Comparison, code: Callable[[str], str], text: Callable[[str], str]
) -> tuple[str, list[str]]:
    """Return the head of the column of systems, and the name of each."""
    commands = [each for each in comparison.commands if each]
    if len(set(commands)) == len(comparison.systems):
        return _COMMAND, [code(command) for command in commands]
    return "system", [text(name) for name in comparison.systems]


def _markdown_code(text: str) -> str:
    """Return a text as code in a cell, or escaped if it contains a delimiter of code or cells."""
    line = " ".join(text.split())
    return markdown_text(line) if set(line) & set("`|") else f"`{line}`"


def _latex_code(text: str) -> str:
    return rf"\texttt{{{latex_text(text)}}}"


def _described(comparison: Comparison, with_names: bool) -> list[str]:
    """Return a description of each system: its name, and the machine that trained it.

    `_size` describes the machine if it is the same for all systems.
    """
    found = []
    for name, machine in zip(comparison.systems, comparison.trained_on, strict=True):
        parts = [" ".join(name.split())] * with_names
        if machine and not _common_machine(comparison):
            parts.append(f"trained on {' '.join(machine.split())}")
        found.append("; ".join(parts))
    return found


def _common_machine(comparison: Comparison) -> str | None:
    """Return device, precision and versions if they are the same for all runs."""
    (machine, *others) = set(comparison.trained_on)
    return None if others or not machine else " ".join(machine.split())


def _with_times(
    comparison: Comparison, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Return the rows of a table, with a column for the times of training if one is known."""
    table = [list(head), *(list(row) for row in rows)]
    if any(comparison.minutes):
        times = ["training", *map(_duration, comparison.minutes)]
        for line, cell in zip(table, times, strict=True):
            line.insert(1, cell)
    return table


def _duration(minutes: float | None) -> str:
    """Return a time in minutes and seconds; empty if unknown."""
    if minutes is None:
        return ""
    whole, seconds = divmod(round(60 * minutes), 60)
    return f"{whole}:{seconds:02} min"


def _size(comparison: Comparison) -> str:
    size = f"{comparison.sentences:,} sentences, {comparison.references:,} references"
    machine = _common_machine(comparison)
    trained = f" Trained on {machine}." if machine else ""
    return f"{' '.join(comparison.test_set.split())}: {size}.{trained}"


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
