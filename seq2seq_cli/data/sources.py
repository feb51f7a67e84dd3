"""Where sentence pairs come from: files in several formats, and the Tatoeba download."""

import gzip
import hashlib
import os
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs

from seq2seq_cli.config import DataConfig
from seq2seq_cli.data.phrasebook import phrasebook
from seq2seq_cli.errors import DataError, DiskError, UsageError

TATOEBA_URL = "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
TATOEBA_SHA256 = "f80e581ae291aa34dd3aba7bd98b5e9505234da4318e2f3295df70a1520c7f61"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs as they stand in a source.

    Attributes:
        pairs: (source, target), stripped, neither of them empty, no pair twice.
        dev, test: the same, where they are given apart, or None.
        dropped: how many pairs were left out, by reason.
        description: the source's name and files, for people.
        fingerprint: SHA-256 over all pairs in order; another corpus has another.
    """

    pairs: list[Pair]
    dev: list[Pair] | None
    test: list[Pair] | None
    dropped: dict[str, int]
    description: str
    fingerprint: str


def read_corpus(config: DataConfig) -> Corpus:
    """Read all pairs of the corpus that `config` names, and of the dev and test files.

    Raises:
        DataError: naming file, line and remedy.
    """
    reading = _Reading(config)
    dev = test = None
    if config.corpus == "phrasebook":
        book = phrasebook(config.split_seed)
        pairs, dev, test = (
            reading.keep("phrasebook", reading.turn("phrasebook", side))
            for side in (book.train, book.dev, book.test)
        )
    elif config.corpus == "tatoeba":
        pairs = reading.file(_downloaded_tatoeba())
    else:
        pairs = reading.file(Path(config.corpus))
    if config.dev:
        dev = reading.file(Path(config.dev))
    if config.test:
        test = reading.file(Path(config.test))
    return Corpus(
        pairs, dev, test, dict(reading.dropped), reading.description, reading.fingerprint()
    )


class _Reading:
    """What the readers share: the config, what was dropped, a hash of what was read."""

    def __init__(self, config: DataConfig):
        self.source, self.target = config.source_language, config.target_language
        self.columns = config.columns.split()
        self.dropped: Counter[str] = Counter()
        self.description = ""
        self._skip_bad_lines = config.skip_bad_lines
        self._digest = hashlib.sha256()

    def file(self, path: Path) -> list[Pair]:
        """Read a file, or two parallel ones, whole."""
        try:
            return self.keep(*_open_source(path, self))
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error

    def keep(self, description: str, found: Iterable[Pair]) -> list[Pair]:
        """Return what is neither empty nor there already."""
        self.description = self.description or description
        pairs: dict[Pair, None] = {}
        for pair in found:
            source, target = pair[0].strip(), pair[1].strip()
            if not source or not target:
                self.dropped["empty"] += 1
            elif (source, target) in pairs:
                self.dropped["duplicate"] += 1
            else:
                pairs[source, target] = None
                self._digest.update(f"{source}\t{target}\n".encode())
        if not pairs:
            raise DataError(f"{description}: there is no sentence pair in it")
        self._digest.update(b"\n")
        return list(pairs)

    def turn(self, name: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield pairs in the order of `columns` as (source, target)."""
        source, target = self.places(name)
        return ((pair[source], pair[target]) for pair in pairs)

    def fingerprint(self) -> str:
        return self._digest.hexdigest()

    def places(self, name: str) -> tuple[int, int]:
        """Return which columns of a TSV file are the source and the target."""
        try:
            return self.columns.index(self.source), self.columns.index(self.target)
        except ValueError:
            raise UsageError(
                f"{name}: its columns are {' and '.join(self.columns)} by data.columns, and "
                f"data.source_language and data.target_language ask for {self.source} and "
                f"{self.target}. Say what the columns are, such as --set "
                f"data.columns='{self.source} {self.target}'"
            ) from None

    def skip_or_raise(self, problem: str) -> None:
        """Count a bad line, or raise where bad lines are errors."""
        if not self._skip_bad_lines:
            raise DataError(
                f"{problem}. Correct the line, or leave such lines out by "
                "--set data.skip_bad_lines=true"
            )
        self.dropped["bad line"] += 1


def _open_source(path: Path, reading: _Reading) -> tuple[str, Iterator[Pair]]:
    """Choose the reader by what the path is."""
    if path.is_file():
        if path.suffix == ".zip" or zipfile.is_zipfile(path):
            return str(path), _read_zip(path, reading)
        return str(path), _read_tsv_file(path, reading)
    sides = {}
    for language in (reading.source, reading.target):
        candidates = (Path(f"{path}.{language}"), Path(f"{path}.{language}.gz"))
        sides[language] = next((file for file in candidates if file.is_file()), None)
    source, target = sides.values()
    if source and target:
        return f"{source}, {target}", _read_parallel(source, target, reading)
    if source or target:
        missing = reading.target if source else reading.source
        raise DataError(f"{source or target}: its other side, {path}.{missing}, does not exist")
    names = f"{path}.{reading.source} with {path}.{reading.target}"
    if path.is_dir():
        raise DataError(f"{path}: is a folder. Give a zip or a TSV file in it, or a PREFIX in it")
    raise DataError(
        f"{path}: no such file, nor {names}. Check --data (data.corpus); `phrasebook` and "
        "`tatoeba` are the corpora that s2s knows by name"
    )


def _read_tsv_file(path: Path, reading: _Reading) -> Iterator[Pair]:
    with _open_text(path) as stream:
        yield from _read_tsv(str(path), stream, reading)


@contextmanager
def _open_text(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw:
        if raw.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(raw) as text:
                yield text  # type: ignore[misc]
        else:
            yield raw


class BadLineError(ValueError):
    """A line that is not text; the message says why."""


def decode_line(raw: bytes) -> str:
    r"""Decode a line, without the \n or \r\n that ends it.

    Raises:
        BadLineError: if it is not UTF-8 or has a NUL.
    """
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLineError(
            f"invalid UTF-8 at byte {error.start + 1} (0x{line[error.start]:02x})"
        ) from error
    if "\0" in text:
        raise BadLineError("a NUL character, which no text has")
    return text


def _read_lines(name: str, stream: IO[bytes]) -> Iterator[str | BadLineError]:
    r"""Yield the lines of a text, or for a line that cannot be read, the reason.

    Lines end at \n and nowhere else; a leading byte order mark is dropped. An archive that is cut
    off or damaged raises.
    """
    number = 0
    try:
        for number, raw in enumerate(stream, start=1):
            try:
                yield decode_line(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
            except BadLineError as error:
                yield error
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name}: cut off or damaged after line {number} ({error}). Download it again"
        ) from error


def _read_tsv(name: str, stream: IO[bytes], reading: _Reading) -> Iterator[Pair]:
    """Yield pairs of a file with two columns, or three of which the last (attribution) is unread.

    The first line decides how many.
    """
    source, target = reading.places(name)
    columns = 0
    for number, line in enumerate(_read_lines(name, stream), start=1):
        if isinstance(line, BadLineError):
            reading.skip_or_raise(f"{name}:{number}: {line}")
            continue
        cells = line.split("\t")
        if not line.strip():
            reading.dropped["empty"] += 1
            continue
        columns = columns or (3 if len(cells) == 3 else 2)
        if len(cells) != columns:
            expected = f"{reading.source} TAB {reading.target}" + " TAB attribution" * (
                columns == 3
            )
            reading.skip_or_raise(
                f"{name}:{number}: {len(cells)} column{'s' * (len(cells) != 1)} where {columns} "
                f"are expected ({expected})"
            )
            continue
        yield cells[source], cells[target]


def _read_zip(path: Path, reading: _Reading) -> Iterator[Pair]:
    """Yield pairs of the one text file in a zip; names that begin with _ or . do not count."""
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [
                member
                for member in archive.namelist()
                if member.endswith((".txt", ".tsv")) and Path(member).name[0] not in "_."
            ]
            if len(texts) != 1:
                raise DataError(
                    f"{path}: exactly one .txt or .tsv file is expected in it; found: "
                    f"{', '.join(texts) or 'none'}. Unpack it and give the file itself"
                )
            with archive.open(texts[0]) as stream:
                yield from _read_tsv(f"{path}/{texts[0]}", stream, reading)
    except zipfile.BadZipFile as error:
        raise DataError(
            f"{path}: not a whole zip file ({error}). It may have been cut off: download it again"
        ) from error


def _read_parallel(source: Path, target: Path, reading: _Reading) -> Iterator[Pair]:
    """Yield pairs of two files whose n-th lines are translations of each other."""
    counts = []
    for path in (source, target):
        with _open_text(path) as stream:
            counts.append(sum(1 for _ in _read_lines(str(path), stream)))
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} has {counts[0]} lines and {target} has {counts[1]}: they must correspond "
            "line by line"
        )
    with _open_text(source) as left, _open_text(target) as right:
        sides = zip(_read_lines(str(source), left), _read_lines(str(target), right), strict=True)
        for number, (first, second) in enumerate(sides, start=1):
            if isinstance(first, BadLineError):
                reading.skip_or_raise(f"{source}:{number}: {first}")
            elif isinstance(second, BadLineError):
                reading.skip_or_raise(f"{target}:{number}: {second}")
            else:
                yield first, second


def _downloaded_tatoeba() -> Path:
    path = tatoeba_path()
    if not path.is_file():
        raise DataError(
            f"{path}: the tatoeba corpus has not been downloaded. Run `s2s data download`, or "
            "give a copy of spa-eng.zip by `--data PATH/spa-eng.zip`"
        )
    return path


def tatoeba_path() -> Path:
    """Return where the downloaded corpus is kept: the platform's cache folder for this program."""
    return platformdirs.user_cache_path("s2s") / "spa-eng.zip"


def download_tatoeba(report: Callable[[int, int], None], url: str = TATOEBA_URL) -> Path:
    """Download spa-eng.zip to the cache, unless it is there, and check its SHA-256.

    Args:
        report: called with bytes received and bytes in all.
        url: where to get it.

    Raises:
        DataError: without a network, or when the file is not the expected one.
    """
    path = tatoeba_path()
    if path.is_file() and _sha256(path) == TATOEBA_SHA256:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="spa-eng-", suffix=".part")
    except OSError as error:
        raise DiskError(f"{path.parent}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as part, urllib.request.urlopen(url, timeout=30) as response:
            total = int(response.headers.get("Content-Length") or 0)
            received = 0
            while block := response.read(1 << 16):
                part.write(block)
                received += len(block)
                report(received, total)
        if (found := _sha256(Path(temporary))) != TATOEBA_SHA256:
            raise DataError(
                f"{url}: what came is not the expected file (SHA-256 {found}, expected "
                f"{TATOEBA_SHA256}). Is there a proxy that answers in its place? Try again, or get "
                "spa-eng.zip elsewhere and give it by `--data PATH/spa-eng.zip`"
            )
        os.replace(temporary, path)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise DataError(
            f"{url}: cannot be reached ({getattr(error, 'reason', error)}).\n"
            "Is there a network? On another machine, download that address with a browser and give "
            "the file by `--data PATH/spa-eng.zip`, or put it at "
            f"{path}"
        ) from error
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
