"""The command that writes the splits of a run or a corpus as plain files: export-split."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.files import Result, emit
from seq2seq_cli.cli.options import (
    ConfigOption,
    DataOption,
    JsonOption,
    QuietOption,
    RunOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
)
from seq2seq_cli.cli.resources import fetch_data, find_one, start_tensorflow_to_read
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.data.export import Export

_FEW = 5  # files of a split that are all named


def export_split(
    folder: Annotated[Path, typer.Argument(help="The folder to create.")],
    run: RunOption = None,
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write train, dev and test as plain files, with all references.

    The corpus is that of a run, or of --config, --data and --set. The default is the corpus of the
    newest run. With --run, --data gives the new location of the run's corpus.
    """
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.data.export import check_new_folder, export

    check_new_folder(folder)
    flags = corpus_flags(None, source, target)
    fingerprint = None
    name = ""
    if run is None and (config is not None or data is not None or settings):
        corpus = load_config(*config_layers(config, settings, *flags)).data
    elif config is not None or settings:
        raise UsageError("--run has its own config; leave out --config and --set, or --run")
    else:
        found = find_one(run, None, *flags)
        corpus, name = found.config.data, str(found.run.path)
        fingerprint = found.run.data_fingerprint()
    corpus = corpus if data is None else corpus.moved_to(data)
    fetch_data(corpus, quiet)
    start_tensorflow_to_read(corpus)

    from seq2seq_cli.data.corpus import read_same_corpus

    languages = (corpus.source_language, corpus.target_language)
    exported = export(read_same_corpus(corpus, fingerprint, name), languages, folder)
    emit(_result(exported, folder), as_json)


def _result(exported: "Export", folder: Path) -> Result:
    from seq2seq_cli.cli.console import two_columns

    rows = [("corpus", exported.corpus), ("folder", str(folder))]
    for name, split in exported.splits.items():
        further = ""
        if split.references != split.lines:
            further = f", {split.references:,} references"
        shown = (
            split.files if len(split.files) <= _FEW else [*split.files[:3], "…", split.files[-1]]
        )
        rows.append((name, f"{split.lines:,} lines{further}: {', '.join(shown)}"))
    if exported.line_breaks:
        rows.append(("line breaks", f"became spaces in {exported.line_breaks:,} sentences"))
    rows.append(("fingerprint", exported.fingerprint))
    return Result({"folder": str(folder), **asdict(exported)}, two_columns(rows))
