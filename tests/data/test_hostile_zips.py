"""Zips and downloads made to do harm: nothing is written, and nothing else is read."""

import gzip
import io
import os
import struct
import warnings
import zipfile
from pathlib import Path

import pytest

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data import formats, lines, tatoeba
from seq2seq_cli.data.checking.check import check
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.errors import DataError

TEXT = "I see\tveo\nI eat\tcomo\n"
PAIRS = [("I see", "veo"), ("I eat", "como")]
SECRET = "secret\tsecreto\n"
NAMES = [
    "../x.txt",
    "../../../../../../etc/x.txt",
    "a/../../x.txt",
    "./x.txt",
    "/x.txt",
    "/etc/x.txt",
    "//server/share/x.txt",
    "C:\\x.txt",
    "C:x.txt",
    "..\\..\\x.txt",
    "\\\\server\\share\\x.txt",
    "a\\b/../x.txt",
    "secret.txt",  # exists beside the zip
    "../secret.txt",
    "x.txt ",
    "con.txt",
    "~/x.txt",
    "$HOME/x.txt",
    "`touch x`.txt",
    "x;rm.txt",
    "\x1b[31mx.txt",
    "x\nerror: y.txt",
    "x\ry.txt",
    "\u202ex.txt",
    "x" * 5000 + ".txt",
    "a/" * 2000 + "x.txt",
]


def zipped(*members: tuple[str | zipfile.ZipInfo, str]) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, text in members:
            archive.writestr(name, text)
    return file.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    """Return a member that other programs unpack as a symbolic link."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, in one with a secret; neither may change."""
    inner = tmp_path / "inner"
    inner.mkdir()
    for each in (tmp_path, inner):
        (each / "secret.txt").write_text(SECRET)
    monkeypatch.chdir(inner)
    return inner


def read(folder: Path, content: bytes) -> list[tuple[str, str]]:
    """Read a zip by both ways that there are; check that nothing else changes."""
    path = folder / "corpus.zip"
    path.write_bytes(content)
    before = {file: file.lstat().st_mtime_ns for file in folder.parent.rglob("*")}
    try:
        (corpus,) = Reader(DataConfig(corpus=str(path))).corpora()
        pairs = list(corpus.pairs)
        check(DataConfig(corpus=str(path)))
    except DataError as error:
        assert str(error).startswith(str(path))
        assert "\x1b" not in str(error)
        assert "\n" not in str(error)
        raise
    finally:
        assert {file: file.lstat().st_mtime_ns for file in folder.parent.rglob("*")} == before
    assert not any("secret" in source for source, _ in pairs)
    return pairs


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name[:20]) for name in NAMES])
def test_the_name_of_a_member_is_never_a_path(name, folder):
    if not name.endswith(".txt") or name.startswith("..\\"):  # the latter is a hidden file
        with pytest.raises(DataError, match="exactly one .txt or .tsv file"):
            read(folder, zipped((name, TEXT)))
        return
    assert read(folder, zipped((name, TEXT))) == PAIRS


@pytest.mark.parametrize("name", ["\x1b[31mx.txt", "x\nerror: y.txt"], ids=ascii)
def test_errors_show_no_control_characters_of_a_name(name, folder):
    for content in (zipped((name, "one column\n")), zipped((name, ""), ("b.txt", ""))):
        with pytest.raises(DataError):
            read(folder, content)


@pytest.mark.parametrize(
    "target", ["secret.txt", "../secret.txt", "/etc/passwd", "/dev/zero", "corpus.zip"]
)
def test_a_link_is_not_followed(target, folder):
    with pytest.raises(DataError, match="x.txt:1: 1 column where 2 are expected"):
        read(folder, zipped((link("x.txt"), target)))


@pytest.mark.parametrize(
    "members",
    [
        [("x.txt", TEXT), ("x.txt", TEXT)],
        [("x.txt", TEXT), ("./x.txt", SECRET)],
        [("a/x.txt", TEXT), ("b/x.tsv", TEXT)],
        [("x.TXT", TEXT)],
        [("x.zip", zipped(("x.txt", TEXT)).decode("latin-1"))],
        [("x.txt/", "")],
        [],
    ],
    ids=["twice", "nearly twice", "two folders", "capitals", "a zip", "a folder", "nothing"],
)
def test_a_zip_has_exactly_one_text(members, folder):
    with pytest.raises(DataError, match="must contain exactly one .txt or .tsv file"):
        read(folder, zipped(*members))


def claiming(size: int) -> bytes:
    """Return a small zip whose directory says that its text has `size` bytes."""
    content = bytearray(zipped(("x.txt", TEXT)))
    for record, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = content.index(record) + offset
        content[start : start + 4] = struct.pack("<I", size)
    return bytes(content)


def test_a_name_that_is_not_utf_8_is_an_error(folder):
    name = "\xe9.txt".encode()  # with the flag of UTF-8
    with pytest.raises(DataError, match="not a complete zip file .*utf-8"):
        read(folder, zipped(("\xe9.txt", TEXT)).replace(name, b"\xff\xff.txt"))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(folder):
    with pytest.raises(DataError, match="unpacks from 0.0 MB to 4.0 GB, unlike any text"):
        read(folder, claiming(4_000_000_000))


def test_a_text_that_is_longer_than_the_zip_says_is_damaged(folder):
    with pytest.raises(DataError, match="truncated or damaged|not a complete zip"):
        read(folder, claiming(5))


@pytest.mark.parametrize("kind", ["zip", "gz"])
def test_a_line_without_an_end_takes_no_memory_beyond_the_limit(kind, folder, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    text = TEXT + "x" * (3 << 20) + "\n" + "\n" + TEXT + "x" * (2 << 20)
    path = folder / f"corpus.{kind}"
    path.write_bytes(zipped(("x.txt", text)) if kind == "zip" else gzip.compress(text.encode()))
    with pytest.raises(DataError, match=":3: a line of more than 1 MB. Correct the line"):
        list(Reader(DataConfig(corpus=str(path))).corpora()[0].pairs)
    reader = Reader(DataConfig(corpus=str(path), skip_bad_lines=True))
    assert list(reader.corpora()[0].pairs) == PAIRS + PAIRS
    assert reader.dropped == {"bad line": 2, "empty": 1}


@pytest.mark.parametrize("name", ["x.txt", "x.tsv"])
def test_sentences_compress_far_less_than_the_limit(name, folder, monkeypatch):
    monkeypatch.setattr(formats, "_LARGE", 1000)
    text = "".join(f"I see {n} cats\tveo {n} gatos\n" for n in range(2000))
    assert len(read(folder, zipped((name, text)))) == 2000


class TestDownload:
    @pytest.fixture
    def cache(self, tmp_path, monkeypatch) -> Path:
        path = tmp_path / "cache/spa-eng.zip"
        monkeypatch.setattr(tatoeba, "tatoeba_path", lambda: path)
        return path

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "this is not the expected file .SHA-256"),
            (b"PK\x03\x04 cut short", "this is not the expected file .SHA-256"),
            (b"<html>log in</html>", "A proxy may have answered instead"),
            (zipped(("../x.txt", TEXT)), "this is not the expected file .SHA-256"),
            (b"x" * 10_000_001, "it has more than 10 MB"),
        ],
        ids=["empty", "cut short", "another type", "another zip", "endless"],
    )
    def test_nothing_but_the_expected_file_is_kept(self, content, message, cache, monkeypatch):
        answer = io.BytesIO(content)
        answer.headers = {"Content-Length": "abc" if b"html" in content else "5"}
        monkeypatch.setattr(tatoeba.urllib.request, "urlopen", lambda url, timeout: answer)
        with pytest.raises(DataError, match=message):
            tatoeba.download_tatoeba(lambda *figures: None)
        assert list(cache.parent.iterdir()) == []

    @pytest.mark.parametrize("content", [b"", zipped(("x.txt", TEXT))], ids=["empty", "a zip"])
    def test_the_hash_is_checked_at_every_use(self, content, cache):
        cache.parent.mkdir()
        cache.write_bytes(content)
        with pytest.raises(DataError, match="is not the file that was downloaded"):
            Reader(DataConfig(corpus="tatoeba")).corpora()

    def test_a_link_in_the_cache_is_replaced_and_not_followed(self, cache, monkeypatch):
        cache.parent.mkdir()
        outside = cache.parent.parent / "outside"
        outside.write_bytes(b"mine")
        cache.symlink_to(outside)
        monkeypatch.setattr(
            tatoeba, "sha256_of", lambda path: tatoeba.TATOEBA_SHA256 * (path != cache)
        )
        answer = io.BytesIO(b"x")
        answer.headers = {}
        monkeypatch.setattr(tatoeba.urllib.request, "urlopen", lambda url, timeout: answer)
        tatoeba.download_tatoeba(lambda *figures: None)
        assert outside.read_bytes() == b"mine"
        assert not os.path.islink(cache)
