"""The options that select the sentences to score, and the test set that results."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2seq_cli.cli.files import check_input
from seq2seq_cli.cli.options import warn
from seq2seq_cli.cli.resources import FoundRun, fetch_data, start_tensorflow_to_read
from seq2seq_cli.errors import S2SError, UsageError

if TYPE_CHECKING:
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.evaluation.systems import EvaluationSet
    from seq2seq_cli.work import ShowWork

_NO_RARE_WORDS = "The table by rare words is left out. Use --training-file to get it"


class Split(str, Enum):
    """The held-out splits."""

    dev = "dev"
    test = "test"


SplitOption = Annotated[
    Split | None,
    typer.Option(help="The held-out pairs to use: dev or test, the default.", metavar="SPLIT"),
]
SourceFileOption = Annotated[
    Path | None, typer.Option(help="Score other sentences: a file with one source per line.")
]
ReferenceFileOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="References for --source-file, line by line; with several files, all of them count."
    ),
]
TsvOption = Annotated[
    Path | None,
    typer.Option(help="Score other sentences: a file with lines source TAB reference [TAB …]."),
]
TestSetOption = Annotated[
    str | None,
    typer.Option(help="Score one of sacreBLEU's test sets, such as wmt13.", metavar="NAME"),
]
TrainingFileOption = Annotated[
    Path | None,
    typer.Option(help="Training sources that determine rare words; by default those of the run."),
]
ConfidenceOption = Annotated[
    bool, typer.Option("--confidence", help="Print 95 % intervals, by bootstrap resampling.")
]
SeedOption = Annotated[
    int, typer.Option(help="Random seed of the resamples; sacreBLEU uses 12345.", min=1)
]


@dataclass(frozen=True)
class SetChoice:
    """The values of the options that select the sentences to score."""

    split: Split | None = None
    source_file: Path | None = None
    reference_files: list[Path] | None = None
    tsv: Path | None = None
    test_set: str | None = None
    training_file: Path | None = None

    @property
    def split_name(self) -> str:
        """The name of the split to use."""
        return (self.split or Split.test).value

    @property
    def is_split(self) -> bool:
        """Whether the sentences are a run's split."""
        return self.source_file is None and self.tsv is None and self.test_set is None

    def check(self) -> None:
        """Check that the options fit together, and that their files exist.

        Raises:
            UsageError: if not.
        """
        given = {
            "--source-file": self.source_file,
            "--tsv": self.tsv,
            "--test-set": self.test_set,
        }
        names = [name for name, value in given.items() if value is not None]
        if len(names) > 1:
            raise UsageError(f"{names[0]} and {names[1]} exclude each other; give one of them")
        if names and self.split:
            raise UsageError(
                f"--split is for the splits of a run, and excludes {names[0]}. Leave one out"
            )
        if bool(self.source_file) != bool(self.reference_files):
            raise UsageError("--source-file and --reference-file need each other; give both")
        for option, file in self.files:
            check_input(file, option)

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The files that are read, with their options."""
        given = [
            ("--source-file", self.source_file),
            *(("--reference-file", file) for file in self.reference_files or []),
            ("--tsv", self.tsv),
            ("--training-file", self.training_file),
        ]
        return [(option, file) for option, file in given if file]


@dataclass(frozen=True)
class Corpus:
    """The corpus of a run, with its splits and training sources.

    Attributes:
        data: the run's `[data]`, perhaps with a new path of the corpus.
        fingerprint: of the corpus in training, if it is known.
        run: the run's path, for errors.
        to: the language to translate into; None for the run's `data.target_language`.
    """

    data: "DataConfig"
    fingerprint: str | None
    run: str
    to: str | None = None

    @classmethod
    def of(cls, found: FoundRun, data: str | None, to: str | None) -> "Corpus":
        """Return the corpus of a run, at the location of --data if it is given."""
        run, config = found
        moved = config.data if data is None else config.data.moved_to(data)
        return cls(moved, run.data_fingerprint(), str(run.path), to)


def refuse_options(given: Mapping[str, object], reason: str) -> None:
    """Check that no option is given that would have no effect.

    Args:
        given: the value of each option; None if it is not given.
        reason: the rest of the error, after the option.

    Raises:
        UsageError: naming the first option that is given.
    """
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} {reason}")


def is_at_hand(corpus: Corpus, needed: bool, uses_models: bool, quiet: bool) -> bool:
    """Return whether the files of a corpus exist; print a warning if not.

    Args:
        corpus: the corpus of a run.
        needed: whether it contains the test set; otherwise it is used only to count words.
        uses_models: whether the command starts TensorFlow for models.
        quiet: whether to hide downloads.

    Raises:
        S2SError: if it is needed, but does not exist.
    """
    try:
        fetch_data(corpus.data, quiet)
        if not uses_models:
            start_tensorflow_to_read(corpus.data)
    except S2SError as error:
        if needed:
            raise
        warn(f"{error}. {_NO_RARE_WORDS}")
        return False
    return True


def chosen_set(
    choice: SetChoice,
    corpus: Corpus | None,
    languages: tuple[str, str] | None,
    needs_words: bool,
    show: "ShowWork",
) -> "tuple[EvaluationSet, Counter[str] | None]":
    """Return the test set, and how often each word occurs in the training sources.

    Args:
        choice: of the test set.
        corpus: of the run; None if there is none.
        languages: (source, target) of a named test set.
        needs_words: whether to count words, if training sources are known.
        show: shows the progress of each stage.

    Raises:
        UsageError: if there is no run and the options name no test set.
        DataError: if the test set or the corpus cannot be read.
    """
    from seq2seq_cli.data.corpus import read_same_corpus
    from seq2seq_cli.evaluation import test_sets
    from seq2seq_cli.evaluation.breakdown import count_words

    training = None
    if choice.source_file and choice.reference_files:
        found = test_sets.read_files(choice.source_file, choice.reference_files)
    elif choice.tsv:
        found = test_sets.read_tsv(choice.tsv)
    elif choice.test_set is not None:
        if languages is None:
            raise UsageError("--test-set needs the languages: give --run, or --source and --target")
        show("Reading the test set")
        found = test_sets.read_named(choice.test_set, languages)
    elif corpus:
        split = choice.split_name
        found, training = test_sets.read_split(*_given(corpus), split, show, corpus.to)
    else:
        raise UsageError("there are no sentences to score; give --run or --source-file")
    if not needs_words:
        return found, None
    if choice.training_file:
        return found, count_words(test_sets.read_text(choice.training_file))
    if corpus and not training:
        try:
            training = read_same_corpus(*_given(corpus), show)
        except S2SError as error:  # the corpus is needed for this table only
            warn(f"{error}. {_NO_RARE_WORDS}")
    if training is None or corpus is None:
        return found, None
    side = corpus.data.languages_to(corpus.to)[0] != corpus.data.source_language
    return found, count_words(pair[side] for pair in training.train)


def _given(corpus: Corpus) -> "tuple[DataConfig, str | None, str]":
    return corpus.data, corpus.fingerprint, corpus.run
