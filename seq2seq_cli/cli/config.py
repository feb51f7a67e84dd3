"""The commands for configurations: config show, check."""

from typing import Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import print_line
from seq2seq_cli.cli.options import (
    ConfigOption,
    DataOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
)
from seq2seq_cli.cli.suggestions import Command, CommandGroup

config_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Show and check configurations."
)


@config_app.command("show", cls=Command)
def show(
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    settings: SetOption = None,
) -> None:
    """Print every key as TOML: defaults, file and overrides together."""
    from seq2seq_cli.config.files import load_config

    layers = config_layers(config, settings, *corpus_flags(data, source, target))
    print_line(load_config(*layers).to_complete_toml().rstrip())


@config_app.command("check", cls=Command)
def check(
    config: Annotated[
        str,
        typer.Argument(
            help="A TOML file, or the name of a shipped config.", autocompletion=completion.configs
        ),
    ],
    settings: SetOption = None,
) -> None:
    """Check a config file; the error lists all problems found."""
    from seq2seq_cli.config.files import load_config

    load_config(*config_layers(config, settings))
    print_line(f"{config}: valid")
