"""What commands need before they start: runs, corpora and TensorFlow."""

import logging
from typing import TYPE_CHECKING, NamedTuple

from seq2seq_cli.cli.options import Flag, config_layers, warn
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config import Config
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.config.training import TrainingConfig
    from seq2seq_cli.runs.run import Run


class FoundRun(NamedTuple):
    """A run of --run, and its config."""

    run: "Run"
    config: "Config"


def find_runs(
    names: list[str] | None, settings: list[str] | None, *flags: Flag, to: str | None = None
) -> list[FoundRun]:
    """Return the runs called `names`, or the newest run; the first config includes the options.

    Args:
        names: of --run.
        settings: of --set; only keys of `[decoding]`.
        flags: other options that set a key.
        to: the value of --to, the language that each run translates into.

    Raises:
        CheckpointError: if there is no such run.
        UsageError: if an option is invalid or reverses the direction, or a run does not translate
            into that language.
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
    first, *more = [find_run(name, warn) for name in names or (None,)]
    found = [FoundRun(first, first.config(options))]
    if "data.source_language" in options or "data.target_language" in options:
        _check_direction(*found[0])
    found += [FoundRun(run, run.config()) for run in more]
    for run, config in found:
        try:
            config.data.languages_to(to)
        except UsageError as error:
            raise UsageError(f"{run.path}: {error}") from None
    return found


def _check_direction(run: "Run", config: "Config") -> None:
    """Check that --source and --target do not exchange the languages of a run."""
    own, given = run.config().data, config.data
    if given.source_language == own.target_language or given.target_language == own.source_language:
        raise UsageError(
            f"{run.path}: translates from {own.direction}. --source and --target give other names "
            "of its languages, and cannot reverse it. Leave them out"
        )


def find_one(
    name: str | None, settings: list[str] | None, *flags: Flag, to: str | None = None
) -> FoundRun:
    """Return the run called `name`, or the newest run; see `find_runs`."""
    (found,) = find_runs(None if name is None else [name], settings, *flags, to=to)
    return found


def fetch_text_data(config: "DataConfig", quiet: bool = False) -> None:
    """Do the same as `fetch_data`, for commands that refuse prepared corpora."""
    from seq2seq_cli.data.corpus import check_files

    check_files(config)
    if any(source.corpus == "tatoeba" for source in config.mixture):
        fetch_tatoeba(quiet)


def fetch_data(config: "DataConfig", quiet: bool = False) -> None:
    """Check that the files exist, before slow imports; download what comes from a network."""
    from seq2seq_cli.config.data import is_address

    fetch_text_data(config, quiet)
    if is_address(config.corpus):
        _fetch_corpus(str(config.corpus), quiet)


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
    device: str | None = None, training: "TrainingConfig | None" = None, workers: int = 1
) -> str:
    """Import TensorFlow in silence, and return a description of the device that is used.

    Args:
        device: as --device says; `auto` if it is not given.
        training: by which the threads are shared; None to share them for translating.
        workers: number of workers that share the parallel computation.

    Raises:
        UsageError: if the device cannot be used.
    """
    from seq2seq_cli.runtime import devices, parallel, tensorflow

    device = "auto" if device is None else device
    devices.check_name(device)
    tensorflow.import_tensorflow(warn if training else None)
    # Its warnings are for programmers, such as that several models have a graph each.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    mirrored = training is not None and training.strategy == "mirrored"
    description = devices.use_all_gpus(device) if mirrored else devices.use_device(device)
    parts = parallel.number_of_shards(training) if training else parallel.parts_at_once()
    parallel.share_threads(-(-parts // workers))
    return description


def start_tensorflow_to_read(config: "DataConfig") -> None:
    """Import TensorFlow in silence if reading the corpus needs it."""
    from seq2seq_cli.data.corpus import needs_tensorflow

    if needs_tensorflow(config):
        start_tensorflow("cpu")
