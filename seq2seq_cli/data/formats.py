"""The formats of files of sentence pairs: TSV, a zip with one TSV file, two parallel files."""

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seq2seq_cli.data.files import is_file, readable
from seq2seq_cli.data.lines import (
    DAMAGE,
    SAMPLED_BYTES,
    BadLineError,
    about,
    estimated_lines,
    open_member,
    open_text,
    read_lines,
)
from seq2seq_cli.data.splits import Pair
from seq2seq_cli.errors import DataError, UsageError

Skip = Callable[[str], None]
COLUMNS = "data.columns"
_LARGE = 10**9  # bytes of a text in a zip that are not suspicious
_HIGHEST_RATIO = 200  # of a text's size and its size in a zip; about 4 for sentences


def read_pairs(
    path: Path, languages: tuple[str, str], columns: list[str], skip: Skip, key: str = COLUMNS
) -> Iterator[Pair]:
    """Return the pairs of a file, unchanged. The path determines the format.

    Args:
        path: a zip with one text, a TSV file, or PREFIX of two parallel files; gzipped or not.
        languages: (source, target).
        columns: languages of the first two columns of a TSV file.
        skip: called for each line that cannot be read, with "file:line: reason"; it may raise.
        key: the key of the config that gives the columns, for errors; empty if they are fixed.

    Raises:
        DataError: if a file is missing, or cannot be read; here or while pairs are read.
        UsageError: if the columns are not those of the languages.
    """
    if is_file(path):
        order = column_order(str(path), columns, languages, key)
        read = _read_zip if is_zip(path) else _read_file
        return read(path, order, columns, skip)
    source, target = find_parallel(path, languages)
    return _read_parallel(source, target, skip)


def files_at(path: Path, languages: tuple[str, str]) -> list[Path]:
    """Return the one file or the two parallel files of a path, as `read_pairs` takes it.

    Raises:
        DataError: if there are none.
    """
    return [path] if is_file(path) else [*find_parallel(path, languages)]


def estimated_pairs(path: Path) -> int | None:
    """Return an estimate of the lines of a file of `files_at`, from its beginning.

    It is None if the file cannot be read.

    Raises:
        DataError: if it is a zip file that is damaged or has no file of pairs.
    """
    if not is_zip(path):
        return estimated_lines(path)
    member = zip_member(path)
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            size = archive.getinfo(member).file_size
            sample = stream.read(SAMPLED_BYTES)
            lines, read = sample.count(b"\n"), len(sample)
            lines += sample[-1:] not in (b"", b"\n")  # a last line without an end
    except DAMAGE:
        return None
    return lines if read >= size else about(lines * size / read)


def find_parallel(path: Path, languages: tuple[str, str]) -> tuple[Path, Path]:
    """Return the two files of the PREFIX `path`: PREFIX.LANGUAGE, or PREFIX.LANGUAGE.gz.

    Raises:
        DataError: if one or both are missing.
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
    if os.path.isdir(path):
        raise DataError(
            f"{path}: is a folder. Give a zip, a TSV file or a PREFIX in it. A folder that "
            "`s2s data prepare` made can only be given with --data"
        )
    names = f"{path}.{languages[0]} with {path}.{languages[1]}"
    raise DataError(
        f"{path}: no such file, nor {names}. Check --data (data.corpus) or data.sources; the "
        "corpora with names are `phrasebook` and `tatoeba`"
    )


def column_order(
    name: str, columns: list[str], languages: tuple[str, str], key: str = COLUMNS
) -> tuple[int, int]:
    """Return the indices of the source column and the target column; `key` as in `read_pairs`.

    Raises:
        UsageError: if the columns lack one of the languages, with the remedy.
    """
    source, target = languages
    try:
        return columns.index(source), columns.index(target)
    except ValueError:
        found = " and ".join(columns)
        wanted = f"the source and the target language are {source} and {target}"
        if not key:
            raise UsageError(
                f"{name}: its languages are {found}, but {wanted}. Give --source {columns[0]} "
                f"--target {columns[1]} (in data.sources, its target_language), or another corpus"
            ) from None
        example = f"--set {key}='{source} {target}'" if key == COLUMNS else f'"{source} {target}"'
        raise UsageError(
            f"{name}: {key} says that its columns are {found}, but {wanted}. Set {key}, such as "
            f"{example}"
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
    """Yield the pairs of a file with two or three columns; the third, attribution, is not read.

    The first line with two or three columns decides their number.
    """
    source, target = order
    decided = 0
    for number, line in enumerate(lines, start=1):
        if isinstance(line, BadLineError):
            skip(f"{name}:{number}: {line}")
            continue
        cells = line.split("\t")
        if not line.strip():
            yield "", ""
            continue
        if not decided and len(cells) in (2, 3):
            decided = len(cells)
        expected = decided or 2
        if len(cells) != expected:
            layout = " TAB ".join([*columns, "attribution"][:expected])
            skip(
                f"{name}:{number}: {len(cells)} column{'s' * (len(cells) != 1)} where {expected} "
                f"are expected ({layout})"
            )
            continue
        yield cells[source], cells[target]


def _read_zip(path: Path, order: tuple[int, int], columns: list[str], skip: Skip) -> Iterator[Pair]:
    """Yield the pairs of the one text file in a zip."""
    member = zip_member(path)
    name = member_name(path, member)
    with readable(name), zipfile.ZipFile(path) as archive, open_member(archive, member) as stream:
        yield from _read_tsv(read_lines(name, stream), name, order, columns, skip)


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip, by its name or by its content."""
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
                _check_size(path, archive.getinfo(texts[0]))
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:  # the latter in a member's name
        raise DataError(
            f"{path}: not a complete zip file ({error}). It may be truncated: download it again"
        ) from error
    except RuntimeError as error:  # encrypted, or compressed by a method that Python does not have
        raise DataError(
            f"{path}: cannot be unpacked ({error}). Unpack it yourself and give the file itself"
        ) from error
    if len(texts) != 1:
        raise DataError(
            f"{path}: must contain exactly one .txt or .tsv file; found: "
            f"{', '.join(map(_printable, texts)) or 'none'}. Unpack it and give the file itself"
        )
    return texts[0]


def member_name(path: Path, member: str) -> str:
    """Return the name of a file in a zip, for errors."""
    return f"{path}/{_printable(member)}"


def _printable(member: str) -> str:
    return member if member.isprintable() else repr(member)


def _check_size(path: Path, member: zipfile.ZipInfo) -> None:
    """Refuse a text that is many times as large as its compressed form, unlike sentences."""
    if member.file_size > max(_LARGE, _HIGHEST_RATIO * member.compress_size):
        raise DataError(
            f"{path}: unpacks from {member.compress_size / 1e6:,.1f} MB to "
            f"{member.file_size / 1e9:,.1f} GB, unlike any text. Unpack it yourself and give "
            "the file itself"
        )


def _read_parallel(source: Path, target: Path, skip: Skip) -> Iterator[Pair]:
    """Yield the pairs of two files whose n-th lines are translations of each other."""
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
