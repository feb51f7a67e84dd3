"""The command that shows the curves of training in another process: watch."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import print_line
from seq2seq_cli.cli.options import warn

if TYPE_CHECKING:
    from rich.console import RenderableType

    from seq2seq_cli.runs.run import Run

_CURVES = {"loss": "training", "dev_bleu": "validation", "pairs_per_second": "training"}
_TITLES = {"loss": "loss", "dev_bleu": "dev BLEU", "pairs_per_second": "pairs/s"}


def watch(
    run: Annotated[
        str | None,
        typer.Argument(
            help="A run's name in runs/, or its path; by default the run that is being trained.",
            autocompletion=completion.runs,
        ),
    ] = None,
    every: Annotated[
        float, typer.Option(help="Seconds between updates of the display.", min=0.1)
    ] = 2.0,
) -> None:
    """Show training in another process: live curves on a terminal, lines elsewhere.

    The command ends when training ends. Ctrl-C ends only the command.
    """
    from seq2seq_cli.cli import console
    from seq2seq_cli.runs.naming import find_run

    found = _in_training() if run is None else find_run(run, warn)
    try:
        if console.stdout.is_interactive:
            _show_curves(found, every)
        else:
            _print_lines(found, every)
    except KeyboardInterrupt:
        return


def _in_training() -> "Run":
    """Return the run that is being trained, or the newest one."""
    from seq2seq_cli.runs.naming import find_run
    from seq2seq_cli.runs.summary import all_runs

    locked = [run for run in all_runs() if run.is_locked()]
    return locked[-1] if locked else find_run(None, warn)


def _show_curves(run: "Run", every: float) -> None:
    from rich.live import Live

    from seq2seq_cli.cli import console

    with Live(console=console.stdout, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            goes_on = run.is_locked()
            live.update(_frame(run, goes_on), refresh=True)
            if not goes_on:
                return
            time.sleep(every)


def _print_lines(run: "Run", every: float) -> None:
    """Print a line for each new entry of metrics.jsonl."""
    printed = 0
    while True:
        goes_on = run.is_locked()  # before the entries are read, so that none is missed
        entries = run.metrics()
        printed = min(printed, len(entries))  # a resumed run drops some
        for entry in entries[printed:]:
            print_line(_line(entry))
        printed = len(entries)
        if not goes_on:
            return
        time.sleep(every)


def _frame(run: "Run", goes_on: bool) -> "RenderableType":
    """Return the last figures and the curves, in the height of the terminal."""
    from rich.console import Group
    from rich.text import Text

    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.curves import drawn_curves
    from seq2seq_cli.runs.metrics_log import CHANGES, DIAGNOSIS, END, TRAINING, of_kind

    entries = run.metrics()
    last = of_kind(entries, TRAINING, END)[-1:]
    notes = of_kind(entries, CHANGES, DIAGNOSIS)
    state = "in training" if goes_on else "not in training"
    parts: list[RenderableType] = [Text(f"{run.path}: {state}", "bold")]
    parts += [Text(_line(entry)) for entry in last]
    parts += [Text(_line(entry), "yellow") for entry in notes]
    height = max(3, (console.stdout.height - len(parts) - 1) // len(_CURVES) - 4)
    for key, kind in _CURVES.items():
        points = [(entry["step"], entry[key]) for entry in of_kind(entries, kind)]
        parts.append(drawn_curves(_TITLES[key], {"": points}, console.stdout, height))
    return Group(*parts)


def _line(entry: dict[str, Any]) -> str:
    """Return an entry of metrics.jsonl as text."""
    from seq2seq_cli.cli.console import duration

    step = f"update {entry['step']:,}"
    match entry.get("kind"):
        case "training":
            left = entry["seconds_left"]
            return (
                f"{step}: epoch {entry['epoch']}, loss {entry['loss']:.3f}, "
                f"{entry['pairs_per_second']:,.0f} pairs/s, rate {entry['learning_rate']:.2e}, "
                f"{entry['share_done']:.0%} done"
                + (f", {duration(left)} left" if left is not None else "")
            )
        case "validation":
            return (
                f"{step}: dev BLEU {entry['dev_bleu']:.1f}, chrF {entry['dev_chrf']:.1f}, loss "
                f"{entry['dev_loss']:.3f}" + (" (best)" if entry["is_best"] else "")
            )
        case "diagnosis":
            return f"{step}: diagnosis: {entry['text']}."
        case "changes":
            return f"{step}: continued with changes: {', '.join(entry['changes'])}"
        case "end":
            return f"{step}: ended after {duration(entry['seconds'])}: {entry['reason']}"
        case "start":
            return f"{entry['corpus']}, {entry['parameters']:,} parameters"
    return f"{step}: {entry.get('kind')}"
