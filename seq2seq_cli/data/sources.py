"""Where sentence pairs come from: files in several formats, and catalogs."""

import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seq2seq_cli.config.data import CATALOG, CORPORA, DataConfig, SourceConfig
from seq2seq_cli.data.files import is_file, readable
from seq2seq_cli.data.lines import BadLineError, canonical, open_text, read_lines
from seq2seq_cli.data.named import files_of
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.errors import DataError, UsageError


@dataclass(frozen=True)
class Source:
    """Pairs to be read, once and in order.

    Attributes:
        description: the source's name or path, for people.
        pairs: (source, target), stripped, neither of them empty.
        weight: how often an epoch shows each of the pairs, on average.
        dev, test: pairs that the source has apart, or None.
    """

    description: str
    pairs: Iterator[Pair]
    weight: float = 1.0
    dev: list[Pair] | None = None
    test: list[Pair] | None = None


class Reader:
    """Opens what a config names, and counts what it leaves out.

    Args:
        config: languages, sources and what to do with bad lines.

    Attributes:
        dropped: how many pairs were left out, by reason; complete when all has been read.
    """

    def __init__(self, config: DataConfig):
        self.dropped: Counter[str] = Counter()
        self._config = config

    def sources(self) -> list[Source]:
        """Open the corpus, or each of several that are mixed.

        Raises:
            DataError: naming file, line and remedy; here or while pairs are read.
            UsageError: if a source has not the languages that are asked for.
        """
        return [self._open(source) for source in self._config.mixture]

    def check_files(self) -> None:
        """Raise early what `sources` and `held_out` raise of files, of which nothing is read yet.

        Corpora that are known by name are passed over.
        """
        given = [SourceConfig(corpus=path) for path in self._held_out_files().values() if path]
        for source in [*self._config.mixture, *given]:
            if source.corpus not in CORPORA and not source.corpus.startswith(CATALOG):
                self._open(source)

    def held_out(self, sources: Sequence[Source]) -> tuple[list[Pair] | None, list[Pair] | None]:
        """Return the dev and test pairs that the config or else the sources give, or None each."""
        sides: list[list[Pair] | None] = []
        for name, path in self._held_out_files().items():
            if path:
                source = self._open(SourceConfig(corpus=path))
                sides.append(list(source.pairs))
            else:
                given = [side for s in sources if (side := getattr(s, name)) is not None]
                sides.append([pair for side in given for pair in side] if given else None)
        return sides[0], sides[1]

    def _held_out_files(self) -> dict[str, str | None]:
        return {"dev": self._config.dev, "test": self._config.test}

    def _open(self, source: SourceConfig) -> Source:
        name = source.corpus
        languages = self._config.source_language, self._config.target_language
        train: Iterable[Pair]
        held_out: list[list[Pair] | None]
        if name.startswith(CATALOG):
            from seq2seq_cli.data.catalog import read_catalog  # imports TensorFlow

            train, *held_out = read_catalog(name.removeprefix(CATALOG), languages)
        else:
            columns = (source.columns or self._config.columns).split()
            read = partial(
                open_pairs, languages=languages, columns=columns, skip=self._skip_or_raise
            )
            files = files_of(name)
            train = read(files.train)
            held_out = [list(read(path)) if path else None for path in (files.dev, files.test)]
        dev, test = (side and list(self._clean(name, side)) for side in held_out)
        return Source(name, self._clean(name, train), source.weight, dev, test)

    def _clean(self, description: str, found: Iterable[Pair]) -> Iterator[Pair]:
        """Yield what has no empty side."""
        some = False
        for source, target in found:
            source, target = canonical(source), canonical(target)
            if source and target:
                some = True
                yield source, target
            else:
                self.dropped["empty"] += 1
        if not some:
            raise DataError(f"{description}: there is no sentence pair in it")

    def _skip_or_raise(self, problem: str) -> None:
        """Count a bad line, or raise where bad lines are errors."""
        if not self._config.skip_bad_lines:
            raise DataError(
                f"{problem}. Correct the line, or leave such lines out by "
                "--set data.skip_bad_lines=true"
            )
        self.dropped["bad line"] += 1


Skip = Callable[[str], None]


def open_pairs(
    path: Path, languages: tuple[str, str], columns: list[str], skip: Skip
) -> Iterator[Pair]:
    """Choose how to read by what the path is.

    Args:
        path: a zip with one text, a TSV file, or PREFIX of two parallel files; gzipped or not.
        languages: (source, target).
        columns: languages of the first two columns of a TSV file.
        skip: told of each line that cannot be read, as "file:line: reason"; it may raise.

    Returns:
        The pairs as they stand there.
    """
    if is_file(path):
        order = column_order(str(path), columns, languages)
        read = _read_zip if is_zip(path) else _read_file
        return read(path, order, columns, skip)
    source, target = find_parallel(path, languages)
    return _read_parallel(source, target, skip)


def find_parallel(path: Path, languages: tuple[str, str]) -> tuple[Path, Path]:
    """Return PREFIX.SOURCE and PREFIX.TARGET, either of which may be gzipped, of the PREFIX `path`.

    Raises:
        DataError: if one of them is missing, or both.
    """
    sides = []
    for language in languages:
        candidates = (Path(f"{path}.{language}"), Path(f"{path}.{language}.gz"))
        sides.append(next((file for file in candidates if is_file(file)), None))
    source, target = sides
    if source and target:
        return source, target
    if source or target:
        missing = languages[1] if source else languages[0]
        raise DataError(f"{source or target}: its other side, {path}.{missing}, does not exist")
    if path.is_dir():
        raise DataError(
            f"{path}: is a folder. Give a zip or a TSV file in it, or a PREFIX in it. A folder "
            "that `s2s data prepare` made is a corpus of its own, by --data alone"
        )
    names = f"{path}.{languages[0]} with {path}.{languages[1]}"
    raise DataError(
        f"{path}: no such file, nor {names}. Check --data (data.corpus); `phrasebook` and "
        "`tatoeba` are the corpora that s2s knows by name"
    )


def column_order(name: str, columns: list[str], languages: tuple[str, str]) -> tuple[int, int]:
    """Return which columns are the source and the target.

    Raises:
        UsageError: if they have not both languages, with the remedy.
    """
    source, target = languages
    try:
        return columns.index(source), columns.index(target)
    except ValueError:
        raise UsageError(
            f"{name}: its columns are {' and '.join(columns)} by data.columns, and "
            f"data.source_language and data.target_language ask for {source} and "
            f"{target}. Say what the columns are, such as --set "
            f"data.columns='{source} {target}'"
        ) from None


def _read_file(
    path: Path, order: tuple[int, int], columns: list[str], skip: Skip
) -> Iterator[Pair]:
    with open_text(path) as stream:
        yield from _read_tsv(read_lines(str(path), stream), str(path), order, columns, skip)


def _read_tsv(
    lines: Iterable[str | BadLineError],
    name: str,
    order: tuple[int, int],
    columns: list[str],
    skip: Skip,
) -> Iterator[Pair]:
    """Yield pairs of a file with two columns, or three of which the last (attribution) is unread.

    The first line decides how many.
    """
    source, target = order
    expected = 0
    for number, line in enumerate(lines, start=1):
        if isinstance(line, BadLineError):
            skip(f"{name}:{number}: {line}")
            continue
        cells = line.split("\t")
        if not line.strip():
            yield "", ""
            continue
        expected = expected or (3 if len(cells) == 3 else 2)
        if len(cells) != expected:
            layout = " TAB ".join([*columns, "attribution"][:expected])
            skip(
                f"{name}:{number}: {len(cells)} column{'s' * (len(cells) != 1)} where {expected} "
                f"are expected ({layout})"
            )
            continue
        yield cells[source], cells[target]


def _read_zip(path: Path, order: tuple[int, int], columns: list[str], skip: Skip) -> Iterator[Pair]:
    """Yield pairs of the one text file in a zip."""
    member = zip_member(path)
    name = f"{path}/{member}"
    with readable(name), zipfile.ZipFile(path) as archive, archive.open(member) as stream:
        yield from _read_tsv(read_lines(name, stream), name, order, columns, skip)


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip, or is meant to be one."""
    return path.suffix == ".zip" or zipfile.is_zipfile(path)


def zip_member(path: Path) -> str:
    """Return the one text file in a zip; names that begin with _ or . do not count.

    Raises:
        DataError: if the zip is damaged or cannot be unpacked, or there is not exactly one.
    """
    try:
        with readable(str(path)), zipfile.ZipFile(path) as archive:
            texts = [
                name
                for name in archive.namelist()
                if name.endswith((".txt", ".tsv")) and Path(name).name[0] not in "_."
            ]
            if len(texts) == 1:
                archive.open(texts[0]).close()
    except zipfile.BadZipFile as error:
        raise DataError(
            f"{path}: not a whole zip file ({error}). It may have been cut off: download it again"
        ) from error
    except RuntimeError as error:  # encrypted, or compressed by a method that Python does not have
        raise DataError(
            f"{path}: cannot be unpacked ({error}). Unpack it yourself and give the file itself"
        ) from error
    if len(texts) != 1:
        raise DataError(
            f"{path}: exactly one .txt or .tsv file is expected in it; found: "
            f"{', '.join(texts) or 'none'}. Unpack it and give the file itself"
        )
    return texts[0]


def _read_parallel(source: Path, target: Path, skip: Skip) -> Iterator[Pair]:
    """Yield pairs of two files whose n-th lines are translations of each other."""
    counts = []
    for path in (source, target):
        with open_text(path) as stream:
            counts.append(sum(1 for _ in read_lines(str(path), stream)))
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} has {counts[0]} lines and {target} has {counts[1]}: they must correspond "
            "line by line"
        )
    with open_text(source) as left, open_text(target) as right:
        sides = zip(read_lines(str(source), left), read_lines(str(target), right), strict=True)
        for number, (first, second) in enumerate(sides, start=1):
            if isinstance(first, BadLineError):
                skip(f"{source}:{number}: {first}")
            elif isinstance(second, BadLineError):
                skip(f"{target}:{number}: {second}")
            else:
                yield first, second
