"""Files that cannot be read as a corpus: an error names them, whoever reads them."""

import gzip
import io
import os
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.checking.check import check
from seq2seq_cli.data.checking.inspection import LineFile
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.errors import DataError

TEXT = "".join(f"line {i}\tlínea {i}\n" for i in range(500)).encode()
CENTRAL = b"PK\x01\x02"  # the record of a file in a zip's directory, beside that before the file


def zipped(method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("pairs.txt", TEXT)
    return bytearray(file.getvalue())


def encrypted() -> bytearray:
    data = zipped()
    data[6] |= 1
    data[data.rindex(CENTRAL) + 8] |= 1
    return data


def of_method(number: int) -> bytearray:
    data = zipped()
    for offset in (8, data.rindex(CENTRAL) + 10):
        data[offset : offset + 2] = struct.pack("<H", number)
    return data


def changed(data: bytes | bytearray, offset: int) -> bytearray:
    data = bytearray(data)
    data[offset] ^= 0xFF
    return data


CUT = "truncated or damaged after line"
DAMAGED = {
    "encrypted.zip": (encrypted(), "is encrypted, .* Unpack it yourself and give the file"),
    "deflate64.zip": (of_method(9), "compression method is not .* Unpack it yourself and give the"),
    "newer.zip": (changed(zipped(), zipped().rindex(CENTRAL) + 6), "zip file version .* Unpack it"),
    "no-header.zip": (changed(zipped(), 0), "not a complete zip file"),
    "crc.zip": (changed(zipped(), zipped().rindex(CENTRAL) + 16), f"pairs.txt: {CUT} [1-9]"),
    "bzip2.zip": (changed(zipped(zipfile.ZIP_BZIP2), 300), f"pairs.txt: {CUT} 0 .Invalid data"),
    "lzma.zip": (changed(zipped(zipfile.ZIP_LZMA), 300), f"pairs.txt: {CUT} .* .Corrupt input"),
    "cut.gz": (gzip.compress(TEXT)[:-100], CUT),
    "garbage.gz": (gzip.compress(TEXT) + b"garbage", f"{CUT} 500"),
    "crc.gz": (changed(gzip.compress(TEXT), -6), f"{CUT} 500"),
    "method.gz": (changed(gzip.compress(TEXT), 2), f"{CUT} 0"),
}


@pytest.fixture(params=["corpus", "checked", "dev"])
def read(request, corpus):
    """Read a file by one of the ways that there are."""
    return {
        "corpus": lambda path: read_corpus(DataConfig(corpus=str(path))),
        "checked": lambda path: check(DataConfig(corpus=str(path))),
        "dev": lambda path: read_corpus(DataConfig(corpus=str(corpus), dev=str(path))),
    }[request.param]


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_archive_is_named_with_the_remedy(name, read, tmp_path):
    content, message = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}.*{message}"):
        read(tmp_path / name)


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "is a pipe or a device, but the file is read several times"),
        (make_loop, "cannot be read: Too many levels of symbolic links"),
        (make_dangling, "is a symbolic link to nowhere, which does not exist"),
    ],
    ids=["pipe", "loop", "dangling"],
)
@pytest.mark.parametrize("ending", ["", ".en"])
def test_a_path_that_is_not_a_file_is_named(make, message, ending, read, tmp_path):
    make(tmp_path / f"x{ending}")
    (tmp_path / "x.es").write_text("uno\n")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "x")
    assert str(caught.value).startswith(f"{tmp_path / f'x{ending}'}: {message}")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/dev/zero", "/dev/zero: is a pipe or a device"),
        ("x" * 300, "cannot be read: File name too long"),
        ("a\0b", "no such file"),
    ],
    ids=["device", "too long", "with a NUL"],
)
def test_a_path_that_cannot_be_a_file_is_refused(path, message, read):
    with pytest.raises(DataError, match=message):
        read(path)


def test_a_folder_without_permission_is_named(read, tmp_path, monkeypatch):
    def refuse(path, **options):
        if Path(path).is_relative_to(tmp_path / "closed"):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, **options)

    stat = os.stat
    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(Path, "stat", refuse)  # which does not call os.stat in Python 3.10
    with pytest.raises(DataError, match=r"closed/x.tsv: cannot be read: Permission denied"):
        read(tmp_path / "closed" / "x.tsv")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_archive_is_read_or_refused_by_its_name(tmp_path, data):
    method = data.draw(st.sampled_from([0, 8, 12, 14, None]))
    content = bytearray(gzip.compress(TEXT)) if method is None else zipped(method)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "x.tsv"
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    config = DataConfig(corpus=str(path), skip_bad_lines=True)
    for read in (
        lambda: list(Reader(config).corpora()[0].pairs),
        lambda: [*LineFile(path, config, str(path))],
    ):
        try:
            read()
        except DataError as error:
            assert str(error).startswith(str(path))


@pytest.mark.parametrize("side", ["en", "es"])
@pytest.mark.parametrize("fails", ["open", "read"])
def test_a_side_that_cannot_be_read_is_named(read, side, fails, tmp_path, monkeypatch):
    for language in ("en", "es"):
        (tmp_path / f"x.{language}").write_text("one\n")

    def broken(path, mode):
        if path.suffix != f".{side}":
            return io.BufferedReader(io.FileIO(path))
        if fails == "open":
            raise PermissionError(13, "Permission denied")
        return io.BufferedReader(Broken(path))

    class Broken(io.FileIO):
        def readinto(self, buffer):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(DataError, match=rf"x\.{side}: cannot be read: (Permission|Input/output)"):
        read(tmp_path / "x")
