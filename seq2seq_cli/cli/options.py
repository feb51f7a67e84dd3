"""Options that several commands share, and warnings."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli.cli import completion

if TYPE_CHECKING:
    from seq2seq_cli.config.overrides import Overrides

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override any value of the config.",
        autocompletion=completion.settings,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="auto, cpu, gpu or gpu:N.",
        metavar="DEVICE",
        autocompletion=completion.devices,
    ),
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        help="Compute on one device, on all GPUs of this machine, or on the workers in TF_CONFIG.",
        metavar="auto|one|mirrored|workers",
        autocompletion=completion.strategies,
    ),
]
RunOption = Annotated[
    str | None,
    typer.Option(
        "--run",
        help="A run's name in runs/, its path, or a bundle.",
        autocompletion=completion.runs,
    ),
]
RunsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        help="A run's name in runs/, its path, or a bundle; several form an ensemble.",
        autocompletion=completion.runs,
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress: only results, warnings and errors.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        help="A TOML file, or the name of a shipped config.",
        autocompletion=completion.configs,
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="phrasebook, tatoeba, tfds:NAME, a zip, a TSV file, the PREFIX of PREFIX.en and "
        "PREFIX.es, a prepared folder, or the address of one.",
        autocompletion=completion.corpora,
    ),
]
SourceOption = Annotated[str | None, typer.Option(help="Language to translate from.")]
TargetOption = Annotated[str | None, typer.Option(help="Language to translate into.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="Architecture: rnn, transformer or decoder-only.",
        autocompletion=completion.models,
    ),
]
AttentionOption = Annotated[
    str | None,
    typer.Option(
        "--attention",
        help="Score: additive, dot, general, concat, scaled-dot, location, none; or bahdanau, "
        "luong, local-m, local-p.",
        autocompletion=completion.attentions,
    ),
]
EpochsOption = Annotated[
    int | None, typer.Option("--epochs", help="Stop training after this number of epochs.")
]
StepsOption = Annotated[
    int | None, typer.Option("--steps", help="Stop training after this number of updates.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Random seed of training.")]
BudgetOption = Annotated[
    str | None,
    typer.Option(help="Stop training after this time: 90s, 10m, 1.5h.", metavar="TIME"),
]
BeamOption = Annotated[
    int | None,
    typer.Option(
        "--beam", help="Number of hypotheses that the search keeps; 1 is greedy.", metavar="K"
    ),
]
LengthPenaltyOption = Annotated[
    float | None,
    typer.Option(
        "--length-penalty", help="Power of the length that divides log-probabilities.", metavar="A"
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to", help="Language to translate into, if the run has several.", metavar="LANGUAGE"
    ),
]
RerankOption = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        help="Re-rank the beam or the samples with a run of the opposite direction.",
        metavar="RUN",
        autocompletion=completion.runs,
    ),
]
RerankWeightOption = Annotated[
    float | None,
    typer.Option("--rerank-weight", help="Weight of the reverse log-probability.", metavar="W"),
]
BatchTokensOption = Annotated[
    int | None, typer.Option("--batch-tokens", help="Maximum source tokens of a padded batch.")
]

Flag = tuple[str, Any, str]  # key, value or None, option


def config_layers(
    config: str | None,
    settings: list[str] | None,
    *flags: Flag,
    model: str | None = None,
    attention: str | None = None,
    budget: str | None = None,
) -> "list[Overrides]":
    """Return the values of the config file and of the options; later layers win.

    Args:
        config: of --config.
        settings: of --set.
        flags: other options that set a key.
        model: of --model.
        attention: of --attention.
        budget: of --budget.

    Raises:
        UsageError: if a file cannot be read or an option cannot be parsed.
    """
    from seq2seq_cli.config.files import find_config
    from seq2seq_cli.config.overrides import Overrides

    files = [] if config is None else [Overrides.read(find_config(config))]
    options = Overrides()
    for assignment in settings or []:
        options.set_assignment(assignment)
    for key, value, flag in flags:
        options.flags[key] = flag
        if value is not None:
            options.set(key, value, flag)
    set_model(options, model, attention)
    if budget is not None:
        options.set_duration("training.budget_seconds", budget, "--budget")
    return [*files, options]


def set_model(options: "Overrides", model: str | None, attention: str | None) -> None:
    """Set the values of --model and --attention, if they are given."""
    if model is not None:
        options.set_model(model)
    if attention is not None:
        options.set_attention(attention)


def corpus_flags(data: str | None, source: str | None, target: str | None) -> list[Flag]:
    """Return the flags of --data, --source and --target."""
    return [
        ("data.corpus", data, "--data"),
        ("data.source_language", source, "--source"),
        ("data.target_language", target, "--target"),
    ]


def training_flags(
    device: str | None, epochs: int | None, steps: int | None, seed: int | None
) -> list[Flag]:
    """Return the flags of --device, --epochs, --steps and --seed."""
    return [
        ("training.device", device, "--device"),
        ("training.epochs", epochs, "--epochs"),
        ("training.steps", steps, "--steps"),
        ("training.seed", seed, "--seed"),
    ]


def decoding_flags(**values: Any) -> list[Flag]:
    """Return the flags of options that have the names of keys of `[decoding]`."""
    return [
        (f"decoding.{key}", value, f"--{key.replace('_', '-')}") for key, value in values.items()
    ]


def warn(message: str) -> None:
    """Print a warning to stderr; Rich is imported for the first one."""
    from seq2seq_cli.cli import console

    console.show_warning(message)


def warn_of_cut(number: int, sides: tuple[str, ...], limit: int) -> None:
    """Warn that one or both sides of line `number` were cut to `limit` tokens."""
    cut = " and the ".join(sides)
    warn(f"line {number}: cut the {cut} to {limit} tokens (decoding.max_source_tokens)")
