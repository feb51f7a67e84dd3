"""The commands that look at corpora and prepare them: data download, stats, check, prepare."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from seq2seq_cli.cli.options import (
    ConfigOption,
    DataOption,
    JsonOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
    fetch_tatoeba,
    find_data,
    print_line,
    start_tensorflow,
)
from seq2seq_cli.errors import UsageError

data_app = typer.Typer(no_args_is_help=True, help="Download and look at corpora.")


@data_app.command()
def download(
    name: Annotated[str, typer.Argument(help="The corpus: tatoeba.")] = "tatoeba",
) -> None:
    """Download a corpus to the cache, and check it."""
    from seq2seq_cli.data.tatoeba import tatoeba_path

    if name != "tatoeba":
        raise UsageError(f"{name}: not a corpus that can be downloaded; there is: tatoeba")
    fetch_tatoeba()
    print_line(str(tatoeba_path()))


@data_app.command()
def stats(
    config: ConfigOption = None,
    data: DataOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show sizes, lengths, splits and coverage of a corpus."""
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.data.statistics import statistics

    resolved = load_config(*config_layers(config, settings, ("data.corpus", data, "--data")))
    find_data(resolved.data)
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
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.data.checking.check import check

    resolved = load_config(*config_layers(config, settings, *corpus_flags(data, source, target)))
    find_data(resolved.data)
    findings = check(resolved.data, fix)
    if as_json:
        record = {**asdict(findings), "is_clean": findings.is_clean}
        print_line(json.dumps(record, ensure_ascii=False))
    else:
        console.show_check(findings)
    if not findings.is_clean:
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
    from seq2seq_cli.cli import console
    from seq2seq_cli.config.files import load_config

    resolved = load_config(*config_layers(config, settings, *corpus_flags(data, source, target)))
    find_data(resolved.data)
    start_tensorflow("cpu")

    from seq2seq_cli.data.preparation.prepare import prepare as prepare_corpus

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
