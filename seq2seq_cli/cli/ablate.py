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
    set_model,
    training_flags,
)
from seq2seq_cli.cli.trainings import several_trainings
from seq2seq_cli.errors import UsageError

_SCORES = "additive,dot,general,concat"


def ablate(
    folder: Annotated[Path, typer.Argument(help="The folder for the runs and the results.")],
    config: ConfigOption = None,
    models: Annotated[
        str, typer.Option("--model", help="Architectures, separated by commas.")
    ] = "rnn,transformer",
    attentions: Annotated[
        str | None,
        typer.Option(
            "--attention",
            help=f"Scores of the rnn, separated by commas; {_SCORES} by default.",
        ),
    ] = None,
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
    from seq2seq_cli.config import Config
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides

    layers = config_layers(
        config,
        settings,
        *corpus_flags(data, source, target),
        *training_flags(device, epochs, steps, seed),
        budget=budget,
    )
    kinds = models.split(",")
    if attentions is not None and "rnn" not in kinds:
        raise UsageError("--attention is for rnn, which --model does not name. Leave it out")
    scores = _SCORES if attentions is None else attentions
    configs: dict[str, Config] = {}
    for kind in kinds:
        for score in scores.split(",") if kind == "rnn" else [None]:
            chosen = Overrides()
            set_model(chosen, kind, score)
            variant = load_config(*layers, chosen)
            label = variant.model.label
            if label in configs and configs[label] != variant:
                raise UsageError(
                    f"--attention {scores}: two variants have the name {label}. Leave one out"
                )
            configs[label] = variant
    with several_trainings(folder, variant, quiet) as (display, device_used):
        from seq2seq_cli.recipes import ablation

        rows = ablation.ablate(configs, folder, display, equal_parameters, device_used)
    emit(Result([asdict(row) for row in rows], ablation.to_markdown(rows).rstrip()), as_json)
