"""The command that exports a run to another format, and compares both: export."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import Result, check_text, emit
from seq2seq_cli.cli.options import (
    DataOption,
    JsonOption,
    QuietOption,
    SourceOption,
    TargetOption,
    corpus_flags,
    warn,
)
from seq2seq_cli.cli.resources import fetch_data, find_one, start_tensorflow


class Kind(str, Enum):
    """The values of --to."""

    bundle = "bundle"
    saved_model = "saved-model"
    ctranslate2 = "ctranslate2"
    litert = "litert"


class Quantization(str, Enum):
    """The values of --quantization."""

    float32 = "float32"
    int8 = "int8"
    int16 = "int16"
    bfloat16 = "bfloat16"


def export(
    run: Annotated[
        str,
        typer.Argument(
            help="A run's name in runs/, its path, or a bundle.", autocompletion=completion.runs
        ),
    ],
    out: Annotated[Path, typer.Argument(help="The file or folder to create.")],
    to: Annotated[Kind, typer.Option("--to", help="The format.")],
    quantization: Annotated[
        Quantization | None,
        typer.Option(help="Type of the weights, for ctranslate2 and litert; float32 by default."),
    ] = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a run in another format, and compare its translations with the run's.

    The run and the export translate the first 200 sentences of the dev split. If fewer
    translations are equal than the format promises, nothing is written, and the exit code is 1.
    --data gives the new location of the run's corpus.
    """
    check_text(str(out), "the name of the export")
    found = find_one(run, None, *corpus_flags(None, source, target))
    table = found.config.data
    table = table if data is None else table.moved_to(data)
    start_tensorflow("cpu")

    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.export import exporting

    chosen = quantization.value if quantization else None
    exporting.check_output(out, to.value, chosen)
    fetch_data(table, quiet)
    with work_progress(not quiet) as show:
        made = exporting.export(
            found.run,
            out,
            kind=to.value,
            quantization=chosen,
            data=table,
            warn=warn,
            show=show,
        )
    lines = [*map(str, made.agreements), f"{made.path}: written"]
    emit(Result(made.record(), "\n".join(lines)), as_json)
