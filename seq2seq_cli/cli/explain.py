"""The command that explains translations: explain."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.files import InputOption, Result, emit
from seq2seq_cli.cli.options import (
    BatchTokensOption,
    BeamOption,
    DeviceOption,
    JsonOption,
    LengthPenaltyOption,
    QuietOption,
    SetOption,
    ToOption,
    decoding_flags,
    warn,
)
from seq2seq_cli.cli.resources import FoundRun, start_tensorflow
from seq2seq_cli.cli.sentences import (
    SentencesArgument,
    ShownRunsOption,
    TargetTextOption,
    check_written,
    find_each_run,
    read_pairs,
    warn_of_cuts,
    write_page,
)

if TYPE_CHECKING:
    from seq2seq_cli.attention.explanation import Explanation
    from seq2seq_cli.cli.sentences import Pair


def explain(
    sentences: SentencesArgument = None,
    target: TargetTextOption = None,
    input_file: InputOption = None,
    run: ShownRunsOption = None,
    to: ToOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write the page of `s2s attention` with the explanations."),
    ] = None,
    batch_tokens: BatchTokensOption = None,
    settings: SetOption = None,
    device: DeviceOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain a translation: alternatives, the search, and the most similar training pairs.

    Each word is shown with its probability, the five most probable alternatives, and the source
    words it looked at. A beam (--beam 5) is shown as a tree. The first call for a corpus indexes
    its training pairs.
    """
    written = check_written(input_file, html=html)
    flags = decoding_flags(beam=beam, length_penalty=length_penalty, batch_tokens=batch_tokens)
    found = find_each_run(run, settings, flags, to)
    pairs = read_pairs(sentences, target, input_file)
    start_tensorflow(device)

    from seq2seq_cli.attention.maps import ReadRun

    explained = [_explained(each, pairs, to, quiet) for each in found]
    if html:
        runs = [
            ReadRun(
                each.run.name,
                each.config.model.description,
                [explanation and explanation.attention for explanation in explanations],
                [explanation and explanation.record() for explanation in explanations],
            )
            for each, explanations in zip(found, explained, strict=True)
        ]
        write_page(html, runs, quiet)
    if written and not as_json:
        return
    for number in range(len(pairs)):
        for each, explanations in zip(found, explained, strict=True):
            emit(_result(each.run.name, explanations[number]), as_json)


def _explained(
    found: FoundRun, pairs: "list[Pair]", to: str | None, quiet: bool
) -> "list[Explanation | None]":
    """Explain all sentences by one run."""
    import platformdirs

    from seq2seq_cli.attention.explanation import Explainer, training_index
    from seq2seq_cli.attention.reader import AttentionReader
    from seq2seq_cli.cli.progress import work_progress
    from seq2seq_cli.decoding.loading import load_run

    run, config = found
    loaded = load_run(run, warn, config).towards(to)
    AttentionReader(loaded)  # refuses a model without attention, before the long part
    folder = platformdirs.user_cache_path("s2s") / "training-pairs"
    with work_progress(not quiet) as show:
        fingerprint = loaded.state.data_fingerprint
        index = training_index(config.data, fingerprint, folder, warn, show, to)
    explainer = Explainer(loaded, loaded.decoding, index)
    stage = f"Explaining with {run.name}"
    with work_progress(not quiet and len(pairs) > 1) as show:
        progress = partial(show, stage, "sentences", total=len(pairs))
        explanations = explainer.explain(pairs, progress)
    warn_of_cuts(
        [explanation and explanation.attention for explanation in explanations],
        loaded.decoding.max_source_tokens,
    )
    return explanations


def _result(run: str, explanation: "Explanation | None") -> Result:
    """Return the result for one sentence; for a blank one, null or an empty line."""
    if explanation is None:
        return Result(None, "")
    from seq2seq_cli.cli.explanation_display import ExplanationDisplay

    attention = explanation.attention
    record = {
        "run": run,
        "source": attention.source,
        "translation": attention.translation,
        "log_probability": attention.log_probability,
        "confidence": attention.confidence,
        **explanation.record(),
    }
    return Result(record, ExplanationDisplay(run, explanation))
