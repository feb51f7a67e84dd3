"""The commands that measure: bench train, bench decode."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from seq2seq_cli.cli.decoding import (
    BatchTokensOption,
    BeamOption,
    InputOption,
    LengthPenaltyOption,
    runs_and_config,
)
from seq2seq_cli.cli.files import check_input, open_input
from seq2seq_cli.cli.options import (
    AttentionOption,
    ConfigOption,
    DataOption,
    DeviceOption,
    JsonOption,
    ModelOption,
    RunOption,
    SetOption,
    config_layers,
    find_data,
    print_line,
    set_model,
    start_tensorflow,
)

bench_app = typer.Typer(no_args_is_help=True, help="Measure speed and memory.")

TrialsOption = Annotated[int, typer.Option(help="Times after a warm-up.", min=1)]


@bench_app.command("train")
def bench_train(
    config: ConfigOption = None,
    model: ModelOption = None,
    attention: AttentionOption = None,
    data: DataOption = None,
    steps: Annotated[
        int, typer.Option(help="Updates in each trial: the first of an epoch.", min=1)
    ] = 100,
    trials: TrialsOption = 3,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a model trains, where the time goes, and with what memory."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config

    layers = config_layers(
        config,
        settings,
        ("data.corpus", data, "--data"),
        ("training.device", device, "--device"),
    )
    set_model(layers[-1], model, attention)
    resolved = load_config(*layers)
    find_data(resolved.data)
    device_used = start_tensorflow(resolved.training.device, resolved.training)

    from seq2seq_cli.runtime.computation import Computation
    from seq2seq_cli.training.speed import measure_training

    found = measure_training(resolved, steps, trials, console.show_notice)
    if as_json:
        described = {"model": resolved.model.description, "device": device_used}
        print_line(json.dumps({**described, **asdict(found)}))
        return
    computation = Computation(found.precision, found.shards)
    console.show_rows(
        [
            ("model", resolved.model.description),
            ("device", f"{device_used}, {computation.described(resolved.training.compile)}"),
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
                "a step",
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
            ("memory", f"{found.peak_memory_mb:,.0f} MB at most"),
        ]
    )


@bench_app.command("decode")
def bench_decode(
    run: RunOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    sentences: Annotated[
        int | None, typer.Option(help="So many sentences of the test split; all if not given.")
    ] = None,
    input_file: InputOption = None,
    trials: TrialsOption = 3,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a run translates its test split, and with what memory."""
    from seq2seq_cli.cli import console

    if input_file:
        check_input(input_file)
    runs, config = runs_and_config(
        [run] if run else None,
        settings,
        ("beam", beam, "--beam"),
        ("length_penalty", length_penalty, "--length-penalty"),
        ("batch_tokens", batch_tokens, "--batch-tokens"),
    )
    device_used = start_tensorflow(device or "auto")

    from seq2seq_cli.runtime.memory import resident_memory

    memory = resident_memory()

    from seq2seq_cli.data.corpus import read_corpus
    from seq2seq_cli.data.splits import group_references
    from seq2seq_cli.decoding.lines import in_windows
    from seq2seq_cli.decoding.speed import measure_decoding
    from seq2seq_cli.decoding.translator import load_run

    if input_file:
        with open_input(input_file) as (stream, name):
            lines = in_windows(stream, name, str, lambda lines, first: lines, "read")
            chosen = [line for _, line, _ in lines]
    else:
        chosen, _ = group_references(read_corpus(runs[0].config().data).test)
    translator = load_run(runs[0], console.show_warning).translator(config)
    found = measure_decoding(translator, chosen[:sentences], trials, memory, console.show_notice)
    if as_json:
        record = {"run": str(runs[0].path), "beam": config.beam, "device": device_used}
        print_line(json.dumps({**record, **asdict(found)}))
        return
    rate = f"{found.sentences_per_second:,.0f} sentences/s, {found.tokens_per_second:,.0f} tokens/s"
    console.show_rows(
        [
            ("run", f"{runs[0].path}, beam {config.beam}"),
            ("device", device_used),
            ("sentences", f"{found.sentences:,}, of {found.tokens:,} tokens in translation"),
            (
                "seconds",
                f"{found.seconds:.2f} ({found.fastest_seconds:.2f} to "
                f"{found.slowest_seconds:.2f}); the first time {found.first_seconds:.2f}",
            ),
            ("speed", rate),
            (
                "memory",
                f"{found.peak_memory_mb:,.0f} MB at most, {found.memory_above_import_mb:,.0f} MB "
                "above TensorFlow's import",
            ),
        ]
    )
