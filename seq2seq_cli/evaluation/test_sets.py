"""Reads test sets: the splits of a corpus, files, and sacreBLEU's named test sets.

Lines are read like by sacreBLEU's command line: in UTF-8, without spaces at their ends.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import Corpus, read_same_corpus
from seq2seq_cli.data.lines import BadLineError, open_text, read_lines
from seq2seq_cli.data.splits import group_references
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.evaluation.systems import EvaluationSet
from seq2seq_cli.work import ShowWork, show_nothing

PATIENCE = 20.0
"""Timeout of a server, in seconds."""


def printable(path: Path) -> str:
    """Return a path as text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_text(path: Path) -> list[str]:
    """Return the lines of a text file, gzipped or not.

    Raises:
        DataError: naming the line that is not text.
    """
    lines = []
    with open_text(path) as stream:
        for number, line in enumerate(read_lines(str(path), stream), start=1):
            if isinstance(line, BadLineError):
                raise DataError(f"{path}:{number}: {line}. Correct the line")
            lines.append(line.rstrip())
    return lines


def read_hypotheses(path: Path, sentences: int) -> list[str]:
    """Return the lines of a file of translations, one per sentence of a test set.

    Raises:
        DataError: if it cannot be read, or has another number of lines.
    """
    lines = read_text(path)
    if len(lines) != sentences:
        raise DataError(
            f"{path}: has {len(lines):,} lines, and the test set has {sentences:,} sentences. Each "
            "line must be the translation of one source; `s2s export-split` writes the sources"
        )
    return lines


def split_of(corpus: Corpus, split: str) -> EvaluationSet:
    """Return the `dev` or `test` split of a corpus, with all references of each source."""
    return EvaluationSet(split, *group_references(getattr(corpus, split)), split)


def turned_split_of(corpus: Corpus, split: str, languages: tuple[str, str]) -> EvaluationSet:
    """Return a split with its languages exchanged; see `split_of`.

    Args:
        corpus: of the split.
        split: `dev` or `test`.
        languages: (source, target) after the exchange, for the name of the set.
    """
    turned = [(target, source) for source, target in getattr(corpus, split)]
    return EvaluationSet(f"{split} {'-'.join(languages)}", *group_references(turned), split)


def read_split(
    data: DataConfig,
    fingerprint: str | None,
    run: str,
    split: str,
    show: ShowWork = show_nothing,
    to: str | None = None,
) -> tuple[EvaluationSet, Corpus]:
    """Return the `dev` or `test` split of a run, and its corpus.

    Args:
        data: the run's `[data]`, perhaps with a new path of the corpus.
        fingerprint: of the corpus in training; None if it is not known.
        run: the run's path, for errors.
        split: `dev` or `test`.
        show: shows the number of pairs that have been read.
        to: the language to translate into; None for the run's default.

    Raises:
        DataError: if the corpus cannot be read, or is not the one that the run was trained on.
        UsageError: if the run does not translate into that language, or no pair of it is held out.
    """
    languages = data.languages_to(to)
    if languages[1] not in data.directions:
        raise UsageError(
            f"--to {to}: the {split} split has pairs of {data.source_language} and "
            f"{data.target_language} alone. Give pairs of {to} by --tsv or --test-set"
        )
    corpus = read_same_corpus(data, fingerprint, run, show)
    if languages[0] != data.source_language:
        return turned_split_of(corpus, split, languages), corpus
    return split_of(corpus, split), corpus


def read_files(source: Path, references: Sequence[Path]) -> EvaluationSet:
    """Return the test set of parallel files: a file of sources, and one or more of references.

    Raises:
        DataError: if a file cannot be read, or the numbers of lines differ.
    """
    sources = read_text(source)
    if not sources:
        raise DataError(f"{source}: is empty. A test set needs a source per line")
    columns = []
    for path in references:
        columns.append(read_text(path))
        if len(columns[-1]) != len(sources):
            raise DataError(
                f"{source} has {len(sources):,} lines and {path} has {len(columns[-1]):,}: they "
                "must correspond line by line"
            )
    rows = [list(row) for row in zip(*columns, strict=True)]
    return EvaluationSet(printable(source), sources, rows)


def read_tsv(path: Path) -> EvaluationSet:
    """Return the test set of a file with lines "source TAB reference", with one or more references.

    Raises:
        DataError: if a line has no reference; it names the line.
    """
    sources, references = [], []
    for number, line in enumerate(read_text(path), start=1):
        source, *wanted = line.split("\t")
        if not wanted:
            raise DataError(
                f"{path}:{number}: 1 column where at least 2 are expected (source TAB reference)"
            )
        sources.append(source.rstrip())
        references.append([reference.rstrip() for reference in wanted])
    if not sources:
        raise DataError(f"{path}: is empty. A test set needs a source per line")
    return EvaluationSet(printable(path), sources, references)


def read_named(name: str, languages: tuple[str, str]) -> EvaluationSet:
    """Return one of sacreBLEU's test sets. sacreBLEU downloads it once.

    Args:
        name: such as wmt13.
        languages: (source, target).

    Raises:
        UsageError: if there is no such set, or it does not have these languages.
        DataError: if it cannot be downloaded.
    """
    from sacrebleu import utils

    pair = "-".join(languages)
    if name not in utils.get_available_testsets():
        # sacreBLEU's list also has those of the reversed pair.
        found = utils.get_available_testsets_for_langpair(pair)
        others = [each for each in sorted(found) if pair in utils.get_langpairs_for_testset(each)]
        raise UsageError(
            f"--test-set {name}: sacreBLEU has no such set. For {pair} it has: "
            f"{', '.join(others) or 'none'}"
        )
    if pair not in utils.get_langpairs_for_testset(name):
        there = ", ".join(sorted(utils.get_langpairs_for_testset(name)))
        raise UsageError(f"--test-set {name}: there is no {pair} in it; there is: {there}")
    try:
        with _giving_up():
            source = Path(utils.get_source_file(name, pair))
            references = [Path(path) for path in utils.get_reference_files(name, pair)]
    except (Exception, SystemExit) as error:  # sacreBLEU exits where a download is damaged
        raise DataError(
            f"--test-set {name}: sacreBLEU could not download it ({error}). Check the network, or "
            "give files by --source-file and --reference-file"
        ) from error
    found = read_files(source, references)
    return EvaluationSet(f"{name} {pair}", found.sources, found.references)


@contextmanager
def _giving_up() -> Iterator[None]:
    """Limit the time to wait for a server to PATIENCE. sacreBLEU has no limit."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
