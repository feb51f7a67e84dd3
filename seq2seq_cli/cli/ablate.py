"""The command that compares several models: ablate."""

from dataclasses import asdict
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
    SeedOption,
    SetOption,
    SourceOption,
    StepsOption,
    TargetOption,
    config_layers,
    corpus_flags,
    find_data,
    set_model,
    start_tensorflow,
    training_flags,
)


def ablate(
    folder: Annotated[Path, typer.Argument(help="The folder for the runs and the results.")],
    config: ConfigOption = None,
    models: Annotated[
        str, typer.Option("--model", help="Architectures, separated by commas.")
    ] = "rnn,transformer",
    attentions: Annotated[
        str, typer.Option("--attention", help="Scores of the rnn, separated by commas.")
    ] = "additive,dot,general,concat",
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    epochs: EpochsOption = None,
    steps: StepsOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    equal_parameters: Annotated[
        bool,
        typer.Option(
            "--equal-parameters",
            help="Choose widths that give all models as many weights as the first.",
        ),
    ] = False,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train several models with the same settings, and compare them in one table.

    The same command continues after an interruption.
    """
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.config.training import TrainingConfig
    from seq2seq_cli.runs.disk import check_writable
    from seq2seq_cli.training.events import Phase

    layers = config_layers(
        config,
        settings,
        *corpus_flags(data, source, target),
        *training_flags(device, epochs, steps, seed),
        budget=budget,
    )
    configs = {}
    for kind in models.split(","):
        for score in attentions.split(",") if kind == "rnn" else [None]:
            chosen = Overrides()
            set_model(chosen, kind, score)
            variant = load_config(*layers, chosen)
            configs[variant.model.label] = variant
    check_writable(folder)
    find_data(variant.data, quiet)
    with TrainingDisplay(quiet=quiet) as display:
        display(Phase("Starting TensorFlow"))
        # All train in this process, and XLA needs all threads for the one function it computes.
        device_used = start_tensorflow(variant.training.device, TrainingConfig(shards=1))

        from seq2seq_cli.recipes import ablation

        rows = ablation.ablate(configs, folder, display, equal_parameters, device_used)
    emit(Result([asdict(row) for row in rows], ablation.to_markdown(rows).rstrip()), as_json)
