"""The command that shows what a model attends to: attention."""

import math
from collections.abc import Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from seq2seq_cli.cli.evolution import (
    EvolutionOption,
    GifOption,
    Pictures,
    SentenceOption,
    check_evolution,
    show_evolution,
)
from seq2seq_cli.cli.files import InputOption, Result, emit, write_file
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    SetOption,
    ToOption,
    decoding_flags,
    warn,
)
from seq2seq_cli.cli.resources import FoundRun, start_tensorflow
from seq2seq_cli.cli.sentences import (
    HtmlOption,
    Pair,
    SentencesArgument,
    ShownRunsOption,
    TargetTextOption,
    check_written,
    find_each_run,
    read_pairs,
    warn_of_cuts,
    write_page,
)
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from seq2seq_cli.attention.maps import Attention, ReadRun, View


class Kind(str, Enum):
    """The kinds of attention."""

    cross = "cross"
    encoder = "encoder"
    decoder = "decoder"
    stack = "stack"


KindOption = Annotated[
    Kind, typer.Option("--kind", help="Kind of attention; stack is for decoder-only models.")
]
LayerOption = Annotated[
    int | None, typer.Option("--layer", help="A layer, counted from 1; the default is the last.")
]
HeadOption = Annotated[
    str, typer.Option("--head", help="A head, counted from 1, or mean or max.", metavar="N")
]
PiecesOption = Annotated[
    bool, typer.Option("--pieces", help="Show the pieces of the tokenizer instead of words.")
]


PngOption = Annotated[
    Path | None, typer.Option("--png", help="Write a figure of one sentence to a PNG file.")
]
SvgOption = Annotated[
    Path | None, typer.Option("--svg", help="Write a figure of one sentence to an SVG file.")
]
DarkOption = Annotated[
    bool, typer.Option("--dark", help="Figures: light text on a dark background.")
]


class Choice(NamedTuple):
    """The map to show: the options of `Attention.view`."""

    kind: str
    layer: int | None
    head: int | str
    pieces: bool

    def view(self, attention: "Attention") -> "View":
        """Return the map."""
        return attention.view(self.kind, self.layer, self.head, self.pieces)

    @classmethod
    def of(cls, kind: Kind, layer: int | None, head: str, pieces: bool) -> "Choice":
        """Check the options.

        Raises:
            UsageError: if the head is not a number, mean or max.
        """
        if head not in ("mean", "max") and not head.isdecimal():
            raise UsageError(f"--head {head}: must be a number of at least 1, or mean or max")
        return cls(kind.value, layer, int(head) if head.isdecimal() else head, pieces)


def attention(
    sentences: SentencesArgument = None,
    target: TargetTextOption = None,
    input_file: InputOption = None,
    run: ShownRunsOption = None,
    to: ToOption = None,
    kind: KindOption = Kind.cross,
    layer: LayerOption = None,
    head: HeadOption = "mean",
    pieces: PiecesOption = False,
    html: HtmlOption = None,
    png: PngOption = None,
    svg: SvgOption = None,
    dark: DarkOption = False,
    evolution: EvolutionOption = None,
    sentence: SentenceOption = None,
    gif: GifOption = None,
    beam: BeamOption = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show which source words each word of a translation looked at.

    A line of a file may have a given translation after a tab.
    """
    choice = Choice.of(kind, layer, head, pieces)
    given: dict[str, object] = {
        "a sentence": sentences,
        "--target": target,
        "--input": input_file,
        "--run": run,
        "--to": to,
        "--kind": kind is not Kind.cross,
        "--layer": layer,
        "--head": head != "mean",
        "--html": html,
        "--png": png,
        "--beam": beam,
        "--batch-tokens": batch_tokens,
        "--set": settings,
        "--device": device,
    }
    check_evolution(evolution, {"--sentence": sentence, "--gif": gif}, given)
    if evolution is not None:
        show_evolution(evolution, sentence, Pictures(svg, gif, dark), pieces, as_json, quiet)
        return
    written = check_written(input_file, html=html, png=png, svg=svg)
    if dark and not (png or svg):
        raise UsageError("--dark is for --png and --svg; a page has both themes. Leave it out")
    if html and not (png or svg or as_json) and choice != Choice("cross", None, "mean", False):
        raise UsageError("a page has all maps. Leave out --kind, --layer, --head and --pieces")
    flags = decoding_flags(beam=beam, batch_tokens=batch_tokens)
    found = find_each_run(run, settings, flags, to)
    pairs = read_pairs(sentences, target, input_file)
    if png or svg:
        _check_figures(found, pairs)
    runs = read_runs(found, pairs, to, device, quiet)
    if html:
        write_page(html, runs, quiet)
    if png or svg:
        _write_figures(runs, choice, png, svg, dark, quiet)
    if written and not as_json:
        return
    for number in range(len(pairs)):
        for read in runs:
            emit(_result(read, number, choice), as_json)


def _check_figures(found: Sequence[FoundRun], pairs: Sequence[Pair]) -> None:
    """Check that there is one map to draw, before the models read the sentences."""
    maps = len(found) * sum(bool(source.strip()) for source, _ in pairs)
    if maps != 1:
        raise UsageError(
            f"--png and --svg show one sentence of one run, and there are {maps}. Give one "
            "sentence, or write all to a page with --html"
        )


def _write_figures(
    runs: "Sequence[ReadRun]",
    choice: Choice,
    png: Path | None,
    svg: Path | None,
    dark: bool,
    quiet: bool,
) -> None:
    """Write the map of one sentence and one run as figures."""
    from seq2seq_cli.attention.figure import figure
    from seq2seq_cli.cli import console

    (attention,) = [each for run in runs for each in run.attentions if each is not None]
    for format_name, path in (("png", png), ("svg", svg)):
        if path is not None:
            content = figure(attention, choice.view(attention), format_name, dark)
            write_file(path, content, f"--{format_name}")
            if not quiet:
                console.show_notice(f"Wrote {path}")


def read_runs(
    found: Sequence[FoundRun],
    pairs: Sequence[Pair],
    to: str | None,
    device: str | None,
    quiet: bool,
) -> "list[ReadRun]":
    """Let each run's model read the sentences, and warn of those that were cut."""
    start_tensorflow(device)
    from seq2seq_cli.attention.maps import ReadRun
    from seq2seq_cli.attention.reader import AttentionReader
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.decoding.loading import load_run

    read = []
    for run, config in found:
        loaded = load_run(run, warn, config).towards(to)
        shows = not quiet and len(pairs) > 1
        stage = f"Reading with {run.name}"
        with work_progress(shows) as show:
            progress = partial(show, stage, "sentences", total=len(pairs))
            attentions = AttentionReader(loaded).read(pairs, progress)
        warn_of_cuts(attentions, loaded.decoding.max_source_tokens)
        read.append(ReadRun(run.name, config.model.description, attentions))
    return read


def _result(run: "ReadRun", number: int, choice: Choice) -> Result:
    """Return the result for one sentence; for a blank one, null or an empty line."""
    found = run.attentions[number]
    if found is None:
        return Result(None, "")
    view = choice.view(found)
    layers, _ = found.shape(choice.kind)
    tokens = zip(found.target_tokens, found.log_probabilities.tolist(), strict=True)
    record = {
        "run": run.name,
        "source": found.source,
        "translation": found.translation,
        "log_probability": found.log_probability,
        "confidence": found.confidence,
        "kind": choice.kind,
        "layer": choice.layer or layers,
        "head": choice.head,
        "queries": view.queries,
        "keys": view.keys,
        "weights": view.weights.tolist(),
        "tokens": [{"token": token, "log_probability": p} for token, p in tokens],
        "alignment": " ".join(f"{i}-{j}" for i, j in found.words),
    }
    return Result(record, _Drawn(run, found, choice, view))


class _Drawn(NamedTuple):
    """A sentence with its translation and its map, drawn only without --json."""

    run: "ReadRun"
    found: "Attention"
    choice: Choice
    view: "View"

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yield two lines of text and the heat map."""
        from rich.text import Text

        from seq2seq_cli.cli.heat_map import HeatMap, printable

        yield Text(f"{self.run.name}: {self.view.title}", style="dim", overflow="fold")
        yield Text(printable(self.found.source), style="bold", overflow="fold")
        confidence = f"  ({100 * self.found.confidence:.0f}% per token)"
        translation = Text(printable(self.found.translation), style="bold cyan", overflow="fold")
        yield translation + Text(confidence, style="dim")
        yield Text()
        yield HeatMap(self.view, self._probabilities())
        yield Text()

    def _probabilities(self) -> list[float]:
        """Return the probability of each query that the model predicted."""
        if self.choice.kind in ("encoder", "stack"):
            return []
        if self.choice.pieces:
            return [math.exp(p) for p in self.found.log_probabilities.tolist()]
        return self.found.probabilities
