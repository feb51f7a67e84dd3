"""The commands that make synthetic corpora: recipe back-translate, distill and diversify."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import Result, check_files, check_output, emit
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    QuietOption,
    RunsOption,
    SetOption,
    decoding_flags,
    warn,
)
from seq2seq_cli.cli.resources import FoundRun, fetch_data, find_one, find_runs, start_tensorflow
from seq2seq_cli.cli.search_options import (
    MaxLengthOption,
    MBROption,
    NBestOption,
    SampleOption,
    SeedOption,
    TemperatureOption,
    TopKOption,
    TopPOption,
    check_seed,
    search_flags,
)
from seq2seq_cli.cli.suggestions import Command, CommandGroup
from seq2seq_cli.errors import RunInterruptedError

if TYPE_CHECKING:
    from seq2seq_cli.recipes.synthetic import SyntheticCorpus

recipe_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Make training data with trained runs, tune a config, or reproduce figures of the papers.",
)

_RUN = "A run's name in runs/, or its path"

TextOption = Annotated[
    Path, typer.Option("--input", "-i", help="Text with one sentence per line; it may be gzipped.")
]
MadeOption = Annotated[
    Path, typer.Option("--output", "-o", help="The TSV file to write; nothing is overwritten.")
]
TeachersOption = Annotated[
    list[str],
    typer.Option(
        "--teacher", help=f"{_RUN}; several form an ensemble.", autocompletion=completion.runs
    ),
]
ForwardOption = Annotated[
    list[str],
    typer.Option(
        "--forward", help=f"{_RUN}; translates the sources.", autocompletion=completion.runs
    ),
]
BackwardOption = Annotated[
    list[str] | None,
    typer.Option(
        "--backward",
        help=f"{_RUN}, of the other direction; translates the targets.",
        autocompletion=completion.runs,
    ),
]
MovedDataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="New location of the first run's corpus, if it has moved; also of other runs' if they "
        "have the same files.",
        autocompletion=completion.corpora,
    ),
]
ClosestOption = Annotated[
    bool,
    typer.Option(
        "--closest-to-reference",
        help="Use the translation of the beam that is most similar to the references, by BLEU.",
    ),
]


@recipe_app.command("back-translate", cls=Command)
def back_translate(
    input_file: TextOption,
    output: MadeOption,
    run: RunsOption = None,
    beam: BeamOption = None,
    n_best: NBestOption = None,
    mbr: MBROption = None,
    length_penalty: LengthPenaltyOption = None,
    sample: SampleOption = False,
    temperature: TemperatureOption = None,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    seed: SeedOption = None,
    max_length: MaxLengthOption = None,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out lines that are not text.")
    ] = False,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Translate text of the target language back, to make synthetic sources for it.

    The run translates from the language of the text. The same command continues after an
    interruption.
    """
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.recipes.work_folder import check_new

    check_files(False, input_file, output)
    check_new(output)
    flags = search_flags(
        sample,
        seed,
        beam=beam,
        n_best=n_best,
        mbr=mbr,
        length_penalty=length_penalty,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        max_length=max_length,
        batch_tokens=batch_tokens,
    )
    found = find_runs(run, settings, *flags)
    check_seed(seed, found[0].config.decoding)
    with _interruptible(output), work_progress(not quiet) as show:
        from seq2seq_cli.data.monolingual import MonolingualText

        text = MonolingualText.read(input_file, skip_bad_lines, show)
        start_tensorflow(device)

        from seq2seq_cli.recipes import back_translation

        runs, configs = zip(*found, strict=True)
        made = back_translation.back_translate(runs, configs, text, output, warn, show)
    emit(_result(made, tag="bt"), as_json)


@recipe_app.command(cls=Command)
def distill(
    teacher: TeachersOption,
    output: MadeOption,
    data: MovedDataOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    closest: ClosestOption = False,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Translate the training sources with teachers, to make training data for a student.

    The corpus and its split are those of the first teacher. The same command continues after an
    interruption.
    """
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.recipes.work_folder import check_new

    check_output(output)
    check_new(output)
    flags = decoding_flags(beam=beam, length_penalty=length_penalty, batch_tokens=batch_tokens)
    found = find_runs(teacher, settings, *flags)
    _find_corpora(found, data, quiet)
    with _interruptible(output), work_progress(not quiet) as show:
        start_tensorflow(device)

        from seq2seq_cli.recipes import distillation

        runs, configs = zip(*found, strict=True)
        made = distillation.distill(runs, configs, output, warn, data, closest, show)
    emit(_result(made), as_json)


@recipe_app.command(cls=Command)
def diversify(
    forward: ForwardOption,
    output: MadeOption,
    backward: BackwardOption = None,
    data: MovedDataOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Add translations by runs of both directions to the training side.

    The corpus and its split are those of the first forward run. The same command continues after
    an interruption.
    """
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.recipes.work_folder import check_new

    check_output(output)
    check_new(output)
    flags = decoding_flags(beam=beam, length_penalty=length_penalty, batch_tokens=batch_tokens)
    forward_runs = [find_one(name, settings, *flags) for name in forward]
    backward_runs = [find_one(name, settings, *flags) for name in backward or []]
    _find_corpora([*forward_runs, *backward_runs], data, quiet)
    with _interruptible(output), work_progress(not quiet) as show:
        start_tensorflow(device)

        from seq2seq_cli.recipes import diversification

        made = diversification.diversify(forward_runs, backward_runs, output, warn, data, show)
    emit(_result(made), as_json)


def _find_corpora(found: Sequence[FoundRun], data: str | None, quiet: bool) -> None:
    """Check that the corpora of the training side are there, before slow imports."""
    from seq2seq_cli.recipes.training_side import data_to_read

    runs, configs = zip(*found, strict=True)
    for _, table in data_to_read(runs, configs, data):
        fetch_data(table, quiet)


@contextmanager
def _interruptible(output: Path) -> Iterator[None]:
    """Say after Ctrl-C how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        partial = f"{output}.partial"
        finished = f"The finished part is in {partial}; the same command continues"
        raise RunInterruptedError(
            f"Interrupted. {finished if os.path.isdir(partial) else 'Nothing was written'}",
            signal.SIGINT,
        ) from None


def _result(made: "SyntheticCorpus", tag: str | None = None) -> Result:
    """Return a summary of the result, and the table that adds it to a config."""
    record = {**asdict(made), "path": str(made.path)}
    summary = f"{made.path}: {made.pairs:,} pairs of {made.sentences:,} sentences"
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in made.left_out.items())
    lines = [f"# {summary}", f"# left out: {left_out or 'nothing'}", made.to_toml(tag).rstrip()]
    return Result(record, "\n".join(lines))
