"""How attention formed during training: the option --evolution of `s2s attention`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from seq2seq_cli.cli import completion
from seq2seq_cli.cli.files import Result, check_distinct, check_output, emit, write_file
from seq2seq_cli.cli.options import warn
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from seq2seq_cli.attention.evolution import Evolution
    from seq2seq_cli.runs.run import Run

_SHOWN = 4  # validations in the terminal

EvolutionOption = Annotated[
    str | None,
    typer.Option(
        "--evolution",
        help="Show how a run's attention in dev sentences formed during training.",
        metavar="RUN",
        autocompletion=completion.runs,
    ),
]
SentenceOption = Annotated[
    int | None,
    typer.Option(
        "--sentence",
        min=1,
        help="With --evolution: one of the dev sentences, counted from 1; a picture shows the "
        "first if this is left out.",
        metavar="N",
    ),
]
GifOption = Annotated[
    Path | None,
    typer.Option("--gif", help="With --evolution: write an animated GIF; --svg animates, too."),
]


class Pictures(NamedTuple):
    """The files to write, and whether they are dark."""

    svg: Path | None
    gif: Path | None
    dark: bool


def check_evolution(
    evolution: str | None, only: Mapping[str, object], never: Mapping[str, object]
) -> None:
    """Check that the given options can be combined.

    Args:
        evolution: the option --evolution.
        only: options that need it, by name.
        never: options that cannot be combined with it, by name.

    Raises:
        UsageError: naming an option that does not fit.
    """
    given = [name for name, value in (only if evolution is None else never).items() if value]
    if given and evolution is None:
        raise UsageError(f"{given[0]} is for --evolution RUN, which shows a training run")
    if given:
        raise UsageError(
            f"--evolution shows what was stored in training, so {given[0]} has no effect. "
            "Leave it out"
        )


def show_evolution(
    name: str,
    number: int | None,
    pictures: Pictures,
    pieces: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write pictures of a stored sentence, or print how the attention in each sentence formed.

    Args:
        name: of the run.
        number: of the sentence, counted from 1; None for all, and for the first in a picture.
        pictures: to write.
        pieces: whether the maps are of tokens; else of words.
        as_json: print JSON.
        quiet: whether to print no notices.

    Raises:
        UsageError: if the run stored no attention, or has no such sentence.
    """
    from seq2seq_cli.attention.animated_gif import check_pillow
    from seq2seq_cli.attention.evolution import evolutions
    from seq2seq_cli.runs.naming import find_run

    for option, path in (("--svg", pictures.svg), ("--gif", pictures.gif)):
        if path is not None:
            check_output(path, option=option)
    check_distinct({"--svg": pictures.svg, "--gif": pictures.gif})
    if pictures.dark and not (pictures.svg or pictures.gif):
        raise UsageError("--dark is for --svg and --gif")
    if pictures.gif is not None:
        check_pillow()
    run = find_run(name)
    snapshots = run.attention.read(warn)
    if not snapshots:
        raise UsageError(f"{run.path}: {_why_none(run)}")
    found = evolutions(snapshots, pieces)
    if number is not None and number > len(found):
        raise UsageError(f"--sentence {number}: {run.path} has the attention of {len(found)} only")
    written = pictures.svg is not None or pictures.gif is not None
    if written:
        _write(found[(number or 1) - 1], pictures, quiet)
    if written and not as_json:
        return
    for each, evolution in enumerate(found, start=1):
        if number in (None, each):
            emit(_result(run.name, each, evolution), as_json)


def _why_none(run: "Run") -> str:
    from seq2seq_cli.runs.metrics_log import VALIDATION, of_kind

    if run.config().training.keep_attention_history == 0:
        return (
            "has no attention, because its training.keep_attention_history is 0. Train with "
            "--set training.keep_attention_history=3"
        )
    if not of_kind(run.metrics(), VALIDATION):
        return "has no attention yet. It is stored at each validation; wait for the first one"
    return (
        "has no attention of dev sentences, which training stores at each validation. Train "
        "again; training.keep_attention_history sets the number of sentences"
    )


def _write(evolution: "Evolution", pictures: Pictures, quiet: bool) -> None:
    from seq2seq_cli.attention.animated_gif import animated_gif
    from seq2seq_cli.attention.animated_svg import animated_svg
    from seq2seq_cli.cli import console

    for path, option, draw in (
        (pictures.svg, "--svg", animated_svg),
        (pictures.gif, "--gif", animated_gif),
    ):
        if path is not None:
            write_file(path, draw(evolution, pictures.dark), option)
            if not quiet:
                console.show_notice(f"Wrote {path}")


def _result(run: str, number: int, evolution: "Evolution") -> Result:
    record = {
        "run": run,
        "sentence": number,
        "source": evolution.source,
        "reference": evolution.reference,
        "queries": evolution.queries,
        "keys": evolution.keys,
        "validations": [
            {"step": f.step, "dev_bleu": f.dev_bleu, "weights": f.weights.tolist()}
            for f in evolution.frames
        ],
    }
    return Result(record, _Drawn(run, number, evolution))


class _Drawn(NamedTuple):
    """A sentence with its maps at a few validations, drawn only without --json."""

    run: str
    number: int
    evolution: "Evolution"

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yield the sentence, and a heat map for each validation."""
        from rich.text import Text

        from seq2seq_cli.attention.evolution import thinned
        from seq2seq_cli.attention.maps import View
        from seq2seq_cli.cli.heat_map import HeatMap, printable

        source, reference, queries, keys, frames = self.evolution
        yield Text(f"{self.run}: dev sentence {self.number}", style="dim", overflow="fold")
        yield Text(printable(source), style="bold", overflow="fold")
        yield Text(printable(reference), style="bold cyan", overflow="fold")
        for frame in thinned(frames, _SHOWN):
            yield Text()
            yield Text(frame.caption, style="bold")
            yield HeatMap(View(queries, keys, frame.weights, frame.caption))
        yield Text()
