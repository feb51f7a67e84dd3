"""The `s2s` command line: options in, one call, the result out.

Each command has its own file. Slow imports are inside the commands.
"""

import sys
from typing import Annotated

import typer

from seq2seq_cli.cli.ablate import ablate
from seq2seq_cli.cli.attention import attention
from seq2seq_cli.cli.bench import bench_app
from seq2seq_cli.cli.checkpoints import checkpoints_app
from seq2seq_cli.cli.compare import compare
from seq2seq_cli.cli.config import config_app
from seq2seq_cli.cli.data import data_app
from seq2seq_cli.cli.doctor import doctor
from seq2seq_cli.cli.evaluate import evaluate
from seq2seq_cli.cli.explain import explain
from seq2seq_cli.cli.export import export
from seq2seq_cli.cli.export_split import export_split
from seq2seq_cli.cli.figures import figures
from seq2seq_cli.cli.files import open_standard_streams
from seq2seq_cli.cli.init import init
from seq2seq_cli.cli.launch import launch
from seq2seq_cli.cli.play import play
from seq2seq_cli.cli.recipe import recipe_app
from seq2seq_cli.cli.report import make_report
from seq2seq_cli.cli.runs import runs_app
from seq2seq_cli.cli.score import score
from seq2seq_cli.cli.selftest import selftest
from seq2seq_cli.cli.serve import serve
from seq2seq_cli.cli.suggestions import Command, CommandGroup
from seq2seq_cli.cli.train import train
from seq2seq_cli.cli.translate import translate
from seq2seq_cli.cli.tune import tune
from seq2seq_cli.cli.watch import watch
from seq2seq_cli.errors import RunInterruptedError, S2SError

app = typer.Typer(
    name="s2s",
    cls=CommandGroup,
    help="Train, use and score sequence-to-sequence translation models with attention.",
    epilog="After `s2s --install-completion`, Tab completes commands, options, runs and configs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(init)
app.command(cls=Command)(train)
app.command(cls=Command)(launch)
app.command(cls=Command)(translate)
app.command(cls=Command)(score)
app.command(cls=Command)(attention)
app.command(cls=Command)(explain)
app.command(cls=Command)(play)
app.command(cls=Command)(serve)
app.command("eval", cls=Command)(evaluate)
app.command(cls=Command)(compare)
app.command("report", cls=Command)(make_report)
app.command(cls=Command)(watch)
app.command(cls=Command)(export)
app.command("export-split", cls=Command)(export_split)
app.command(cls=Command)(ablate)
app.command(cls=Command)(selftest)
app.command(cls=Command)(doctor)
app.add_typer(data_app, name="data")
recipe_app.command(cls=Command)(tune)
recipe_app.command(cls=Command)(figures)
app.add_typer(recipe_app, name="recipe")
app.add_typer(runs_app, name="runs")
app.add_typer(config_app, name="config")
app.add_typer(checkpoints_app, name="checkpoints")
app.add_typer(bench_app, name="bench")


def _print_versions(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        for package in ("s2s", "tensorflow", "keras", "tensorflow-text"):
            typer.echo(f"{package} {version(package)}")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the versions.", is_eager=True, callback=_print_versions
        ),
    ] = False,
) -> None:
    """Train, use and score sequence-to-sequence translation models with attention."""
    global _debug
    _debug = debug


def main() -> None:
    """Run the command line; an error is a message and an exit code, not a traceback."""
    open_standard_streams()
    try:
        app()
    except S2SError as error:
        if _debug:
            raise
        from seq2seq_cli.cli import console

        if isinstance(error, RunInterruptedError):
            console.show_notice(str(error))
        else:
            console.show_error(str(error))
        sys.exit(error.exit_code)


_debug = False
