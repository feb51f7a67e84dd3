"""The commands about runs: runs list, show, diff, remove, rename."""

import os
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import Result, emit, print_line
from seq2seq_cli.cli.options import JsonOption, QuietOption, warn
from seq2seq_cli.cli.suggestions import Command, CommandGroup
from seq2seq_cli.errors import DiskError, UsageError, os_reason

if TYPE_CHECKING:
    from rich.table import Table

    from seq2seq_cli.runs.run import Run
    from seq2seq_cli.runs.summary import RunSummary

runs_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="List, compare, remove and rename runs."
)

_WIDE, _NARROW = 110, 90  # columns of a terminal

RunArgument = Annotated[
    str,
    typer.Argument(help="A run's name in runs/, or its path.", autocompletion=completion.runs),
]
RunArguments = Annotated[
    list[str],
    typer.Argument(help="Names of runs in runs/, or paths.", autocompletion=completion.runs),
]


class Key(str, Enum):
    """The keys by which runs can be sorted."""

    name = "name"
    state = "state"
    model = "model"
    attention = "attention"
    data = "data"
    steps = "steps"
    minutes = "minutes"
    bleu = "bleu"
    size = "size"
    changed = "changed"


class StateName(str, Enum):
    """The states of runs."""

    training = "training"
    interrupted = "interrupted"
    done = "done"
    damaged = "damaged"


@runs_app.command("list", cls=Command)
def list_runs(
    text: Annotated[
        str | None,
        typer.Argument(help="List only runs with this text in name, model, attention or data."),
    ] = None,
    sort: Annotated[Key, typer.Option(help="Sort by this column.")] = Key.name,
    reverse: Annotated[bool, typer.Option("--reverse", help="Sort in descending order.")] = False,
    state: Annotated[StateName | None, typer.Option(help="List only runs in this state.")] = None,
    folder: Annotated[Path, typer.Option(help="The folder with the runs.")] = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List the runs with their model, data, length, best dev BLEU, size and state."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.runs.summary import all_runs, summarise

    if not os.path.isdir(folder):
        raise UsageError(
            f"{folder}: no such folder. Change to the folder that has runs/, or give --folder"
        )
    found = [summarise(run) for run in all_runs(folder)]
    found = [each for each in found if _is_wanted(each, text, state.value if state else None)]
    key = "best_dev_bleu" if sort is Key.bleu else sort.value
    found.sort(key=lambda each: _sortable(getattr(each, key)), reverse=reverse)
    if as_json:
        for each in found:
            emit(Result(asdict(each), ""), as_json)
        return
    shown = _run_table(found, console.stdout.width) if found else "no run"
    emit(Result(None, shown), as_json)


@runs_app.command(cls=Command)
def show(run: RunArgument, as_json: JsonOption = False) -> None:
    """Show a run: its state, checkpoints, figures, and the config keys that are not defaults."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.curves import drawn_curves
    from seq2seq_cli.runs.naming import find_run
    from seq2seq_cli.runs.summary import changed_keys, summarise

    found = find_run(run)
    summary = summarise(found)
    changed = {} if not summary.model else changed_keys(found.config())
    stored = _checkpoints(found)
    record = {**asdict(summary), "config": changed, "checkpoints": stored}
    if as_json:
        emit(Result(record, ""), as_json)
        return
    console.show_rows(_summary_rows(summary))
    console.show_rows([(f"  {key}", str(value)) for key, value in changed.items()])
    console.show_rows(
        [("checkpoints", ", ".join(_checkpoint_text(each) for each in stored) or "none")]
    )
    for title, series in _curves({summary.name: found}).items():
        console.stdout.print(drawn_curves(title, series, console.stdout))


@runs_app.command(cls=Command)
def diff(runs: RunArguments, as_json: JsonOption = False) -> None:
    """Show the config keys that differ between runs, and the curves of the runs."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.curves import drawn_curves
    from seq2seq_cli.runs.naming import find_run
    from seq2seq_cli.runs.summary import differing_keys, summarise

    if len(runs) < 2:
        raise UsageError("there is only one run to compare; name two or more")
    found = [find_run(name) for name in runs]
    keys = differing_keys([run.config() for run in found])
    summaries = [summarise(run) for run in found]
    record = {"runs": [asdict(each) for each in summaries], "config": keys}
    if as_json:
        emit(Result(record, ""), as_json)
        return
    names = [each.name for each in summaries]
    console.stdout.print(_difference_table(names, keys, summaries))
    for title, series in _curves(dict(zip(names, found, strict=True))).items():
        console.stdout.print(drawn_curves(title, series, console.stdout))


@runs_app.command(cls=Command)
def remove(
    runs: RunArguments,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove runs, after asking; a run that is being trained is refused."""
    import sys

    from seq2seq_cli.cli import console
    from seq2seq_cli.runs.naming import find_changeable_run
    from seq2seq_cli.runs.run import Run
    from seq2seq_cli.runs.summary import folder_size

    named = [find_changeable_run(name) for name in runs]
    for run in named:
        _check_is_run(run)
    found = [Run(path) for path in dict.fromkeys(run.path.resolve() for run in named)]
    for run in found:
        with run.lock():
            pass
    total = sum(folder_size(run.path) for run in found)
    names = ", ".join(str(run.path) for run in found)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                f"{names}: removing cannot be undone; add --yes to remove without asking"
            )
        typer.confirm(f"Remove {names} ({console.size_text(total)})?", abort=True, err=True)
    for run in found:
        _remove(run)
        print_line(f"removed {run.path}")


@runs_app.command(cls=Command)
def rename(
    run: RunArgument,
    name: Annotated[str, typer.Argument(help="The new name in runs/, or a path.")],
    quiet: QuietOption = False,
) -> None:
    """Rename a run; a run that is being trained is refused, and nothing is overwritten."""
    from seq2seq_cli.runs.disk import make_durably, publish
    from seq2seq_cli.runs.naming import find_changeable_run, run_path

    found, path = find_changeable_run(run), run_path(name)
    _check_is_run(found)
    with found.lock():
        if os.path.lexists(path):
            raise UsageError(f"{path}: exists already. Give another name")
        try:
            make_durably(path.parent)
            publish(found.path, path)
        except OSError as error:
            raise DiskError(
                f"{found.path}: cannot be renamed to {path}: {os_reason(error)}"
            ) from error
    if not quiet:
        print_line(f"renamed {found.path} to {path}")


def _is_wanted(summary: "RunSummary", text: str | None, state: str | None) -> bool:
    texts = (summary.name, summary.model, summary.attention, summary.data)
    if text is not None and not any(text.casefold() in each.casefold() for each in texts):
        return False
    return state is None or summary.state == state


def _sortable(value: Any) -> tuple[bool, Any]:
    """Return a sort key that puts missing values first."""
    return (value is not None, value if value is not None else 0)


def _run_table(summaries: "list[RunSummary]", width: int) -> "Table":
    """Return the runs as a table; on a narrow terminal without attention and size."""
    from rich.table import Table
    from rich.text import Text

    from seq2seq_cli.cli import console

    left_out = {"attention"} if width < _WIDE else set()
    left_out |= {"size"} if width < _NARROW else set()
    table = Table(box=None, pad_edge=False, header_style="bold cyan")
    for name in ("run", "state", "model", "attention", "data"):
        if name not in left_out:
            no_wrap = name in ("state", "model")
            table.add_column(name, overflow="fold", no_wrap=no_wrap, min_width=len(name))
    for name in ("steps", "minutes", "BLEU", "size"):
        if name not in left_out:
            table.add_column(name, justify="right", no_wrap=True)
    for each in summaries:
        cells = {
            "run": each.name,
            "state": each.state,
            "model": each.model,
            "attention": each.attention,
            "data": Path(each.data).name,
            "steps": f"{each.steps:,}",
            "minutes": f"{each.minutes:.1f}",
            "BLEU": "-" if each.best_dev_bleu is None else f"{each.best_dev_bleu:.1f}",
            "size": console.size_text(each.size),
        }
        table.add_row(*(Text(text) for name, text in cells.items() if name not in left_out))
    return table


def _summary_rows(summary: "RunSummary") -> list[tuple[str, str]]:
    from seq2seq_cli.cli import console

    best = "none yet"
    if summary.best_dev_bleu is not None:
        best = f"{summary.best_dev_bleu:.2f} at update {summary.best_step:,}"
    state = f"{summary.state}: {summary.problem}" if summary.problem else summary.state
    return [
        ("run", summary.name),
        ("state", state),
        ("model", f"{summary.model}, {summary.attention}" if summary.model else "not known"),
        ("data", summary.data or "not known"),
        ("steps", f"{summary.steps:,} in {summary.minutes:.1f} minutes"),
        ("best dev BLEU", best),
        ("size", console.size_text(summary.size)),
        ("last checkpoint", summary.changed or "none yet"),
    ]


def _checkpoints(run: "Run") -> list[dict[str, Any]]:
    """Return name, dev BLEU and damage of each checkpoint, the earliest first."""
    from seq2seq_cli.runs.listing import summarise_checkpoints

    return [
        {"checkpoint": each.name, "dev_bleu": each.dev_bleu, "problem": each.problem}
        for each in summarise_checkpoints(run)
    ]


def _checkpoint_text(stored: dict[str, Any]) -> str:
    if stored["problem"]:
        return f"{stored['checkpoint']} (damaged)"
    bleu = stored["dev_bleu"]
    return stored["checkpoint"] if bleu is None else f"{stored['checkpoint']} (BLEU {bleu:.1f})"


def _difference_table(
    names: list[str], keys: dict[str, list[Any]], summaries: "list[RunSummary]"
) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("", box=None, pad_edge=False, header_style="bold cyan")
    for name in names:
        table.add_column(Text(name))
    for key, values in keys.items():
        table.add_row(key, *(Text("-" if value is None else str(value)) for value in values))
    bleu = [
        "-" if each.best_dev_bleu is None else f"{each.best_dev_bleu:.2f}" for each in summaries
    ]
    table.add_row("best dev BLEU", *bleu)
    table.add_row("steps", *(f"{each.steps:,}" for each in summaries))
    table.add_row("minutes", *(f"{each.minutes:.1f}" for each in summaries))
    return table


def _curves(runs: "dict[str, Run]") -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return loss and dev BLEU of each run over its updates."""
    from seq2seq_cli.runs.metrics_log import TRAINING, VALIDATION, of_kind

    curves: dict[str, dict[str, list[tuple[float, float]]]] = {"loss": {}, "dev BLEU": {}}
    for name, run in runs.items():
        entries = run.metrics(warn)
        for title, key, kind in (
            ("loss", "loss", TRAINING),
            ("dev BLEU", "dev_bleu", VALIDATION),
        ):
            chosen = of_kind(entries, kind)
            curves[title][name] = [(entry["step"], entry[key]) for entry in chosen]
    return curves


def _check_is_run(run: "Run") -> None:
    """Check that a folder belongs to a run, before it is removed or renamed.

    Raises:
        UsageError: if not.
    """
    if os.path.islink(run.path):
        raise UsageError(f"{run.path}: is a link. Give the folder that it points to")
    if not (run.has_config or os.path.isdir(run.checkpoints)):
        raise UsageError(f"{run.path}: is not a run's folder. Remove or rename it yourself")


def _remove(run: "Run") -> None:
    """Rename and then delete a run's folder, so that no remaining part looks like a run."""
    from seq2seq_cli.runs import files
    from seq2seq_cli.runs.disk import remove_tree

    doomed = run.path.with_name(f".removed-{run.name}-{os.getpid()}")
    try:
        with run.lock():
            files.rename(run.path, doomed)
            remove_tree(doomed)
    except OSError as error:
        rest = f". {doomed} remains; delete it yourself" if os.path.isdir(doomed) else ""
        raise DiskError(f"{run.path}: cannot be removed: {os_reason(error)}{rest}") from error
