"""The command that trains a model: train."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.options import (
    AttentionOption,
    BudgetOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    EpochsOption,
    ModelOption,
    QuietOption,
    SeedOption,
    SetOption,
    SourceOption,
    StepsOption,
    StrategyOption,
    TargetOption,
    config_layers,
    corpus_flags,
    training_flags,
)
from seq2seq_cli.cli.resources import fetch_data
from seq2seq_cli.cli.workers import find_cluster, follow_chief, led, started
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config import Config
    from seq2seq_cli.runs.run import Run
    from seq2seq_cli.runtime.cluster import Cluster
    from seq2seq_cli.training.events import Result


TrainedRunOption = Annotated[
    str | None,
    typer.Option(
        "--run",
        help="Name in runs/ or path of the new run, or of the run that --resume continues.",
        autocompletion=completion.runs,
    ),
]
_ACCEPT_CHANGES = (
    "With --resume: continue even if config, data or versions differ from those of the run. "
    "The result then differs from that of an uninterrupted run."
)


def train(
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    device: DeviceOption = None,
    strategy: StrategyOption = None,
    epochs: EpochsOption = None,
    steps: StepsOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    run: TrainedRunOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the run's last checkpoint.")
    ] = False,
    accept_changes: Annotated[bool, typer.Option("--accept-changes", help=_ACCEPT_CHANGES)] = False,
    settings: SetOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what would be done, with estimates of time and memory; make no run.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model, in a new numbered folder in runs/."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.runs.naming import check_startable, find_changeable_run
    from seq2seq_cli.runs.resuming import resumed_config

    if resume and dry_run:
        raise UsageError("--dry-run is for a new run; leave out --resume")
    if accept_changes and not resume:
        raise UsageError("--accept-changes needs --resume")
    layers = config_layers(
        config,
        settings,
        *corpus_flags(data, source, target),
        *training_flags(device, epochs, steps, seed),
        ("training.strategy", strategy, "--strategy"),
        model=model,
        attention=attention,
        budget=budget,
    )
    cluster, strategy_in_effect = find_cluster(layers)
    layers.append(strategy_in_effect)
    if cluster and not cluster.is_chief and not dry_run:
        follow_chief(cluster, layers, quiet)
        return
    resumed = find_changeable_run(run, console.show_warning) if resume else None
    if resumed:
        resolved = resumed_config(resumed, *layers, raising=True, accepting=accept_changes)
    else:
        resolved = load_config(*layers)
    check_startable(resumed, run)
    if dry_run or not cluster:
        fetch_data(resolved.data, quiet)
    if dry_run:
        _show_plan(resolved, run, quiet, cluster)
        return
    result = _train(resolved, cluster, resumed, run, accept_changes, quiet)
    if not quiet:
        _show_end(result, resolved)


def _train(
    config: "Config",
    cluster: "Cluster | None",
    resumed: "Run | None",
    name: str | None,
    accept_changes: bool,
    quiet: bool,
) -> "Result":
    """Train in this process, as the chief if there are other workers."""
    from seq2seq_cli.training.interruption import interruption_errors

    with (
        interruption_errors(),
        led(cluster, config, quiet) as peers,
        started(config, quiet, cluster) as (display, device),
    ):
        from seq2seq_cli.training.loop import train as train_model
        from seq2seq_cli.training.team import ALONE, Chief

        return train_model(
            config,
            display,
            resume=resumed,
            name=name,
            device=device,
            accept_changes=accept_changes,
            team=Chief(cluster, peers) if cluster and peers else ALONE,
        )


def _show_plan(config: "Config", run: str | None, quiet: bool, cluster: "Cluster | None") -> None:
    """Print what training would do and need."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.training_display import plan_rows

    with started(config, quiet, cluster) as (display, device_used):
        from seq2seq_cli.training.plan import plan

        workers = cluster.size if cluster else 1
        planned = plan(config, display, run, device_used, workers)
    console.show_rows(plan_rows(planned))


def _show_end(result: "Result", config: "Config") -> None:
    """Print the result of training and the next command to stderr."""
    from seq2seq_cli.cli import console

    best = (
        f"; best dev BLEU {result.best_dev_bleu:.1f} at step {result.best_step}"
        if result.best_dev_bleu is not None
        else ""
    )
    took = console.duration(result.seconds)
    console.show_notice(f"Ended after {result.step} steps and {took}: {result.reason}{best}.")
    sentence = ' "I like apples."' if config.data.source_language == "en" else ""
    console.show_next(f"s2s translate --run {shlex.quote(result.run)}{sentence}")
