"""The command that writes a config to start from: init."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from seq2seq_cli.cli.files import check_text
from seq2seq_cli.cli.options import (
    DataOption,
    ModelOption,
    QuietOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
)
from seq2seq_cli.cli.resources import fetch_data, start_tensorflow_to_read
from seq2seq_cli.errors import DiskError, UsageError, os_reason

if TYPE_CHECKING:
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.data.pairs import Pairs

_SAMPLE = 20_000  # pairs whose words are counted


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("s2s.toml"),
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    model: ModelOption = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write a config for a corpus, with sizes and a schedule that suit its number of pairs."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.config.starter import (
        in_words,
        rough_seconds,
        starter_values,
        to_commented_toml,
    )
    from seq2seq_cli.data.corpus import read_corpus

    check_text(str(path), "the name of the config")
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already. Remove it, or give another name")
    (given,) = config_layers(None, settings, *corpus_flags(data, source, target), model=model)
    config = load_config(given)
    fetch_data(config.data, quiet)
    start_tensorflow_to_read(config.data)
    with work_progress(not quiet) as show:
        corpus = read_corpus(config.data, show)
    pairs = len(corpus.train)

    values = Overrides()
    resolved = config.flat()  # with absolute paths
    lengths = _lengths(corpus.train)
    chosen = starter_values(config.model, pairs, lengths.common)
    for key, value in {**_data_values(config.data), **chosen}.items():
        values.set(key, value, "s2s init")
    for key, value in given.items():
        if not key.startswith("data."):
            values.set(key, resolved.get(key, value), given.origins[key])
    time = in_words(rough_seconds(load_config(values).flat(), pairs, lengths.mean))

    train = f"s2s train --config {shlex.quote(str(path))}"
    heading = (
        f"A config for {corpus.description}: {pairs:,} training pairs.\n\n"
        f"  {train}\n\n"
        f"Roughly {time} on two CPU cores; --dry-run estimates the time on this machine, and\n"
        "--budget limits it.\n\n"
        "Sizes and schedule follow from the number of pairs by rules of thumb. Keys that are\n"
        "missing here have their defaults; `s2s config show` prints all keys."
    )
    _write(path, to_commented_toml(values, heading))
    if not quiet:
        console.show_notice(
            f"{path} is for {pairs:,} training pairs: roughly {time} on two CPU cores."
        )
        console.show_next(train)


def _data_values(data: "DataConfig") -> dict[str, Any]:
    """Return the corpus, the languages, and all values that are not defaults."""
    shown = ("corpus", "source_language", "target_language")
    fields = type(data).model_fields
    return {
        f"data.{key}": value
        for key, value in data.model_dump(exclude_none=True).items()
        if key in shown or value != fields[key].default
    }


class _Lengths(NamedTuple):
    """Numbers of words per sentence.

    Attributes:
        common: the number that one sentence in a hundred exceeds.
        mean: the average.
    """

    common: int
    mean: float


def _lengths(pairs: "Pairs") -> _Lengths:
    """Count the words of evenly spaced sentences."""
    import numpy as np

    sides = pairs.take(range(0, len(pairs), -(-len(pairs) // _SAMPLE)))
    words = [len(text.split()) for side in sides for text in side]
    return _Lengths(int(np.percentile(words, 99)), float(np.mean(words)))


def _write(path: Path, text: str) -> None:
    """Write a new file.

    Raises:
        UsageError: if it exists already.
        DiskError: if it cannot be written.
    """
    from seq2seq_cli.runs.disk import write_durably

    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already. Give another name")
    try:
        write_durably(path, text.encode())
    except OSError as error:
        raise DiskError(f"{path}: cannot be written: {os_reason(error)}") from error
