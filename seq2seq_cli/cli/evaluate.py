"""The command that scores a run on its held-out pairs: eval."""

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from seq2seq_cli.cli.files import Result, check_output, emit, open_output
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DataOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    QuietOption,
    RunsOption,
    SetOption,
    SourceOption,
    TargetOption,
    corpus_flags,
    decoding_flags,
    find_data,
    find_runs,
    start_tensorflow,
    warn,
)


class Split(str, Enum):
    """The held-out splits."""

    dev = "dev"
    test = "test"


def evaluate(
    run: RunsOption = None,
    split: Annotated[Split, typer.Option(help="Which held-out pairs.")] = Split.test,
    data: DataOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write sources, translations and references (TSV)."),
    ] = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score a run by BLEU and chrF on its leak-free test split."""
    if output:
        check_output(output)
    found = find_runs(
        run,
        settings,
        *corpus_flags(None, source, target),
        *decoding_flags(beam=beam, length_penalty=length_penalty, batch_tokens=batch_tokens),
    )
    corpus = found.configs[0].data
    if data is not None:
        corpus = corpus.moved_to(data)
    find_data(corpus, quiet)
    device_used = start_tensorflow(device or "auto")

    from seq2seq_cli.cli.console import two_columns
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.decoding.loading import load_ensemble
    from seq2seq_cli.evaluation.test_split import evaluate as evaluate_run

    loaded = load_ensemble(found.runs, warn, found.configs)
    with work_progress("sentences", not quiet) as progress:
        evaluation = evaluate_run(loaded, corpus, split.value, progress=progress)
    scores, search = evaluation.scores, loaded.decoding.description
    record = {
        **{"run": evaluation.run, "checkpoint": evaluation.checkpoint, "split": split.value},
        **asdict(scores),
        **{"search": search, "device": device_used},
    }
    rows = [
        ("run", f"{evaluation.run}, {evaluation.checkpoint}, {search}"),
        (split.value, f"{scores.sentences:,} sentences, {scores.references:,} references"),
        ("BLEU", f"{scores.bleu:.2f}   {scores.bleu_signature}"),
        ("chrF", f"{scores.chrf:.2f}   {scores.chrf_signature}"),
    ]
    emit(Result(record, two_columns(rows)), as_json)
    # The scores have been printed, whatever happens to the file.
    if output:
        with open_output(output) as write:
            for row in evaluation.rows():
                write("\t".join(row))
