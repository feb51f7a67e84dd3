"""The systems of `s2s compare`: runs, checkpoints, saved translations and files of lines."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq_cli.cli.options import (
    Flag,
    FoundRuns,
    corpus_flags,
    find_data,
    find_plain_data,
    find_runs,
    warn,
)
from seq2seq_cli.cli.test_sets import Corpus, SetChoice, chosen_set
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.work import ShowWork

if TYPE_CHECKING:
    from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput


@dataclass(frozen=True)
class System:
    """A system, as given on the command line.

    Attributes:
        name: as given.
        saved: the file of `s2s eval --save-translations`, if it is one.
        lines: the file of translations, one per line, if it is one.
        run: the run, if it is one.
        checkpoint: of the run: best, last, or an update.
    """

    name: str
    saved: Path | None = None
    lines: Path | None = None
    run: FoundRuns | None = None
    checkpoint: str = "best"


def find_system(name: str, settings: list[str] | None, flags: Sequence[Flag]) -> System:
    """Return what a name means: a file, RUN, RUN@CHECKPOINT, or the folder of a checkpoint.

    Raises:
        CheckpointError: if it is neither a file nor a run.
        UsageError: if an option of the search is invalid.
    """
    from seq2seq_cli.evaluation.systems import is_saved
    from seq2seq_cli.runs.bundles import is_bundle
    from seq2seq_cli.runs.run import run_path

    path = Path(name)
    if path.is_file() and not is_bundle(path):
        return System(name, saved=path) if is_saved(path) else System(name, lines=path)
    if path.parent.name == "checkpoints" and path.is_dir():
        run, checkpoint = str(path.parents[1]), path.name
    elif run_path(name).is_dir() or is_bundle(path):
        run, checkpoint = name, ""
    else:
        run, _, checkpoint = name.partition("@")
    try:
        found = find_runs([run], settings, *flags)
    except CheckpointError as error:
        raise CheckpointError(f"{name}: no such file. {error}") from error
    return System(name, run=found, checkpoint=checkpoint or "best")


def find_set(
    systems: Sequence[System],
    choice: SetChoice,
    split_run: str | None,
    data: str | None,
    languages: tuple[str | None, str | None],
    quiet: bool,
    show: ShowWork,
) -> "tuple[EvaluationSet, Counter[str] | None, str]":
    """Return the test set, the words of the training sources if known, and the owner of the set.

    Args:
        systems: the systems to compare.
        choice: of the test set.
        split_run: the run whose split it is; None for the first run among the systems.
        data: where the run's corpus is now.
        languages: (source, target) of a named test set.
        quiet: whether to show no progress.
        show: shows the progress of each stage.

    Raises:
        UsageError: if it is not known which sentences were translated.
        DataError: if a file or a corpus cannot be read.
    """
    from seq2seq_cli.evaluation.breakdown import count_words
    from seq2seq_cli.evaluation.systems import read_translations
    from seq2seq_cli.evaluation.test_sets import read_text

    saved = next((system.saved for system in systems if system.saved), None)
    found = next((system.run for system in systems if system.run), None)
    if split_run:
        found = find_runs([split_run], None, *corpus_flags(None, *languages))
    if choice.is_split and saved and not split_run:
        of, _ = read_translations(saved)
        words = count_words(read_text(choice.training_file)) if choice.training_file else None
        return of, words, str(saved)
    corpus = _corpus(found, data) if found else None
    if choice.is_split and not corpus:
        raise UsageError(
            "files of translations do not say which sentences were translated. Give --source-file "
            "and --reference-file, or --run with the run whose split it is"
        )
    if corpus:
        uses_models = any(system.run for system in systems)
        (find_data if uses_models else find_plain_data)(corpus.data, quiet)
    pair = (languages[0], languages[1]) if languages[0] and languages[1] else None
    if corpus:
        pair = corpus.data.source_language, corpus.data.target_language
    of, words = chosen_set(choice, corpus, pair, True, show)
    return of, words, corpus.run if choice.is_split and corpus else of.name


def outputs_of(
    systems: Sequence[System],
    of: "EvaluationSet",
    owner: str,
    choice: SetChoice,
    show: ShowWork,
) -> "list[SystemOutput]":
    """Return the translations of a test set by each system; runs translate it now.

    TensorFlow must have been started if there are runs.

    Args:
        systems: the systems to compare.
        of: the test set.
        owner: its owner, for errors.
        choice: of the test set.
        show: shows the progress of each stage.

    Raises:
        DataError: if a system has not translated this test set, or is trained on another split.
    """
    from seq2seq_cli.evaluation.comparison import check_same
    from seq2seq_cli.evaluation.systems import SystemOutput, read_translations
    from seq2seq_cli.evaluation.test_sets import read_hypotheses

    outputs = []
    for system in systems:
        if system.saved:
            other, output = read_translations(system.saved)
            check_same(of, owner, other, system.name)
        elif system.lines:
            lines = read_hypotheses(system.lines, len(of.sources))
            output = SystemOutput(system.name, lines, origin={"hypotheses": system.name})
        else:
            _check_split(system, of, owner, choice, show)
            output = _translated(system, of, show)
        outputs.append(output)
    return outputs


def _corpus(found: FoundRuns, data: str | None) -> Corpus:
    run, config = found.runs[0], found.configs[0].data
    moved = config if data is None else config.moved_to(data)
    return Corpus(moved, run.data_fingerprint(), str(run.path))


def _check_split(
    system: System, of: "EvaluationSet", owner: str, choice: SetChoice, show: ShowWork
) -> None:
    """Check that a run has the same split, if the test set is a split of another run."""
    from seq2seq_cli.evaluation.comparison import check_same
    from seq2seq_cli.evaluation.test_sets import read_split

    assert system.run
    run = str(system.run.runs[0].path)
    if not choice.is_split or run == owner:
        return
    corpus = _corpus(system.run, None)
    other, _ = read_split(corpus.data, corpus.fingerprint, run, choice.split, show)
    check_same(of, owner, other, run)


def _translated(system: System, of: "EvaluationSet", show: ShowWork) -> "SystemOutput":
    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.evaluation.test_split import system_output
    from seq2seq_cli.runs.selection import select

    assert system.run
    run, config = system.run.runs[0], system.run.configs[0]
    *_, checkpoint = select(run, system.checkpoint, warn)
    loaded = load_run(run, warn, config, checkpoint)
    return system_output(loaded, loaded.translator(), of, show)
