"""The command that reproduces figures of the papers: recipe figures."""

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from seq2seq_cli.cli.files import Result, emit
from seq2seq_cli.cli.options import (
    BudgetOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    EpochsOption,
    JsonOption,
    QuietOption,
    SetOption,
    SourceOption,
    StepsOption,
    TargetOption,
    config_layers,
    corpus_flags,
    training_flags,
)
from seq2seq_cli.cli.trainings import several_trainings


class FigureName(str, Enum):
    """The figures, with their names in FIGURES."""

    lengths = "lengths"
    alignments = "alignments"
    scores = "scores"
    heads = "heads"


FigureOption = Annotated[
    list[FigureName] | None,
    typer.Option(
        "--figure",
        help="lengths, alignments, scores or heads. Repeat it for several; the default is all.",
        metavar="FIGURE",
    ),
]


def figures(
    folder: Annotated[Path, typer.Argument(help="The folder for the runs and the figures.")],
    figure: FigureOption = None,
    seeds: Annotated[int, typer.Option(help="Number of training runs of each model.", min=1)] = 3,
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    epochs: EpochsOption = None,
    steps: StepsOption = None,
    budget: BudgetOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train small models, and reproduce figures and tables of the papers with them.

    The same command continues after an interruption.
    """
    from seq2seq_cli.attention.figure import check_matplotlib
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.recipes.paper_models import configs_of

    check_matplotlib("s2s recipe figures needs")
    base = load_config(
        *config_layers(
            config,
            settings,
            *corpus_flags(data, source, target),
            *training_flags(device, epochs, steps, None),
            budget=budget,
        )
    )
    names = [each.value for each in dict.fromkeys(figure or FigureName)]
    configs_of(names, base, seeds)  # which finds contradictions before TensorFlow is started
    with several_trainings(folder, base, quiet) as (display, device_used):
        from seq2seq_cli.recipes import paper_figures

        made = paper_figures.make_figures(names, base, seeds, folder, display, device_used)
    emit(Result([asdict(each) for each in made], paper_figures.to_markdown(made).rstrip()), as_json)
    if not quiet:
        console.show_notice(f"The figures and their numbers: {folder}")
