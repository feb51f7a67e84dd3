"""The systems of `s2s compare`: runs, checkpoints, saved translations and files of lines."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq_cli.cli.options import Flag, corpus_flags, warn
from seq2seq_cli.cli.resources import FoundRun, find_one
from seq2seq_cli.cli.test_sets import Corpus, SetChoice, Split, chosen_set, is_at_hand
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.work import ShowWork

if TYPE_CHECKING:
    from seq2seq_cli.evaluation.systems import EvaluationSet, SystemOutput


@dataclass(frozen=True)
class System:
    """A system, as given on the command line.

    Attributes:
        name: the argument.
        saved: the file of `s2s eval --save-translations`, if it is one.
        lines: the file of translations, one per line, if it is one.
        run: the run, if it is one.
        checkpoint: of the run: best, last, or an update.
    """

    name: str
    saved: Path | None = None
    lines: Path | None = None
    run: FoundRun | None = None
    checkpoint: str = "best"


def find_system(
    name: str, settings: list[str] | None, flags: Sequence[Flag], to: str | None
) -> System:
    """Return what a name means: a file, RUN, RUN@CHECKPOINT, or the folder of a checkpoint.

    Args:
        name: the argument.
        settings: the values of --set.
        flags: the flags of the search options.
        to: the value of --to.

    Raises:
        CheckpointError: if it is neither a file nor a run.
        UsageError: if a search option is invalid, or a run does not translate into `to`.
    """
    from seq2seq_cli.evaluation.systems import is_saved
    from seq2seq_cli.runs.bundles import is_bundle
    from seq2seq_cli.runs.naming import run_path

    path = Path(name)
    if os.path.isfile(path) and not is_bundle(path):
        return System(name, saved=path) if is_saved(path) else System(name, lines=path)
    folder = Path(os.path.abspath(name))
    if folder.parent.name == "checkpoints" and os.path.isdir(folder):
        run, checkpoint = str(folder.parents[1]), folder.name
    elif "@" in name and not os.path.isdir(run_path(name)) and not is_bundle(path):
        run, checkpoint = name.rsplit("@", 1)
        if checkpoint == "all":
            raise UsageError(f"{name}: a system is one checkpoint. Give best, last or an update")
    else:
        run, checkpoint = name, ""
    try:
        found = find_one(run, settings, *flags, to=to)
    except CheckpointError as error:
        is_there = os.path.exists(run_path(run)) or os.path.exists(run)
        prefix = "" if is_there else f"{name}: no such file. "
        raise CheckpointError(f"{prefix}{error}") from error
    return System(name, run=found, checkpoint=checkpoint or "best")


@dataclass(frozen=True)
class SetOptions:
    """The options that select the sentences of a comparison.

    Attributes:
        choice: the choice of the test set.
        run: the run whose split it is; None for the first run among the systems.
        data: the current location of the corpus; None for its location in training.
        languages: (source, target) of a named test set.
        to: the language to translate into; None for a run's default.
    """

    choice: SetChoice
    run: str | None = None
    data: str | None = None
    languages: tuple[str | None, str | None] = (None, None)
    to: str | None = None


@dataclass(frozen=True)
class ComparedSet:
    """The test set of a comparison.

    Attributes:
        sentences: its sources and references.
        words: the number of occurrences of each word in the training sources, if known.
        owner: the run or file that it comes from, for errors.
        split: `dev` or `test`; empty if it is not a split.
        corpus: the corpus of the split, if it was read.
    """

    sentences: "EvaluationSet"
    words: Counter[str] | None
    owner: str
    split: str = ""
    corpus: Corpus | None = None


def find_set(
    systems: Sequence[System], options: SetOptions, quiet: bool, show: ShowWork
) -> ComparedSet:
    """Return the test set.

    Args:
        systems: the systems to compare.
        options: those that select the sentences.
        quiet: whether to hide downloads.
        show: shows how far each stage is.

    Raises:
        UsageError: if the translated sentences are unknown.
        DataError: if a file or a corpus cannot be read.
    """
    from seq2seq_cli.evaluation.breakdown import count_words
    from seq2seq_cli.evaluation.systems import read_translations
    from seq2seq_cli.evaluation.test_sets import read_text

    choice, to = options.choice, options.to
    found = next((system.run for system in systems if system.run), None)
    if options.run is not None:
        found = find_one(options.run, None, *corpus_flags(None, *options.languages), to=to)
    if to and not found:
        raise UsageError(
            "--to applies only to runs, and there is none. Give --run, or leave out --to"
        )
    saved = next((system.saved for system in systems if system.saved), None)
    split = choice.split_name if choice.is_split else ""
    if saved and choice.is_split and options.run is None:
        test_set, _ = read_translations(saved)
        if choice.split and choice.split_name != test_set.split:
            raise UsageError(
                f"--split {choice.split_name}: {saved} has translations of {test_set.name}. Leave "
                "it out"
            )
        split = test_set.split
        if not (found and split):
            words = count_words(read_text(choice.training_file)) if choice.training_file else None
            return ComparedSet(test_set, words, str(saved), split)
        choice = replace(choice, split=Split(split))
    corpus = Corpus.of(found, options.data, to) if found else None
    if split and not corpus:
        raise UsageError(
            "files of translations do not contain the source sentences. Give --source-file and "
            "--reference-file, or use --run to give the run whose split was translated"
        )
    source, target = options.languages
    languages = (source, target) if source and target else None
    if corpus:
        languages = corpus.data.languages_to(to)
    if corpus and (split or not choice.training_file):
        uses_models = any(system.run for system in systems)
        if not is_at_hand(corpus, bool(split), uses_models, quiet):
            corpus = None
    test_set, words = chosen_set(choice, corpus, languages, True, show)
    owner = corpus.run if split and corpus else test_set.name
    return ComparedSet(test_set, words, owner, split, corpus)


def outputs_of(
    systems: Sequence[System], compared_set: ComparedSet, options: SetOptions, show: ShowWork
) -> "list[SystemOutput]":
    """Return the translations of a test set by each system; runs translate it now.

    TensorFlow must have been started if there are runs.

    Args:
        systems: the systems to compare.
        compared_set: the test set.
        options: those that select the sentences.
        show: shows how far each stage is.

    Raises:
        DataError: if a system has not translated this test set, or is trained on another split.
    """
    from seq2seq_cli.evaluation.comparison import check_same
    from seq2seq_cli.evaluation.systems import SystemOutput, read_translations
    from seq2seq_cli.evaluation.test_sets import printable, read_hypotheses

    test_set = compared_set.sentences
    outputs = []
    for system in systems:
        if system.saved:
            other, output = read_translations(system.saved)
            check_same(test_set, compared_set.owner, other, system.name)
        elif system.lines:
            lines = read_hypotheses(system.lines, len(test_set.sources))
            text = printable(system.lines)
            output = SystemOutput(text, lines, origin={"hypotheses": text})
        else:
            assert system.run
            _check_split(system.run, compared_set, options, show)
            output = _translated(system, test_set, options.to, show)
        outputs.append(output)
    return outputs


def _check_split(
    found: FoundRun, compared_set: ComparedSet, options: SetOptions, show: ShowWork
) -> None:
    """Check that a run has the same split, if the test set is a split."""
    from seq2seq_cli.evaluation.comparison import check_same
    from seq2seq_cli.evaluation.test_sets import read_split

    corpus = Corpus.of(found, options.data, options.to)
    if not compared_set.split or (
        compared_set.corpus and replace(compared_set.corpus, run=corpus.run) == corpus
    ):
        return
    given = corpus.data, corpus.fingerprint, corpus.run, compared_set.split
    other, _ = read_split(*given, show, options.to)
    check_same(compared_set.sentences, compared_set.owner, other, corpus.run)


def _translated(
    system: System, test_set: "EvaluationSet", to: str | None, show: ShowWork
) -> "SystemOutput":
    from seq2seq_cli.decoding.loading import load_run
    from seq2seq_cli.evaluation.test_split import system_output
    from seq2seq_cli.runs.selection import select

    assert system.run
    run, config = system.run
    *_, checkpoint = select(run, system.checkpoint, warn)
    loaded = load_run(run, warn, config, checkpoint).towards(to)
    return system_output(loaded, loaded.translator(), test_set, show)
