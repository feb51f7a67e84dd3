"""The command that trains a model: train."""

from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.options import (
    AttentionOption,
    BudgetOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    ModelOption,
    QuietOption,
    RunOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
    find_data,
    start_tensorflow,
)

if TYPE_CHECKING:
    from seq2seq_cli.training.events import Result


def train(
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    device: DeviceOption = None,
    epochs: Annotated[int | None, typer.Option(help="Stop after this number of epochs.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop after this number of updates.")] = None,
    budget: BudgetOption = None,
    seed: Annotated[int | None, typer.Option(help="Determines the whole training.")] = None,
    run: RunOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the run's last checkpoint.")
    ] = False,
    settings: SetOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train a model, into the next numbered folder below runs/."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.runs.run import check_startable, find_run, resumed_config
    from seq2seq_cli.training.events import Phase

    layers = config_layers(
        config,
        settings,
        *corpus_flags(data, source, target),
        ("training.device", device, "--device"),
        ("training.epochs", epochs, "--epochs"),
        ("training.steps", steps, "--steps"),
        ("training.seed", seed, "--seed"),
        model=model,
        attention=attention,
        budget=budget,
    )
    resumed = find_run(run, console.show_warning) if resume else None
    resolved = resumed_config(resumed, *layers) if resumed else load_config(*layers)
    check_startable(resumed, run)
    find_data(resolved.data, quiet)
    with TrainingDisplay(quiet=quiet) as display:
        display(Phase("Starting TensorFlow"))
        device_used = start_tensorflow(resolved.training.device, resolved.training)

        from seq2seq_cli.training.loop import train as train_model

        result = train_model(resolved, display, resumed, run, device_used)
    if not quiet:
        _show_end(result)


def _show_end(result: "Result") -> None:
    """Say what the training came to and what to do next, on stderr."""
    from seq2seq_cli.cli import console

    best = (
        f"; best dev BLEU {result.best_dev_bleu:.1f} at step {result.best_step}"
        if result.best_dev_bleu is not None
        else ""
    )
    took = console.duration(result.seconds)
    console.show_notice(f"Ended after {result.step} steps and {took}: {result.reason}{best}.")
    console.show_notice(f'Next: s2s translate --run {result.run} "I like apples."')
