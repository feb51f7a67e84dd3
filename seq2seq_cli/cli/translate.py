"""The command that translates arguments, sentences typed at a prompt, or lines: translate."""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from seq2seq_cli.cli.documents import (
    FormatOption,
    checked_document,
    document_format,
    translate_file,
)
from seq2seq_cli.cli.files import (
    OutputOption,
    Result,
    check_files,
    check_text,
    emit,
    finite,
    open_output,
)
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    QuietOption,
    RerankOption,
    RerankWeightOption,
    RunsOption,
    SetOption,
    ToOption,
    warn,
    warn_of_cut,
)
from seq2seq_cli.cli.resources import find_runs, start_tensorflow
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
from seq2seq_cli.cli.shards import WHOLE, Shard, open_lines
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config.decoding import DecodingConfig
    from seq2seq_cli.decoding.translator import Translation, Translator

SentencesArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Sentences to translate; without them, stdin is read line by line."),
]
PrefixOption = Annotated[str, typer.Option(help="Text at the beginning of each translation.")]
ScoresOption = Annotated[bool, typer.Option("--scores", help="Print score TAB translation.")]
AlignmentsOption = Annotated[
    bool,
    typer.Option(
        "--alignments", help="Print translation TAB alignment of words (0-0 1-2: source-target)."
    ),
]
ReplaceUnknownOption = Annotated[
    bool,
    typer.Option(
        "--replace-unknown", help="Replace unknown words with source words, by attention."
    ),
]

SourcesOption = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="Read a file: its lines, or a document; see --format."),
]
ShardOption = Annotated[
    str,
    typer.Option(
        help="Translate only one of COUNT shards of --input. To get the translation of the whole "
        "file, join the outputs of all shards in order.",
        metavar="NUMBER/COUNT",
    ),
]


def translate(
    sentences: SentencesArgument = None,
    input_file: SourcesOption = None,
    output: OutputOption = None,
    shard: ShardOption = "1/1",
    format_: FormatOption = None,
    run: RunsOption = None,
    to: ToOption = None,
    beam: BeamOption = None,
    n_best: NBestOption = None,
    mbr: MBROption = None,
    rerank: RerankOption = None,
    rerank_weight: RerankWeightOption = None,
    length_penalty: LengthPenaltyOption = None,
    sample: SampleOption = False,
    temperature: TemperatureOption = None,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    seed: SeedOption = None,
    max_length: MaxLengthOption = None,
    prefix: PrefixOption = "",
    scores: ScoresOption = False,
    alignments: AlignmentsOption = False,
    replace_unknown: ReplaceUnknownOption = False,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Translate sentences, a document, or the lines of a file or stdin."""
    check_files(bool(sentences), input_file, output)
    _check_texts(sentences or [], prefix)
    for_lines = {"--n-best": n_best is not None, "--scores": scores, "--prefix": bool(prefix)}
    for_lines |= {"--alignments": alignments, "--json": as_json, "--shard": shard != "1/1"}
    of_file = Shard.parse(shard)
    if of_file != WHOLE and not input_file:
        raise UsageError("--shard needs a file as --input")
    document = document_format(format_, input_file, output, for_lines)
    content = checked_document(input_file, document) if document and input_file else b""
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
        rerank=rerank,
        rerank_weight=rerank_weight,
    )
    found = find_runs(run, settings, *flags, to=to)
    check_seed(seed, found[0].config.decoding)
    start_tensorflow(device)

    from seq2seq_cli.decoding.loading import load_ensemble
    from seq2seq_cli.decoding.translator import COMPILED_FROM

    runs, configs = zip(*found, strict=True)
    loaded = load_ensemble(runs, warn, configs).towards(to)
    asks = not sentences and not input_file and sys.stdin.isatty()
    is_small = asks or (sentences and len(sentences) < COMPILED_FROM)
    translator = loaded.translator(
        alignments=alignments,
        replace_unknown=replace_unknown,
        compiled=not is_small,
        prefix=prefix,
    )
    if document and input_file and output:
        translate_file(translator, content, input_file, output, document, not quiet)
        return
    with open_output(output) as write:
        writer = _Writer(write, loaded.decoding, scores, alignments, as_json)
        if sentences:
            _translate_arguments(translator, sentences, writer)
        elif asks:
            _translate_prompts(translator, loaded.name, writer)
        else:
            shows = not quiet and (bool(output) or not sys.stdout.isatty())
            _translate_stream(translator, input_file, of_file, shows, writer)


def _check_texts(sentences: Sequence[str], prefix: str) -> None:
    for number, sentence in enumerate(sentences, start=1):
        check_text(sentence, f"sentence {number}")
    check_text(prefix, "--prefix")


class _Writer(NamedTuple):
    """Writes translations in the form that the options select.

    Attributes:
        write: writes a line.
        config: the options of the search.
        scores, alignments, as_json: the options.
    """

    write: Callable[[str], None]
    config: "DecodingConfig"
    scores: bool
    alignments: bool
    as_json: bool

    def __call__(self, number: int, source: str, translation: "Translation") -> None:
        """Write the translation of a sentence; `number` counts from 1."""
        if translation.cut:
            warn_of_cut(number, ("source",), self.config.max_source_tokens)
        record = {"source": source, **_record(translation)}
        if self.config.n_best > 1:
            record["others"] = [_record(other) for other in translation.others]
        found = [translation, *translation.others] if source.strip() else []
        # The same number of lines for each sentence, regardless of the number of translations.
        missing = [""] * (self.config.n_best - len(found))
        lines = [*map(self._line, found), *missing]
        emit(Result(record, "\n".join(lines)), self.as_json, self.write)

    def _line(self, translation: "Translation") -> str:
        columns = [f"{translation.score:.4f}"] if self.scores else []
        columns.append(translation.text)
        if self.alignments:
            columns.append(str(translation.alignment or ""))
        return "\t".join(columns)


def _translate_arguments(
    translator: "Translator", sentences: Sequence[str], writer: _Writer
) -> None:
    translations = translator.translate(sentences)
    for number, (source, found) in enumerate(zip(sentences, translations, strict=True), start=1):
        writer(number, source, found)


def _translate_prompts(translator: "Translator", runs: str, writer: _Writer) -> None:
    import platformdirs

    from seq2seq_cli.cli import console

    console.show_notice(f"Translating with {runs}. An empty line or Ctrl-D ends.")
    history = platformdirs.user_state_path("s2s") / "history"
    with closing(_prompts(history)) as lines:
        for number, source in enumerate(lines, start=1):
            check_text(source, f"line {number}")
            writer(number, source, translator.translate([source], number - 1)[0])


def _translate_stream(
    translator: "Translator", input_file: Path | None, shard: Shard, shows: bool, writer: _Writer
) -> None:
    from seq2seq_cli.cli.progress import line_progress
    from seq2seq_cli.decoding.translator import translate_lines

    progress = line_progress("Translating", input_file, shows, shard.count)
    with progress as show, open_lines(input_file, shard) as (stream, name, before):
        for number, source, found in translate_lines(translator, stream, name, before):
            writer(number, source, found)
            show(number - before)


def _prompts(history: Path) -> Generator[str, None, None]:
    """Ask for sentences on the terminal until an empty line or Ctrl-D.

    Lines can be edited, and earlier lines recalled from the file `history`.
    """
    from seq2seq_cli.cli.console import stderr

    # Python writes the prompt to stdout, which has only results if it is not a terminal.
    prompt = "> " if sys.stdout.isatty() else ""
    with _recalled(history):
        while True:
            if not prompt:
                stderr.print("> ", end="")
            try:
                line = input(prompt)
            except EOFError:
                stderr.print()
                return
            if not line.strip():
                return
            yield line


@contextmanager
def _recalled(history: Path) -> Iterator[None]:
    """Let `input` edit lines and recall those of a file, if Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(1000)
    try:
        yield
    finally:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def _record(translation: "Translation") -> dict[str, Any]:
    record: dict[str, Any] = {
        "translation": translation.text,
        "score": finite(translation.score),
        "log_probability": finite(translation.log_probability),
    }
    if translation.reverse_log_probability is not None:
        record["reverse_log_probability"] = finite(translation.reverse_log_probability)
    if alignment := translation.alignment:
        record["alignment"] = str(alignment)
        record["attention"] = {
            "source_tokens": alignment.source_tokens,
            "target_tokens": alignment.target_tokens,
            "weights": alignment.weights,
        }
    return record
