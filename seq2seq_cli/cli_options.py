"""What several commands share: options, and how they begin and print."""

import sys
from typing import Annotated

import typer

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override any value of the config."),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="auto, cpu, gpu or gpu:N.", metavar="DEVICE")
]
RunOption = Annotated[
    str | None, typer.Option("--run", help="A run's name below runs/, or its path.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def start_tensorflow(device: str) -> str:
    """Import TensorFlow in silence, and return a description of the device that is used."""
    from seq2seq_cli.devices import import_tensorflow, use_device

    import_tensorflow()
    return use_device(device)


def print_line(line: str) -> None:
    """Write a line of results, plain and at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
