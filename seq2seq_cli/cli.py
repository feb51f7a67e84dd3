"""The `s2s` command: parse, one call, print. Slow imports stand inside the commands."""

import json
import os
import sys
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli import cli_decoding
from seq2seq_cli.cli_options import (
    DeviceOption,
    JsonOption,
    RunOption,
    SetOption,
    print_line,
    start_tensorflow,
)
from seq2seq_cli.errors import RunInterruptedError, S2SError, UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config import DataConfig
    from seq2seq_cli.config_files import Overrides

app = typer.Typer(
    name="s2s",
    help="Train, use and score sequence-to-sequence translation models with attention.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(no_args_is_help=True, help="Download and look at corpora.")
config_app = typer.Typer(no_args_is_help=True, help="Show and check configurations.")
app.add_typer(data_app, name="data")
app.add_typer(config_app, name="config")
app.add_typer(cli_decoding.bench_app, name="bench")


class Split(str, Enum):
    """The held-out splits."""

    dev = "dev"
    test = "test"


ConfigOption = Annotated[
    str | None, typer.Option("--config", "-c", help="A TOML file, or the name of a shipped config.")
]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="phrasebook, tatoeba, tfds:NAME, a zip, a TSV file, PREFIX of PREFIX.en and "
        "PREFIX.es, or a prepared folder.",
    ),
]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="Architecture: rnn, transformer or decoder-only.")
]
AttentionOption = Annotated[
    str | None,
    typer.Option(
        "--attention", help="Score: additive, dot, general, concat, scaled-dot; bahdanau or luong."
    ),
]
SourceOption = Annotated[str | None, typer.Option(help="Language translated from.")]
TargetOption = Annotated[str | None, typer.Option(help="Language translated to.")]


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
    from seq2seq_cli import console
    from seq2seq_cli.config_files import load_config
    from seq2seq_cli.run import find_run, resumed_config

    layers = _layers(
        config,
        settings,
        *_corpus(data, source, target),
        ("training.device", device, "--device"),
        ("training.epochs", epochs, "--epochs"),
        ("training.steps", steps, "--steps"),
        ("training.seed", seed, "--seed"),
    )
    _put_model(layers[-1], model, attention)
    if budget is not None:
        layers[-1].put_duration("training.budget_seconds", budget, "--budget")
    resumed = find_run(run, console.show_warning) if resume else None
    resolved = resumed_config(resumed, *layers) if resumed else load_config(*layers)
    _download_if_needed(resolved.data)
    device_used = start_tensorflow(resolved.training.device)

    from seq2seq_cli.train import train as train_model

    with console.TrainingDisplay() as display:
        result = train_model(resolved, display, resumed, run, device_used)
    console.show_result(result)


app.command()(cli_decoding.translate)
app.command()(cli_decoding.score)


@app.command("eval")
def evaluate(
    run: RunOption = None,
    split: Annotated[Split, typer.Option(help="Which held-out pairs.")] = Split.test,
    data: DataOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write sources, translations and references (TSV)."),
    ] = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a run by BLEU and chrF on its leak-free test split."""
    from seq2seq_cli import console
    from seq2seq_cli.run import find_run

    chosen = find_run(run, console.show_warning)
    config = chosen.config().data
    if data is not None:
        config = config.moved_to(data)
    _download_if_needed(config)
    device_used = start_tensorflow(device or "auto")

    from seq2seq_cli.evaluate import evaluate as evaluate_run

    evaluation = evaluate_run(chosen, config, split.value, console.show_warning)
    scores = evaluation.scores
    if output:
        evaluation.write_tsv(output)
    if as_json:
        record = {"run": evaluation.run, "checkpoint": evaluation.checkpoint, "split": split.value}
        print_line(json.dumps({**record, **asdict(scores), "device": device_used}))
        return
    rows = [
        ("run", f"{evaluation.run}, {evaluation.checkpoint}"),
        (split.value, f"{scores.sentences:,} sentences, {scores.references:,} references"),
        ("BLEU", f"{scores.bleu:.2f}   {scores.bleu_signature}"),
        ("chrF", f"{scores.chrf:.2f}   {scores.chrf_signature}"),
    ]
    console.show_rows(rows)


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
    from seq2seq_cli import console
    from seq2seq_cli.config_files import Overrides, load_config

    layers = _layers(
        config,
        settings,
        ("data.corpus", data, "--data"),
        ("training.epochs", epochs, "--epochs"),
        ("training.steps", steps, "--steps"),
        ("training.seed", seed, "--seed"),
        ("training.device", device, "--device"),
    )
    if budget is not None:
        layers[-1].put_duration("training.budget_seconds", budget, "--budget")
    configs = {}
    for kind in models.split(","):
        for score in attentions.split(",") if kind == "rnn" else [None]:
            chosen = Overrides()
            _put_model(chosen, kind, score)
            variant = load_config(*layers, chosen)
            configs[variant.model.label] = variant
    _download_if_needed(variant.data)
    start_tensorflow(variant.training.device)

    from seq2seq_cli import ablate as ablation

    with console.TrainingDisplay() as display:
        rows = ablation.ablate(configs, folder, display, equal_parameters)
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
    from seq2seq_cli import console
    from seq2seq_cli.config_files import load_config
    from seq2seq_cli.run import find_run

    layers = _layers(config, settings)
    _put_model(layers[-1], model, attention)
    if run is not None and any(layers):
        raise UsageError("--run has a config of its own; leave out the other options")
    resolved = load_config(*layers)
    chosen = find_run(run, console.show_warning) if run is not None else None
    start_tensorflow(device or "auto")

    from seq2seq_cli import selftest as tests

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


@data_app.command()
def download(
    name: Annotated[str, typer.Argument(help="The corpus: tatoeba.")] = "tatoeba",
) -> None:
    """Download a corpus to the cache, and check it."""
    from seq2seq_cli.data.tatoeba import tatoeba_path

    if name != "tatoeba":
        raise UsageError(f"{name}: not a corpus that can be downloaded; there is: tatoeba")
    _download_tatoeba()
    print_line(str(tatoeba_path()))


@data_app.command()
def stats(
    config: ConfigOption = None,
    data: DataOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show sizes, lengths, splits and coverage of a corpus."""
    from seq2seq_cli import console
    from seq2seq_cli.config_files import load_config
    from seq2seq_cli.data.statistics import statistics

    resolved = load_config(*_layers(config, settings, ("data.corpus", data, "--data")))
    _download_if_needed(resolved.data)
    found = statistics(resolved.data)
    if as_json:
        print_line(json.dumps(asdict(found), ensure_ascii=False))
    else:
        console.show_statistics(found)


@data_app.command("check")
def data_check(
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fix: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Write a cleaned copy of the corpus, not of the dev and test files, in its own "
            "format, gzipped if OUT ends in .gz; of parallel files, OUT is the PREFIX. Mojibake "
            "and control characters are put right; lines with any other finding are left out, "
            "those that are only suspicious (ratio, language, numbers, misaligned) too.",
        ),
    ] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for bad and suspicious lines in a corpus' files; the exit code is 1 if there are any."""
    from seq2seq_cli import console
    from seq2seq_cli.config_files import load_config
    from seq2seq_cli.data.check import check

    layers = _layers(
        config,
        settings,
        *_corpus(data, source, target),
    )
    resolved = load_config(*layers)
    _download_if_needed(resolved.data)
    report = check(resolved.data, fix)
    if as_json:
        print_line(json.dumps({**asdict(report), "is_clean": report.is_clean}, ensure_ascii=False))
    else:
        console.show_check(report)
    if not report.is_clean:
        raise typer.Exit(1)


@data_app.command()
def prepare(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus as a data set on disk, which need not fit in memory. Train on it by --data."""
    from seq2seq_cli import console
    from seq2seq_cli.config_files import load_config

    resolved = load_config(
        *_layers(
            config,
            settings,
            *_corpus(data, source, target),
        )
    )
    _download_if_needed(resolved.data)
    start_tensorflow("cpu")

    from seq2seq_cli.data.preparation import prepare as prepare_corpus

    with console.pair_progress() as report:
        corpus = prepare_corpus(resolved, folder, report)
    sides = {name: len(getattr(corpus, name)) for name in ("train", "dev", "test")}
    if as_json:
        record = {"folder": str(folder), "fingerprint": corpus.fingerprint, **sides}
        print_line(json.dumps({**record, "dropped": corpus.dropped, "shared": corpus.shared}))
        return
    rows = [
        ("corpus", corpus.description),
        ("pairs", ", ".join(f"{pairs:,} {name}" for name, pairs in sides.items())),
        ("dropped", ", ".join(f"{n:,} {why}" for why, n in corpus.dropped.items()) or "nothing"),
        ("fingerprint", corpus.fingerprint),
        ("train by", f"s2s train --data {folder}"),
    ]
    console.show_rows(rows)


@config_app.command("show")
def config_show(
    config: ConfigOption = None, data: DataOption = None, settings: SetOption = None
) -> None:
    """Print the resolved config as TOML: defaults, file and overrides together."""
    from seq2seq_cli.config_files import load_config

    layers = _layers(config, settings, ("data.corpus", data, "--data"))
    print_line(load_config(*layers).to_toml().rstrip())


@config_app.command("check")
def config_check(
    config: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped config.")],
    settings: SetOption = None,
) -> None:
    """Check a config file; everything that is wrong is named."""
    from seq2seq_cli.config_files import load_config

    load_config(*_layers(config, settings))
    print_line(f"{config}: valid")


def _layers(
    config: str | None, settings: list[str] | None, *flags: tuple[str, Any, str]
) -> "list[Overrides]":
    """Return the values of the config file and of the options, in the order of their weight.

    `flags` are (key, value or None, option).
    """
    from seq2seq_cli.config_files import Overrides, find_config

    layers = [Overrides.read(find_config(config))] if config else []
    options = Overrides()
    for assignment in settings or []:
        options.put_assignment(assignment)
    for key, value, flag in flags:
        if value is not None:
            options.put(key, value, flag)
    return [*layers, options]


def _corpus(data: str | None, source: str | None, target: str | None) -> list[tuple]:
    """Return what `_layers` takes for --data, --source and --target."""
    return [
        ("data.corpus", data, "--data"),
        ("data.source_language", source, "--source"),
        ("data.target_language", target, "--target"),
    ]


def _put_model(options: "Overrides", model: str | None, attention: str | None) -> None:
    if model is not None:
        options.put_model(model)
    if attention is not None:
        options.put_attention(attention)


def _download_if_needed(config: "DataConfig") -> None:
    if any(source.corpus == "tatoeba" for source in config.mixture):
        _download_tatoeba()


def _download_tatoeba() -> None:
    from seq2seq_cli import console
    from seq2seq_cli.data.tatoeba import download_tatoeba

    with console.download_progress("spa-eng.zip") as report:
        download_tatoeba(report)


def main() -> None:
    """Run the command line; an error is a message and an exit code, not a traceback."""
    try:
        app()
    except S2SError as error:
        if _debug:
            raise
        from seq2seq_cli import console

        if isinstance(error, RunInterruptedError):
            console.show_notice(str(error))
        else:
            console.show_error(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read the results has had enough, as `head` has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + 13)


_debug = False
