"""Options and first steps that several commands share."""

import logging
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config import Config
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.config.training import TrainingConfig
    from seq2seq_cli.runs.run import Run

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

    files = [Overrides.read(find_config(config))] if config else []
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


class FoundRuns(NamedTuple):
    """The runs of --run, and their configs; the first config includes the options."""

    runs: "list[Run]"
    configs: "list[Config]"


def find_runs(
    names: list[str] | None, settings: list[str] | None, *flags: Flag, to: str | None = None
) -> FoundRuns:
    """Return the runs called `names`, or the newest run; each config is read once.

    Args:
        names: of --run.
        settings: of --set; only keys of `[decoding]`.
        flags: other options that set a key.
        to: the value of --to, the language that each run translates into.

    Raises:
        CheckpointError: if there is no such run.
        UsageError: if an option is invalid, or a run does not translate into that language.
    """
    from seq2seq_cli.runs.naming import find_run

    (options,) = config_layers(None, settings, *flags)
    options.sample_instead_of_beam()
    set_keys = [key for key, origin in options.origins.items() if origin.startswith("--set ")]
    others = [key for key in set_keys if not key.startswith("decoding.")]
    if others:
        raise UsageError(
            f"--set {others[0]}: a trained run accepts only keys of decoding, such as "
            "--set decoding.no_repeat_ngram=3"
        )
    runs = [find_run(name, warn) for name in names] if names else [find_run(None, warn)]
    first, *more = runs
    configs = [first.config(options), *(run.config() for run in more)]
    options.check_seed(configs[0].decoding.sample)
    for run, config in zip(runs, configs, strict=True):
        try:
            config.data.languages_to(to)
        except UsageError as error:
            raise UsageError(f"{run.path}: {error}") from None
    return FoundRuns(runs, configs)


def find_text_data(config: "DataConfig", quiet: bool = False) -> None:
    """Do the same as `find_data`, for commands that refuse prepared corpora."""
    from seq2seq_cli.data.corpus import check_files

    check_files(config)
    if any(source.corpus == "tatoeba" for source in config.mixture):
        fetch_tatoeba(quiet)


def find_data(config: "DataConfig", quiet: bool = False) -> None:
    """Check that the files exist, before slow imports; download what comes from a network."""
    from seq2seq_cli.config.data import is_address

    find_text_data(config, quiet)
    if is_address(config.corpus):
        _fetch_corpus(str(config.corpus), quiet)


def find_plain_data(config: "DataConfig", quiet: bool = False) -> None:
    """Do the same as `find_data`; import TensorFlow silently if reading the corpus needs it."""
    from seq2seq_cli.data.corpus import needs_tensorflow

    find_data(config, quiet)
    if needs_tensorflow(config):
        start_tensorflow("cpu")


def fetch_tatoeba(quiet: bool = False) -> None:
    """Download Tatoeba to the cache, unless it is there; show the progress unless quiet."""
    from seq2seq_cli.cli.progress import download_progress
    from seq2seq_cli.data.tatoeba import download_tatoeba

    with download_progress("spa-eng.zip", not quiet) as progress:
        download_tatoeba(progress)


def _fetch_corpus(address: str, quiet: bool) -> None:
    from seq2seq_cli.cli.progress import download_progress
    from seq2seq_cli.data.remote import download_corpus

    with download_progress(address, not quiet) as progress:
        download_corpus(address, progress)


def start_tensorflow(
    device: str, training: "TrainingConfig | None" = None, workers: int = 1
) -> str:
    """Import TensorFlow in silence, and return a description of the device that is used.

    Args:
        device: as --device says.
        training: by which the threads are shared; None to share them for translating.
        workers: number of workers that share the parallel computation.

    Raises:
        UsageError: if the device cannot be used.
    """
    from seq2seq_cli.runtime import devices, parallel, tensorflow

    devices.check_name(device)
    tensorflow.import_tensorflow(warn if training else None)
    # Its warnings are for programmers, such as that several models have a graph each.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    mirrored = training is not None and training.strategy == "mirrored"
    description = devices.use_all_gpus(device) if mirrored else devices.use_device(device)
    parts = parallel.number_of_shards(training) if training else parallel.parts_at_once()
    parallel.share_threads(-(-parts // workers))
    return description


def warn(message: str) -> None:
    """Print a warning to stderr; Rich is imported for the first one."""
    from seq2seq_cli.cli import console

    console.show_warning(message)


def warn_of_cut(number: int, sides: tuple[str, ...], limit: int) -> None:
    """Warn that one or both sides of line `number` were cut to `limit` tokens."""
    cut = " and the ".join(sides)
    warn(f"line {number}: cut the {cut} to {limit} tokens (decoding.max_source_tokens)")
