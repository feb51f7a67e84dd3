"""The command that searches for the best values of config keys: recipe tune."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.files import Result, check_input, emit
from seq2seq_cli.cli.options import (
    AttentionOption,
    BudgetOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    EpochsOption,
    JsonOption,
    ModelOption,
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

if TYPE_CHECKING:
    from rich.table import Table

    from seq2seq_cli.recipes.search_space import Space
    from seq2seq_cli.recipes.trials import Trial


def tune(
    space: Annotated[Path, typer.Argument(help="A TOML file with the table `space`.")],
    folder: Annotated[Path, typer.Argument(help="The folder for the runs and the results.")],
    trials: Annotated[
        int, typer.Option(help="Number of trials, including those of earlier calls.", min=1)
    ] = 20,
    draw_seed: Annotated[int, typer.Option(help="Random seed of the drawn values.", min=0)] = 0,
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
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
    """Search for the values of config keys with the best dev BLEU.

    The same command continues after an interruption.
    """
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.recipes.search_space import check_packages, read_space

    check_input(space, "SPACE")
    layers = config_layers(
        config,
        settings,
        *corpus_flags(data, source, target),
        *training_flags(device, epochs, steps, None),
        model=model,
        attention=attention,
        budget=budget,
    )
    base = load_config(*layers)
    drawn = read_space(space, base)
    check_packages()
    with several_trainings(folder, base, quiet) as (display, device_used):
        from seq2seq_cli.recipes import tuning
        from seq2seq_cli.recipes.trials import best_of

        found = tuning.tune(base, drawn, folder, trials, display, draw_seed, device_used)
    best = best_of(found)
    emit(_result(found, best, drawn), as_json)
    if best and not quiet:
        console.show_notice(f"The best config and the plot: {folder / tuning.BEST}, {tuning.PLOT}")
        console.show_next(f"s2s train --config {shlex.quote(str(folder / tuning.BEST))}")


def _result(trials: "Sequence[Trial]", best: "Trial | None", space: "Space") -> Result:
    record = {"best": best and best.number, "trials": [asdict(trial) for trial in trials]}
    return Result(record, _table(trials, best, space))


def _table(trials: "Sequence[Trial]", best: "Trial | None", space: "Space") -> "Table":
    """Return the trials, the best first; stopped and failed ones are last."""
    from rich.table import Table

    from seq2seq_cli.cli.console import duration

    table = Table("trial", "dev BLEU", "state", "steps", "time", *space)
    order = {"done": 0, "stopped": 1, "failed": 2, "running": 3}
    for trial in sorted(trials, key=lambda each: (order[each.state], -(each.dev_bleu or 0.0))):
        table.add_row(
            str(trial.number),
            "" if trial.dev_bleu is None else f"{trial.dev_bleu:.2f}",
            trial.state,
            f"{trial.steps:,}",
            duration(trial.seconds),
            *(_shown(trial.values[key]) for key in space),
            style="bold" if trial is best else None,
        )
    return table


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
