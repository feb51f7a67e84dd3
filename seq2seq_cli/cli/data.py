"""The commands for corpora: data download, stats, check, prepare."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli.cli.files import Result, emit, print_line
from seq2seq_cli.cli.options import (
    ConfigOption,
    DataOption,
    JsonOption,
    QuietOption,
    SetOption,
    SourceOption,
    TargetOption,
    config_layers,
    corpus_flags,
)
from seq2seq_cli.cli.resources import (
    fetch_data,
    fetch_tatoeba,
    fetch_text_data,
    start_tensorflow,
    start_tensorflow_to_read,
)
from seq2seq_cli.cli.suggestions import Command, CommandGroup
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from seq2seq_cli.config import Config
    from seq2seq_cli.data.checking.findings import Findings
    from seq2seq_cli.data.corpus import Corpus
    from seq2seq_cli.data.statistics import SplitStatistics, Statistics

data_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Download, check and prepare corpora."
)


@data_app.command(cls=Command)
def download(
    name: Annotated[str, typer.Argument(help="The corpus: tatoeba.")] = "tatoeba",
    quiet: QuietOption = False,
) -> None:
    """Download a corpus to the cache, and check it."""
    from seq2seq_cli.data.tatoeba import tatoeba_path

    if name != "tatoeba":
        raise UsageError(f"{name}: not a corpus that can be downloaded; the only one is tatoeba")
    fetch_tatoeba(quiet)
    print_line(str(tatoeba_path()))


@data_app.command(cls=Command)
def stats(
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the sizes, lengths, splits and word coverage of a corpus."""
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.data.statistics import statistics

    resolved = load_config(*config_layers(config, settings, *corpus_flags(data, source, target)))
    fetch_data(resolved.data, quiet)
    start_tensorflow_to_read(resolved.data)
    with work_progress(not quiet) as show:
        found = statistics(resolved.data, show)
    emit(Result(asdict(found), _drawn_statistics(found)), as_json)


@data_app.command("check", cls=Command)
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
            "and control characters are put right. Lines with any other finding are left out, "
            "even if they are only suspicious (ratio, language, numbers, misaligned).",
        ),
    ] = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find bad and suspicious lines in a corpus; the exit code is 1 if there are any."""
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.data.checking.check import check

    resolved = load_config(*config_layers(config, settings, *corpus_flags(data, source, target)))
    fetch_text_data(resolved.data, quiet)
    with work_progress(not quiet) as show:
        findings = check(resolved.data, fix, show)
    record = {**asdict(findings), "is_clean": findings.is_clean}
    emit(Result(record, _drawn_findings(findings)), as_json)
    if not findings.is_clean:
        raise typer.Exit(1)


@data_app.command(cls=Command)
def prepare(
    folder: Annotated[Path, typer.Argument(help="The folder to create.")],
    config: ConfigOption = None,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    beam: Annotated[
        bool,
        typer.Option(
            "--beam",
            help="Do the work on the workers of Apache Beam; the result is the same. By default "
            "they are processes of this machine. Needs the extra `beam`.",
        ),
    ] = False,
    beam_options: Annotated[
        str | None,
        typer.Option(
            metavar="FLAGS",
            help="Flags of Apache Beam, separated as in a shell, such as `--runner=FlinkRunner "
            "--flink_master=HOST:8081`. All workers must share the file systems of FOLDER and "
            "of the corpus.",
        ),
    ] = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus of any size as a data set on disk; train on it with --data."""
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.data.preparation.beam_import import import_beam

    if beam_options is not None and not beam:
        raise UsageError("--beam-options needs --beam")
    if beam:
        import_beam()
    resolved = load_config(*config_layers(config, settings, *corpus_flags(data, source, target)))
    fetch_text_data(resolved.data, quiet)
    start_tensorflow("cpu")

    with work_progress(not quiet) as show:
        if beam:
            from seq2seq_cli.data.preparation.beam_prepare import prepare_with_beam

            corpus = prepare_with_beam(resolved, folder, beam_options or "", show)
        else:
            from seq2seq_cli.data.preparation.prepare import prepare as prepare_corpus

            corpus = prepare_corpus(resolved, folder, show)
    emit(_prepared(corpus, folder, resolved), as_json)


def _prepared(corpus: "Corpus", folder: Path, config: "Config") -> Result:
    from seq2seq_cli.cli.console import two_columns
    from seq2seq_cli.config.command import command_for_prepared

    sides = {name: len(getattr(corpus, name)) for name in ("train", "dev", "test")}
    record: dict[str, Any] = {"folder": str(folder), "fingerprint": corpus.fingerprint, **sides}
    rows = [
        ("corpus", corpus.description),
        ("pairs", ", ".join(f"{pairs:,} {name}" for name, pairs in sides.items())),
        ("dropped", _counted(corpus.dropped)),
        ("fingerprint", corpus.fingerprint),
        ("train by", command_for_prepared(config, str(folder))),
    ]
    record |= {"dropped": corpus.dropped, "shared": corpus.shared}
    return Result(record, two_columns(rows))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items()) or "nothing"


def _drawn_statistics(found: "Statistics") -> "Group":
    """Return the figures of a corpus as three tables."""
    from rich.console import Group
    from rich.table import Table

    from seq2seq_cli.cli.console import two_columns

    head = [
        ("corpus", found.corpus),
        ("pairs", f"{found.pairs:,} in {found.groups:,} independent groups"),
        ("dropped", _counted(found.dropped)),
        ("fingerprint", found.fingerprint),
    ]
    sides = Table("side", "words", "distinct", "mean length", box=None, header_style="bold cyan")
    for point in found.sides[0].length_percentiles:
        sides.add_column(point)
    for side in found.sides:
        lengths = (str(n) for n in side.length_percentiles.values())
        figures = (f"{side.words:,}", f"{side.distinct_words:,}", f"{side.mean_length:.1f}")
        sides.add_row(side.language, *figures, *lengths)
    columns = ("split", "pairs", "sources", "references each")
    seen = (f"{side.language} words seen in train" for side in found.sides)
    splits = Table(*columns, *seen, box=None, header_style="bold cyan")
    for split in found.splits:
        splits.add_row(*_split_row(split))
    for column in [*sides.columns[1:], *splits.columns[1:]]:
        column.justify = "right"
    return Group(two_columns(head), sides, splits)


def _split_row(split: "SplitStatistics") -> list[str]:
    return [
        split.name,
        f"{split.pairs:,}",
        f"{split.sources:,}",
        f"{split.references_per_source:.2f}",
        f"{split.source_coverage:.1%}",
        f"{split.target_coverage:.1%}",
    ]


def _drawn_findings(findings: "Findings") -> "Group":
    """Return the problems of a corpus: the files, the findings, and what a copy leaves out."""
    from rich.console import Group

    from seq2seq_cli.cli.console import two_columns
    from seq2seq_cli.data.checking.outliers import ENOUGH

    rows = []
    for file in findings.files:
        few = "" if file.judged else f"; under {ENOUGH} good: ratio, language, order not judged"
        rows.append((file.split, f"{', '.join(file.files)}: {file.lines:,} lines{few}"))
    for unseen in findings.unseen:
        if unseen.rate:
            share = f"{unseen.rate:.2%} of characters unseen in train: {unseen.characters}"
            rows.append((f"{unseen.split} {unseen.language}", share))
    drawn: list[Any] = [two_columns(rows)]
    if findings.findings:
        drawn.append(_findings_table(findings))
    if fixed := findings.fixed:
        written = f"{', '.join(fixed.files)}: {fixed.written:,} lines"
        left_out, repaired = _counted(fixed.left_out), _counted(fixed.repaired)
        drawn.append(
            two_columns([("written", written), ("left out", left_out), ("repaired", repaired)])
        )
    return Group(*drawn, "No problem was found." if findings.is_clean else "Problems were found.")


def _findings_table(findings: "Findings") -> "Table":
    from rich.table import Table
    from rich.text import Text

    names = {file.split: Path(file.files[0]).name for file in findings.files}
    table = Table("found", "lines", "share", "where", "what", box=None, header_style="bold cyan")
    for column in table.columns:
        column.overflow = "fold"
    for column in table.columns[1:3]:
        column.justify = "right"
    for found in findings.findings:
        examples = zip(found.places, found.examples, strict=True)
        for number, (position, example) in enumerate(examples):
            head = (found.kind, f"{found.count:,}", f"{found.share:.2%}")
            where = Text(f"{names[found.split]}:{position}")
            table.add_row(*(head if number == 0 else ("", "", "")), where, Text(example))
    return table
