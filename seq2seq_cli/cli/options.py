"""What several commands share: options, and how they begin and print."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.config.training import TrainingConfig

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override any value of the config."),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="auto, cpu, gpu or gpu:N.", metavar="DEVICE")
]
RunOption = Annotated[
    str | None, typer.Option("--run", help="A run's name below runs/, or its path.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
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


def config_layers(
    config: str | None, settings: list[str] | None, *flags: tuple[str, Any, str]
) -> "list[Overrides]":
    """Return the values of the config file and of the options, in the order of their weight.

    `flags` are (key, value or None, option).
    """
    from seq2seq_cli.config.files import find_config
    from seq2seq_cli.config.overrides import Overrides

    files = [Overrides.read(find_config(config))] if config else []
    options = Overrides()
    for assignment in settings or []:
        options.set_assignment(assignment)
    for key, value, flag in flags:
        options.flags[key] = flag
        if value is not None:
            options.set(key, value, flag)
    return [*files, options]


def set_model(options: "Overrides", model: str | None, attention: str | None) -> None:
    """Put what --model and --attention say, if they are given."""
    if model is not None:
        options.set_model(model)
    if attention is not None:
        options.set_attention(attention)


def corpus_flags(data: str | None, source: str | None, target: str | None) -> list[tuple]:
    """Return what `config_layers` takes for --data, --source and --target."""
    return [
        ("data.corpus", data, "--data"),
        ("data.source_language", source, "--source"),
        ("data.target_language", target, "--target"),
    ]


def find_data(config: "DataConfig") -> None:
    """See that the files are there, before slow imports; download Tatoeba if it is a source."""
    from seq2seq_cli.data.corpus import check_files

    check_files(config)
    if any(source.corpus == "tatoeba" for source in config.mixture):
        fetch_tatoeba()


def fetch_tatoeba() -> None:
    """Download Tatoeba to the cache, unless it is there, and show how far it is."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.data.tatoeba import download_tatoeba

    with console.download_progress("spa-eng.zip") as report:
        download_tatoeba(report)


def start_tensorflow(device: str, training: "TrainingConfig | None" = None) -> str:
    """Import TensorFlow in silence, and return a description of the device that is used.

    Its threads are shared as suits the training, or else translating.
    """
    from seq2seq_cli.cli import console
    from seq2seq_cli.runtime import devices, parallel, tensorflow

    tensorflow.import_tensorflow(console.show_warning if training else lambda text: None)
    description = devices.use_device(device)
    parallel.share_threads(parallel.most_shards(training) if training else parallel.parts_at_once())
    return description


def print_line(line: str) -> None:
    """Write a line of results, plain and at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
