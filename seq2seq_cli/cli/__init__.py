"""The `s2s` command: parse, one call, print. Slow imports stand inside the commands."""

import json
import sys
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from seq2seq_cli.cli import bench as cli_bench
from seq2seq_cli.cli import data as cli_data
from seq2seq_cli.cli import decoding as cli_decoding
from seq2seq_cli.cli.decoding import (
    BatchTokensOption,
    BeamOption,
    LengthPenaltyOption,
    RunsOption,
    runs_and_config,
)
from seq2seq_cli.cli.files import check_output, open_output, open_standard_streams
from seq2seq_cli.cli.options import (
    AttentionOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    JsonOption,
    ModelOption,
    RunOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
    find_data,
    print_line,
    set_model,
    start_tensorflow,
)
from seq2seq_cli.errors import RunInterruptedError, S2SError, UsageError

app = typer.Typer(
    name="s2s",
    help="Train, use and score sequence-to-sequence translation models with attention.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(no_args_is_help=True, help="Show and check configurations.")
app.add_typer(cli_data.data_app, name="data")
app.add_typer(config_app, name="config")
app.add_typer(cli_bench.bench_app, name="bench")


class Split(str, Enum):
    """The held-out splits."""

    dev = "dev"
    test = "test"


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
        typer.Option("--version", help="Print versions.", is_eager=True, callback=_print_versions),
    ] = False,
) -> None:
    """Train, use and score sequence-to-sequence translation models with attention."""
    global _debug
    _debug = debug


@app.command()
def train(
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    device: DeviceOption = None,
    epochs: Annotated[int | None, typer.Option(help="Stop after so many epochs.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop after so many updates.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop after a time: 90s, 10m, 1.5h.", metavar="TIME")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Determines the whole training.")] = None,
    run: RunOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run's last checkpoint stands.")
    ] = False,
    settings: SetOption = None,
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
    )
    set_model(layers[-1], model, attention)
    if budget is not None:
        layers[-1].set_duration("training.budget_seconds", budget, "--budget")
    resumed = find_run(run, console.show_warning) if resume else None
    resolved = resumed_config(resumed, *layers) if resumed else load_config(*layers)
    check_startable(resumed, run)
    find_data(resolved.data)
    with TrainingDisplay() as display:
        display(Phase("Starting TensorFlow"))
        device_used = start_tensorflow(resolved.training.device, resolved.training)

        from seq2seq_cli.training.loop import train as train_model

        result = train_model(resolved, display, resumed, run, device_used)
    console.show_result(result)


app.command()(cli_decoding.translate)
app.command()(cli_decoding.score)


@app.command("eval")
def evaluate(
    run: RunsOption = None,
    split: Annotated[Split, typer.Option(help="Which held-out pairs.")] = Split.test,
    data: DataOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write sources, translations and references (TSV)."),
    ] = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a run by BLEU and chrF on its leak-free test split."""
    from seq2seq_cli.cli import console

    if output:
        check_output(output)
    runs, decoding = runs_and_config(
        run,
        settings,
        ("beam", beam, "--beam"),
        ("length_penalty", length_penalty, "--length-penalty"),
        ("batch_tokens", batch_tokens, "--batch-tokens"),
    )
    config = runs[0].config().data
    if data is not None:
        config = config.moved_to(data)
    find_data(config)
    device_used = start_tensorflow(device or "auto")

    from seq2seq_cli.evaluation.test_split import evaluate as evaluate_runs

    evaluation = evaluate_runs(runs, config, split.value, console.show_warning, decoding)
    scores = evaluation.scores
    if as_json:
        record = {"run": evaluation.run, "checkpoint": evaluation.checkpoint, "split": split.value}
        search = {"search": decoding.description, "device": device_used}
        print_line(json.dumps({**record, **asdict(scores), **search}))
    else:
        rows = [
            ("run", f"{evaluation.run}, {evaluation.checkpoint}, {decoding.description}"),
            (split.value, f"{scores.sentences:,} sentences, {scores.references:,} references"),
            ("BLEU", f"{scores.bleu:.2f}   {scores.bleu_signature}"),
            ("chrF", f"{scores.chrf:.2f}   {scores.chrf_signature}"),
        ]
        console.show_rows(rows)
    # The scores are out by now, whatever happens to the file.
    if output:
        with open_output(output) as write:
            for row in evaluation.rows():
                write("\t".join(row))


@app.command()
def ablate(
    folder: Annotated[Path, typer.Argument(help="Where the runs and the results come.")],
    config: ConfigOption = None,
    models: Annotated[
        str, typer.Option("--model", help="Architectures, separated by commas.")
    ] = "rnn,transformer",
    attentions: Annotated[
        str, typer.Option("--attention", help="Scores of the rnn, separated by commas.")
    ] = "additive,dot,general,concat",
    data: DataOption = None,
    epochs: Annotated[int | None, typer.Option(help="Train each so many epochs.")] = None,
    steps: Annotated[int | None, typer.Option(help="Train each so many updates.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Train each so long: 90s, 10m, 1.5h.", metavar="TIME")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of each training.")] = None,
    equal_parameters: Annotated[
        bool,
        typer.Option("--equal-parameters", help="Give all as many weights as the first, by width."),
    ] = False,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train several models alike and compare them in one table; again, it goes on."""
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.config.training import TrainingConfig
    from seq2seq_cli.training.events import Phase

    layers = config_layers(
        config,
        settings,
        ("data.corpus", data, "--data"),
        ("training.epochs", epochs, "--epochs"),
        ("training.steps", steps, "--steps"),
        ("training.seed", seed, "--seed"),
        ("training.device", device, "--device"),
    )
    if budget is not None:
        layers[-1].set_duration("training.budget_seconds", budget, "--budget")
    configs = {}
    for kind in models.split(","):
        for score in attentions.split(",") if kind == "rnn" else [None]:
            chosen = Overrides()
            set_model(chosen, kind, score)
            variant = load_config(*layers, chosen)
            configs[variant.model.label] = variant
    find_data(variant.data)
    with TrainingDisplay() as display:
        display(Phase("Starting TensorFlow"))
        # All train in this process, and XLA needs all threads for the one function it computes.
        device_used = start_tensorflow(variant.training.device, TrainingConfig(shards=1))

        from seq2seq_cli.recipes import ablation

        rows = ablation.ablate(configs, folder, display, equal_parameters, device_used)
    if as_json:
        print_line(json.dumps([asdict(row) for row in rows]))
    else:
        print_line(ablation.to_markdown(rows).rstrip())


@app.command()
def selftest(
    run: RunOption = None,
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check what must hold for every model, on that of a run or on a new one of a config.

    The exit code is 1 if something does not hold.
    """
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.runs.run import find_run

    layers = config_layers(config, settings)
    set_model(layers[-1], model, attention)
    if run is not None and any(layers):
        raise UsageError("--run has a config of its own; leave out the other options")
    resolved = load_config(*layers)
    chosen = find_run(run, console.show_warning) if run is not None else None
    start_tensorflow(device or "auto")

    from seq2seq_cli.evaluation import selftest as tests

    checks = (
        tests.check_run(chosen, console.show_warning) if chosen else tests.check_fresh(resolved)
    )
    rows = [(check.name, check.deviation, check.holds) for check in checks]
    if as_json:
        keys = ("property", "deviation", "holds")
        print_line(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
    else:
        console.show_selftest(rows)
    if not all(check.holds for check in checks):
        raise typer.Exit(1)


@config_app.command("show")
def config_show(
    config: ConfigOption = None, data: DataOption = None, settings: SetOption = None
) -> None:
    """Print the resolved config as TOML: defaults, file and overrides together."""
    from seq2seq_cli.config.files import load_config

    layers = config_layers(config, settings, ("data.corpus", data, "--data"))
    print_line(load_config(*layers).to_toml().rstrip())


@config_app.command("check")
def config_check(
    config: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped config.")],
    settings: SetOption = None,
) -> None:
    """Check a config file; everything that is wrong is named."""
    from seq2seq_cli.config.files import load_config

    load_config(*config_layers(config, settings))
    print_line(f"{config}: valid")


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
