"""The commands for checkpoints: checkpoints list, verify, average, prune."""

import os
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import Result, emit, print_line
from seq2seq_cli.cli.options import JsonOption, warn
from seq2seq_cli.cli.suggestions import Command, CommandGroup
from seq2seq_cli.errors import CheckpointError, UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from seq2seq_cli.runs.listing import CheckpointSummary
    from seq2seq_cli.runs.run import Run

checkpoints_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="List, verify, average and prune checkpoints."
)

RunArgument = Annotated[
    str,
    typer.Argument(help="A run's name in runs/, or its path.", autocompletion=completion.runs),
]


@checkpoints_app.command("list", cls=Command)
def list_checkpoints(run: RunArgument, as_json: JsonOption = False) -> None:
    """List and verify the checkpoints of a run, with update, dev BLEU, size and state."""
    from seq2seq_cli.runs.listing import summarise_checkpoints

    found = summarise_checkpoints(_found(run))
    if as_json:
        for each in found:
            emit(Result(asdict(each), ""), as_json)
        return
    emit(Result(None, _table(found) if found else "no checkpoint"), as_json)


@checkpoints_app.command(cls=Command)
def verify(run: RunArgument, as_json: JsonOption = False) -> None:
    """Check the hashes of all files of all checkpoints; the exit code is 4 if one is damaged."""
    from seq2seq_cli.runs.listing import summarise_checkpoints

    named = _found(run)
    found = summarise_checkpoints(named)
    if not found:
        named.best_checkpoint(warn)  # its error says what to do
    for each in found:
        emit(Result(asdict(each), f"{each.name}: {each.problem or 'valid'}"), as_json)
    damaged = [each for each in found if each.problem]
    if damaged:
        best = next((each.name for each in found if each.is_best), None)
        last = next((each.name for each in found if each.is_last), None)
        remedy = "Restore one from a copy, or train again"
        if best:
            remedy = f"Translation uses {best}. {remedy}"
        if last:
            remedy = (
                f"Translation uses {best}, and training continues from {last}. "
                f"`s2s checkpoints prune {shlex.quote(run)}` removes damaged ones that nothing uses"
            )
        raise CheckpointError(
            f"{named.path}: {len(damaged)} of {len(found)} checkpoints are damaged. {remedy}"
        )


@checkpoints_app.command(cls=Command)
def prune(
    run: RunArgument,
    keep: Annotated[
        int | None,
        typer.Option(
            help="Keep the newest N; the default is the run's training.keep_checkpoints.",
            metavar="N",
            min=1,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove old and damaged checkpoints, after asking; keep the best and the newest valid one."""
    import sys

    from seq2seq_cli.cli import console
    from seq2seq_cli.runs.listing import removable
    from seq2seq_cli.runs.saving import delete
    from seq2seq_cli.runs.summary import folder_size

    found = _found(run, changing=True)
    training = found.config().training
    with found.lock():
        paths = removable(found, keep or training.keep_checkpoints, training.keep_best_checkpoints)
        if not paths:
            print_line("nothing to remove")
            return
        names = ", ".join(path.name for path in paths)
        size = console.size_text(sum(map(folder_size, paths)))
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(
                    f"{found.path}: removing {names} cannot be undone; add --yes to remove without "
                    "asking"
                )
            typer.confirm(f"Remove {names} of {found.path} ({size})?", abort=True, err=True)
        delete(paths)
        for path in paths:
            print_line(f"removed {path}")


@checkpoints_app.command(cls=Command)
def average(
    run: RunArgument,
    last: Annotated[
        int | None, typer.Option("--last", help="Average the newest N.", metavar="N", min=2)
    ] = None,
    best: Annotated[
        int | None,
        typer.Option("--best", help="Average the N with the highest dev BLEU.", metavar="N", min=2),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The new run's name in runs/, or its path.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Average the weights of checkpoints and write a new run.

    `s2s translate --run` accepts the new run. Its training cannot be resumed.
    """
    from seq2seq_cli.runs.averaging import average_checkpoints, choose_checkpoints

    number = last or best
    if number is None or (last and best):
        raise UsageError("give either --last N or --best N, to select the checkpoints to average")
    found = _found(run)
    chosen = choose_checkpoints(found, number, best is not None, warn)
    made = average_checkpoints(found, chosen, to)
    names = [checkpoint.path.name for checkpoint in chosen]
    record = {"run": str(made.path), "checkpoints": names}
    emit(Result(record, f"{made.path}: average of {', '.join(names)}"), as_json)


def _found(name: str, changing: bool = False) -> "Run":
    """Return a run, after a check that its folder is that of a run.

    Raises:
        CheckpointError: if it is not.
    """
    from seq2seq_cli.runs.naming import find_changeable_run, find_run

    found = find_changeable_run(name) if changing else find_run(name)
    if not found.has_config and not os.path.isdir(found.checkpoints):
        found.config()  # its error says what the folder is, and what to do
    return found


def _table(found: "list[CheckpointSummary]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from seq2seq_cli.cli import console

    table = Table(box=None, header_style="bold cyan")
    table.add_column("checkpoint", no_wrap=True)
    for name in ("update", "BLEU", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    for each in found:
        marks = [text for text, is_so in (("best", each.is_best), ("last", each.is_last)) if is_so]
        state = ", ".join([each.problem or "valid", *marks])
        bleu = "-" if each.dev_bleu is None else f"{each.dev_bleu:.1f}"
        cells = (each.name, f"{each.update:,}", bleu, console.size_text(each.size), state)
        table.add_row(*map(Text, cells))
    return table
