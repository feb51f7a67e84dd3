"""The command that scores given translations: score."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2seq_cli.cli.files import (
    InputOption,
    OutputOption,
    Result,
    check_files,
    check_text,
    emit,
    finite,
    open_input,
    open_output,
)
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    RunsOption,
    SetOption,
    ToOption,
    decoding_flags,
    warn,
    warn_of_cut,
)
from seq2seq_cli.cli.resources import find_runs, start_tensorflow
from seq2seq_cli.errors import UsageError

if TYPE_CHECKING:
    from seq2seq_cli.decoding.scoring import Pair, Score


def score(
    source: Annotated[str | None, typer.Argument(help="A sentence.")] = None,
    translation: Annotated[str | None, typer.Argument(help="The translation to score.")] = None,
    input_file: InputOption = None,
    output: OutputOption = None,
    run: RunsOption = None,
    to: ToOption = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Also print the log-probability of each token.")
    ] = False,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the log-probability of given translations, in nats.

    Without arguments, lines of "source TAB translation" are read from a file or stdin. Each input
    line gives one output line; an empty line gives an empty line. With
    --json, its log-probability is null.
    """
    from seq2seq_cli.cli.progress import line_progress

    check_files(source is not None, input_file, output)
    check_text(source or "", "the source")
    check_text(translation or "", "the translation")
    if source is not None and translation is None:
        raise UsageError(f"{source!r} has no translation to score; give it as a second argument")
    found = find_runs(run, settings, *decoding_flags(batch_tokens=batch_tokens), to=to)
    start_tensorflow(device)

    from seq2seq_cli.decoding.loading import load_ensemble
    from seq2seq_cli.decoding.scoring import score_lines

    runs, configs = zip(*found, strict=True)
    loaded = load_ensemble(runs, warn, configs).towards(to)
    scorer = loaded.scorer(compiled=source is None)

    def show(number: int, pair: "Pair", scored: "Score") -> None:
        if scored.cut:
            warn_of_cut(number, scored.cut, loaded.decoding.max_source_tokens)
        emit(_result(pair, scored, tokens), as_json, write)

    with open_output(output) as write:
        if source is not None and translation is not None:
            show(1, (source, translation), scorer.score([(source, translation)])[0])
            return
        is_shown = not quiet and (bool(output) or not sys.stdout.isatty())
        progress = line_progress("Scoring", input_file, is_shown)
        with progress as show_done, open_input(input_file) as (stream, name):
            for number, pair, scored in score_lines(scorer, stream, name):
                show(number, pair, scored)
                show_done(number)


def _result(pair: "Pair", scored: "Score", with_tokens: bool) -> Result:
    by_token = list(zip(scored.tokens, scored.token_log_probabilities, strict=True))
    record: dict[str, Any] = {
        "source": pair[0],
        "translation": pair[1],
        "log_probability": finite(scored.log_probability),
        "tokens": [{"token": t, "log_probability": finite(p)} for t, p in by_token],
    }
    columns = []
    if scored.log_probability is not None:
        columns.append(f"{scored.log_probability:.4f}")
    if with_tokens and by_token:
        columns.append(" ".join(f"{token}:{p:.4f}" for token, p in by_token))
    return Result(record, "\t".join(columns))
