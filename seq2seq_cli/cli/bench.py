"""The commands that measure speed: bench train, bench decode."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.files import InputOption, Result, check_input, emit, open_input
from seq2seq_cli.cli.options import (
    AttentionOption,
    BatchTokensOption,
    BeamOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    ModelOption,
    QuietOption,
    RunOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
    decoding_flags,
    warn,
)
from seq2seq_cli.cli.resources import fetch_data, find_one, start_tensorflow
from seq2seq_cli.cli.suggestions import Command, CommandGroup
from seq2seq_cli.cli.test_sets import Corpus, refuse_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from seq2seq_cli.config import Config
    from seq2seq_cli.decoding.speed import DecodingSpeed
    from seq2seq_cli.training.speed import TrainingSpeed

bench_app = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Measure speed and memory.")

TrialsOption = Annotated[int, typer.Option(help="Number of trials after a warm-up.", min=1)]


@bench_app.command("train", cls=Command)
def bench_train(
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    steps: Annotated[
        int,
        typer.Option(help="Number of updates per trial; they are the first of an epoch.", min=1),
    ] = 100,
    trials: TrialsOption = 3,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a model trains, where the time goes, and how much memory it uses."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.training_display import TrainingDisplay
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.training.events import Phase

    layers = config_layers(
        config,
        settings,
        *corpus_flags(data, source, target),
        ("training.device", device, "--device"),
        model=model,
        attention=attention,
    )
    resolved = load_config(*layers)
    fetch_data(resolved.data, quiet)
    # Lines, because a live display would slow down the trials.
    display = TrainingDisplay(quiet=quiet, is_live=False)
    display(Phase("Starting TensorFlow"))
    device_used = start_tensorflow(resolved.training.device, resolved.training)

    from seq2seq_cli.training.speed import measure_training

    found = measure_training(resolved, steps, trials, _told(quiet), display)
    record = {"model": resolved.model.description, "device": device_used, **asdict(found)}
    rows = _training_rows(resolved, device_used, found)
    emit(Result(record, console.two_columns(rows)), as_json)


def _training_rows(config: "Config", device: str, found: "TrainingSpeed") -> list[tuple[str, str]]:
    from seq2seq_cli.runtime.computation import Computation

    computation = Computation(found.precision, found.shards)
    return [
        ("model", config.model.description),
        ("device", f"{device}, {computation.described(config.training.compile)}"),
        (
            "trial",
            f"{found.steps:,} updates, {found.pairs:,} pairs, {found.padding_share:.1%} "
            f"padding, {found.shapes} shapes",
        ),
        (
            "seconds",
            f"{found.seconds:.2f} ({found.fastest_seconds:.2f} to "
            f"{found.slowest_seconds:.2f}); the first time {found.warm_up_seconds:.2f}",
        ),
        (
            "speed",
            f"{found.pairs_per_second:,.0f} pairs/s, "
            f"{found.target_tokens_per_second:,.0f} target tokens/s",
        ),
        (
            "an update",
            f"{found.step_ms:.1f} ms: input {found.input_ms:.1f}, forward "
            f"{found.forward_ms:.1f}, backward {found.backward_ms:.1f}, optimizer "
            f"{found.optimizer_ms:.1f}",
        ),
        (
            "utilisation",
            f"{found.utilisation:.0%}: {found.operations_per_second / 1e9:,.0f} GFLOP/s in "
            f"matrix products of {found.peak_operations_per_second / 1e9:,.0f}",
        ),
        ("first update", f"after {found.first_step_seconds:.1f} s, compilation included"),
        ("memory", f"at most {found.peak_memory_mb:,.0f} MB"),
    ]


@bench_app.command("decode", cls=Command)
def bench_decode(
    run: RunOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    sentences: Annotated[
        int | None,
        typer.Option(help="Number of sentences from the test split; all by default.", min=1),
    ] = None,
    input_file: InputOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    trials: TrialsOption = 3,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a run translates its test split, and how much memory it uses."""
    from seq2seq_cli.cli import console

    if input_file:
        given = {"--data": data, "--source": source, "--target": target}
        refuse_options(given, "is for the test split, and excludes --input. Leave one of them out")
        check_input(input_file)
    found = find_one(
        run,
        settings,
        *corpus_flags(None, source, target),
        *decoding_flags(beam=beam, length_penalty=length_penalty, batch_tokens=batch_tokens),
    )
    corpus = Corpus.of(found, data, None)
    if not input_file:
        fetch_data(corpus.data, quiet)
    device_used = start_tensorflow(device)

    from seq2seq_cli.runtime.memory import resident_memory

    memory = resident_memory()

    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.decoding.speed import measure_decoding

    chosen = _sentences(input_file, corpus, quiet)[:sentences]
    loaded = load_run(found.run, warn, found.config)
    speed = measure_decoding(loaded.translator(), chosen, trials, memory, _told(quiet))
    beams = loaded.decoding.beam
    record = {"run": loaded.name, "beam": beams, "device": device_used, **asdict(speed)}
    rows = [("run", f"{loaded.name}, beam {beams}"), ("device", device_used)]
    rows += _decoding_rows(speed)
    emit(Result(record, console.two_columns(rows)), as_json)


def _told(quiet: bool) -> "Callable[[str], None]":
    """Return a function that shows the time of each trial."""
    from seq2seq_cli.cli import console

    return (lambda line: None) if quiet else console.show_notice


def _sentences(input_file: Path | None, corpus: Corpus, quiet: bool) -> list[str]:
    """Return the lines of a file, or the sources of the test split."""
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.data.corpus import read_same_corpus
    from seq2seq_cli.data.splits import group_references
    from seq2seq_cli.decoding.lines import in_windows

    if input_file is None:
        with work_progress(not quiet) as show:
            read = read_same_corpus(corpus.data, corpus.fingerprint, corpus.run, show)
            return group_references(read.test)[0]
    with open_input(input_file) as (stream, name):
        lines = in_windows(stream, name, str, lambda lines, first: lines, "read")
        return [line for _, line, _ in lines]


def _decoding_rows(speed: "DecodingSpeed") -> list[tuple[str, str]]:
    rate = f"{speed.sentences_per_second:,.0f} sentences/s, {speed.tokens_per_second:,.0f} tokens/s"
    return [
        ("sentences", f"{speed.sentences:,}, of {speed.tokens:,} tokens in translation"),
        (
            "seconds",
            f"{speed.seconds:.2f} ({speed.fastest_seconds:.2f} to "
            f"{speed.slowest_seconds:.2f}); the first time {speed.first_seconds:.2f}",
        ),
        ("speed", rate),
        (
            "memory",
            f"at most {speed.peak_memory_mb:,.0f} MB, {speed.memory_above_import_mb:,.0f} MB "
            "above TensorFlow's import",
        ),
    ]
