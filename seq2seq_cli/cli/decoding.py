"""The commands that decode: translate, score."""

import json
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli.cli.files import (
    check_input,
    check_output,
    check_text,
    open_input,
    open_output,
)
from seq2seq_cli.cli.options import (
    DeviceOption,
    JsonOption,
    SetOption,
    config_layers,
    start_tensorflow,
)
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config.decoding import DecodingConfig
    from seq2seq_cli.decoding.translator import Translation
    from seq2seq_cli.runs.run import Run

FEW = 8  # sentences that are translated before a graph would be compiled

RunsOption = Annotated[
    list[str] | None,
    typer.Option("--run", help="A run's name below runs/, or its path; several are an ensemble."),
]
InputOption = Annotated[
    Path | None, typer.Option("--input", "-i", help="Read a file, line by line.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the results to a file.")
]
BeamOption = Annotated[
    int | None, typer.Option("--beam", help="Hypotheses followed; 1 is greedy.", metavar="K")
]
LengthPenaltyOption = Annotated[
    float | None,
    typer.Option("--length-penalty", help="Power of the length that divides scores.", metavar="A"),
]
BatchTokensOption = Annotated[
    int | None, typer.Option("--batch-tokens", help="Size of a batch, in source tokens.")
]


def translate(
    sentences: Annotated[
        list[str] | None, typer.Argument(help="What to translate; without it, stdin is read.")
    ] = None,
    input_file: InputOption = None,
    output: OutputOption = None,
    run: RunsOption = None,
    beam: BeamOption = None,
    n_best: Annotated[
        int | None,
        typer.Option("--n-best", help="Translations of each sentence: N lines, the best first."),
    ] = None,
    length_penalty: LengthPenaltyOption = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw each token by its probability.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling: above 1 more varied, below 1 less.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", help="Sampling: from the K most probable tokens.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", help="Sampling: from tokens that make up this much.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling: determines what is drawn.")] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", help="Most tokens of a translation.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="What each translation shall begin with.")] = "",
    scores: Annotated[bool, typer.Option("--scores", help="Print score TAB translation.")] = False,
    alignments: Annotated[
        bool,
        typer.Option(
            "--alignments",
            help="Print translation TAB alignment of words (0-0 1-2: source-target).",
        ),
    ] = False,
    replace_unknown: Annotated[
        bool,
        typer.Option("--replace-unknown", help="Copy unknown words from the source, by attention."),
    ] = False,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Translate sentences, a file or stdin: one line out for each line in."""
    from seq2seq_cli.cli import console

    check_files(bool(sentences), input_file, output)
    for number, sentence in enumerate(sentences or [], start=1):
        check_text(sentence, f"sentence {number}")
    check_text(prefix, "--prefix")
    if seed is not None and not sample:
        raise UsageError("--seed is for --sample; a search for the best draws nothing")
    runs, config = runs_and_config(
        run,
        settings,
        ("beam", beam, "--beam"),
        ("n_best", n_best, "--n-best"),
        ("length_penalty", length_penalty, "--length-penalty"),
        ("sample", sample or None, "--sample"),
        ("temperature", temperature, "--temperature"),
        ("top_k", top_k, "--top-k"),
        ("top_p", top_p, "--top-p"),
        ("seed", seed, "--seed"),
        ("max_length", max_length, "--max-length"),
        ("batch_tokens", batch_tokens, "--batch-tokens"),
    )
    start_tensorflow(device or "auto")

    from seq2seq_cli.decoding.translator import load_ensemble, translate_lines

    asks = not sentences and not input_file and sys.stdin.isatty()
    is_few = asks or bool(sentences and len(sentences) <= FEW)
    translator = load_ensemble(runs, console.show_warning).translator(
        config,
        alignments=alignments,
        replace_unknown=replace_unknown,
        compiled=not is_few,
        prefix=prefix,
    )

    def line(translation: "Translation") -> str:
        columns = [f"{translation.score:.4f}"] if scores else []
        columns.append(translation.text)
        if alignments:
            columns.append(str(translation.alignment or ""))
        return "\t".join(columns)

    def show(number: int, source: str, translation: "Translation") -> None:
        if translation.cut:
            _warn_cut(number, "source", config)
        if as_json:
            record = {"source": source, **_record(translation)}
            if config.n_best > 1:
                record["others"] = [_record(other) for other in translation.others]
            write(json.dumps(record, ensure_ascii=False))
            return
        found = [translation, *translation.others]
        # So many lines for each sentence, whatever was found.
        for n in range(config.n_best):
            write(line(found[n]) if n < len(found) else "")

    with ExitStack() as stack:
        write = stack.enter_context(open_output(output))
        if sentences:
            for number, found in enumerate(
                zip(sentences, translator.translate(sentences), strict=True), start=1
            ):
                show(number, *found)
        elif asks:
            names = ", ".join(str(each.path) for each in runs)
            console.stderr.print(f"Translating with {names}. An empty line or Ctrl-D ends.")
            prompts = stack.enter_context(closing(console.prompts(_history())))
            for number, source in enumerate(prompts, start=1):
                check_text(source, f"line {number}")
                show(number, source, translator.translate([source], number - 1)[0])
        else:
            shows = bool(output) or not sys.stdout.isatty()
            advance = stack.enter_context(console.line_progress(shows))
            stream, name = stack.enter_context(open_input(input_file))
            for found_line in translate_lines(translator, stream, name):
                show(*found_line)
                advance()


def score(
    source: Annotated[str | None, typer.Argument(help="A sentence.")] = None,
    translation: Annotated[str | None, typer.Argument(help="Its translation.")] = None,
    input_file: InputOption = None,
    output: OutputOption = None,
    run: RunsOption = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Print each token's log-probability too.")
    ] = False,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the log-probability of given translations, in nats.

    Without arguments, lines of "source TAB translation" are read from a file or stdin. A line
    comes out for each line in: for an empty line an empty one, or null with --json.
    """
    from seq2seq_cli.cli import console

    check_files(source is not None, input_file, output)
    check_text(source or "", "the source")
    check_text(translation or "", "the translation")
    if source is not None and translation is None:
        raise UsageError(f"{source!r} has no translation to score; give it as a second argument")
    runs, config = runs_and_config(run, settings, ("batch_tokens", batch_tokens, "--batch-tokens"))
    start_tensorflow(device or "auto")

    from seq2seq_cli.decoding.scoring import Score, Scorer, score_lines
    from seq2seq_cli.decoding.translator import load_ensemble

    loaded = load_ensemble(runs, console.show_warning)
    scorer = Scorer(loaded.model, loaded.tokenizers, config, source is None, loaded.sources)

    def show(number: int, pair: tuple[str, str], found: Score) -> None:
        if found.cut:
            _warn_cut(number, " and the ".join(found.cut), config)
        by_token = list(zip(found.tokens, found.token_log_probabilities, strict=True))
        if as_json:
            record = {
                "source": pair[0],
                "translation": pair[1],
                "log_probability": found.log_probability,
                "tokens": [{"token": t, "log_probability": p} for t, p in by_token],
            }
            write(json.dumps(record, ensure_ascii=False))
            return
        columns = []
        if found.log_probability is not None:
            columns.append(f"{found.log_probability:.4f}")
        if tokens and by_token:
            columns.append(" ".join(f"{token}:{p:.4f}" for token, p in by_token))
        write("\t".join(columns))

    with ExitStack() as stack:
        write = stack.enter_context(open_output(output))
        if source is not None and translation is not None:
            show(1, (source, translation), scorer.score([(source, translation)])[0])
            return
        stream, name = stack.enter_context(open_input(input_file))
        advance = stack.enter_context(console.line_progress(bool(output)))
        for found_line in score_lines(scorer, stream, name):
            show(*found_line)
            advance()


def runs_and_config(
    names: list[str] | None, settings: list[str] | None, *flags: tuple[str, Any, str]
) -> tuple[list["Run"], "DecodingConfig"]:
    """Return the runs, and the first one's `[decoding]` with the options in its place.

    `flags` are (key in `[decoding]`, value or None, option).
    """
    from seq2seq_cli.cli import console
    from seq2seq_cli.runs.run import find_run

    keyed = ((f"decoding.{key}", value, flag) for key, value, flag in flags)
    (options,) = config_layers(None, settings, *keyed)
    others = [key for key in options if not key.startswith("decoding.")]
    if others:
        raise UsageError(
            f"--set {others[0]}: a trained run takes keys of decoding alone, such as "
            "--set decoding.no_repeat_ngram=3"
        )
    wanted: list[str | None] = list(names) if names else [None]
    runs = [find_run(name, console.show_warning) for name in wanted]
    return runs, runs[0].config(options).decoding


def check_files(has_arguments: bool, input_file: Path | None, output: Path | None = None) -> None:
    """See that the input is given once and can be read, and that the output can be written.

    Raises:
        UsageError: if the input is given twice, is not there, or would be overwritten.
        DataError: if it cannot be read.
        DiskError: if the output cannot be written.
    """
    if has_arguments and input_file:
        raise UsageError("sentences and --input exclude each other; give one of them")
    if input_file:
        check_input(input_file)
    if output:
        check_output(output, input_file)


def _record(translation: "Translation") -> dict[str, Any]:
    record: dict[str, Any] = {
        "translation": translation.text,
        "score": translation.score,
        "log_probability": translation.log_probability,
    }
    if alignment := translation.alignment:
        record["alignment"] = str(alignment)
        record["attention"] = {
            "source_tokens": alignment.source_tokens,
            "target_tokens": alignment.target_tokens,
            "weights": alignment.weights,
        }
    return record


def _warn_cut(number: int, sides: str, config: "DecodingConfig") -> None:
    from seq2seq_cli.cli import console

    console.show_warning(
        f"line {number}: cut the {sides} to {config.max_source_tokens} tokens "
        "(decoding.max_source_tokens)"
    )


def _history() -> Path:
    import platformdirs

    return platformdirs.user_state_path("s2s") / "history"
