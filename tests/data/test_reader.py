import gzip
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from seq2seq_cli.config.data import CORPORA, DataConfig
from seq2seq_cli.data.named import NAMED
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.errors import DataError, UsageError

SKIP = " Correct the line, or leave such lines out by --set data.skip_bad_lines=true"


class Read(NamedTuple):
    pairs: list[tuple[str, str]]
    dev: list[tuple[str, str]] | None
    test: list[tuple[str, str]] | None
    dropped: dict[str, int]


def read_config(config: DataConfig) -> Read:
    reader = Reader(config)
    corpora = reader.corpora()
    pairs = [pair for corpus in corpora for pair in corpus.pairs]
    return Read(pairs, *reader.held_out(corpora), reader.dropped)


def read(path: Path, **options: object) -> Read:
    return read_config(DataConfig(corpus=str(path), **options))


def error_of(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.fixture
def tsv(tmp_path):
    def write(content: bytes | str, name: str = "pairs.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_tsv(tsv):
    corpus = read(tsv("Go.\tVe.\nHi.\tHola.\n"))
    assert corpus.pairs == [("Go.", "Ve."), ("Hi.", "Hola.")]
    assert corpus.dropped == {}


def test_third_column_is_attribution(tsv):
    assert read(tsv("Go.\tVe.\tCC-BY 2.0\nHi.\tHola.\tCC-BY 2.0\n")).pairs[1] == ("Hi.", "Hola.")


def test_either_direction_of_the_columns(tsv):
    path = tsv("Go.\tVe.\n")
    assert read(path, source_language="es", target_language="en").pairs == [("Ve.", "Go.")]


def test_languages_that_are_no_columns_are_refused_with_the_remedy(tsv):
    path = tsv("Go.\tVa.\n")
    with pytest.raises(UsageError) as caught:
        read(path, source_language="fr")
    assert str(caught.value).replace(str(path), "pairs.tsv") == (
        "pairs.tsv: its columns are en and es by data.columns, and data.source_language and "
        "data.target_language ask for fr and es. Say what the columns are, such as --set "
        "data.columns='fr es'"
    )
    options = {"columns": "en fr", "source_language": "fr", "target_language": "en"}
    assert read(path, **options).pairs == [("Va.", "Go.")]


def test_dev_and_test_files_stand_apart(tsv):
    train, dev = tsv("a\tb\n"), tsv("c\td\n", "dev.tsv")
    corpus = read(train, dev=str(dev))
    assert (corpus.pairs, corpus.dev, corpus.test) == ([("a", "b")], [("c", "d")], None)
    dev.write_text("c\n")
    assert "dev.tsv:1: 1 column where 2" in error_of(train, dev=str(dev))


def test_the_phrasebook_has_its_own_dev_and_test_and_goes_either_way():
    there = read_config(DataConfig())
    back = read_config(DataConfig(source_language="es", target_language="en"))
    shown = ("I will not inject disinfectant.", "No inyectaré desinfectante.")
    assert shown in there.test
    assert shown[::-1] in back.test
    assert len(there.pairs) > 40_000
    assert there.dropped == {}


def test_another_seed_leaves_the_split_of_the_phrasebook_as_it_is():
    assert read_config(DataConfig(split_seed=1)) == read_config(DataConfig())


def test_every_name_that_a_config_keeps_is_that_of_a_corpus():
    assert tuple(NAMED) == CORPORA


def test_the_phrasebook_has_no_other_languages():
    with pytest.raises(UsageError, match=r"train\.tsv\.gz: its columns are en and es"):
        read_config(DataConfig(target_language="fr"))


def test_last_line_need_not_end(tsv):
    assert read(tsv("a\tb")).pairs == [("a", "b")]


def test_carriage_returns_and_byte_order_mark_are_dropped(tsv):
    assert read(tsv(b"\xef\xbb\xbfa\tb\r\nc\td\r\n")).pairs == [("a", "b"), ("c", "d")]


def test_lines_end_at_newline_and_nowhere_else(tsv):
    odd = "a\u2028b\u0085c\x0bd\x0ce\x1cf"
    assert read(tsv(f"{odd}\tx\n")).pairs == [(odd, "x")]


def test_empty_pairs_are_dropped_and_counted(tsv):
    corpus = read(tsv("a\tb\n\t\n \tc\nd\t\u00a0\n\na\tb\n a \t b\n"))
    assert corpus.pairs == [("a", "b")] * 3
    assert corpus.dropped == {"empty": 4}


def test_accents_are_composed(tsv):
    assert read(tsv("cafe\u0301\tcafé\n")).pairs == [("café", "café")]


def test_zip_with_one_text(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("spa/spa.txt", "Go.\tVe.\n")
        archive.writestr("spa/_about.txt", "no pairs here")
    corpus = read(tmp_path / "x.zip")
    assert corpus.pairs == [("Go.", "Ve.")]


def test_gzipped_tsv(tmp_path):
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(b"Go.\tVe.\n"))
    assert read(tmp_path / "x.tsv.gz").pairs == [("Go.", "Ve.")]


def test_parallel_files_one_of_them_gzipped(tmp_path):
    (tmp_path / "train.en").write_text("Go.\nHi.\n")
    (tmp_path / "train.es.gz").write_bytes(gzip.compress(b"Ve.\nHola.\n"))
    assert read(tmp_path / "train").pairs == [("Go.", "Ve."), ("Hi.", "Hola.")]


def test_an_empty_line_of_one_side_misaligns_nothing(tmp_path):
    (tmp_path / "train.en").write_text("a\n\nc\n")
    (tmp_path / "train.es").write_text("A\nB\nC\n")
    assert read(tmp_path / "train").pairs == [("a", "A"), ("c", "C")]


def test_languages_choose_the_parallel_files(tmp_path):
    (tmp_path / "p.de").write_text("ja\n")
    (tmp_path / "p.fr").write_text("oui\n")
    assert read(tmp_path / "p", source_language="fr", target_language="de").pairs == [("oui", "ja")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\nonly one\n", "pairs.tsv:2: 1 column where 2 are expected (en TAB es)."),
        ("a\tb\nc\td\te\n", "pairs.tsv:2: 3 columns where 2 are expected (en TAB es)."),
        (
            "a\tb\tc\nd\te\n",
            "pairs.tsv:2: 2 columns where 3 are expected (en TAB es TAB attribution).",
        ),
        (b"a\tb\n\nc\t\xf1\n", "pairs.tsv:3: invalid UTF-8 at byte 3 (0xf1)."),
        ("a\tb\nc\td\0\n", "pairs.tsv:2: a NUL character, which no text has."),
    ],
)
def test_bad_line_is_named_or_skipped_on_request(tsv, content, message):
    path = tsv(content)
    assert error_of(path) == message + SKIP
    corpus = read(path, skip_bad_lines=True)
    assert len(corpus.pairs) == 1
    assert corpus.dropped["bad line"] == 1


def test_bad_line_of_a_parallel_file_is_named(tmp_path):
    (tmp_path / "p.en").write_text("a\nb\n")
    (tmp_path / "p.es").write_bytes(b"A\n\xff\n")
    assert error_of(tmp_path / "p") == "p.es:2: invalid UTF-8 at byte 1 (0xff)." + SKIP


def test_unequal_files_are_an_error_with_both_counts(tmp_path):
    (tmp_path / "p.en").write_text("a\nb\n")
    (tmp_path / "p.es").write_text("A\nB\nC\n")
    assert error_of(tmp_path / "p") == (
        "p.en has 2 lines and p.es has 3: they must correspond line by line"
    )


def test_missing_side_is_named(tmp_path):
    (tmp_path / "p.en").write_text("a\n")
    assert error_of(tmp_path / "p") == "p.en: its other side, p.es, does not exist"


def test_missing_file_is_named(tmp_path):
    assert error_of(tmp_path / "p.tsv") == (
        "p.tsv: no such file, nor p.tsv.en with p.tsv.es. Check --data (data.corpus); "
        "`phrasebook` and `tatoeba` are the corpora that s2s knows by name"
    )


def test_folder_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    assert "is a folder" in error_of(tmp_path / "folder")


def test_file_without_pairs_is_refused(tsv):
    assert error_of(tsv("\n\n")) == "pairs.tsv: there is no sentence pair in it"


def zip_bytes(tmp_path, text: str) -> bytes:
    with zipfile.ZipFile(tmp_path / "whole.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pairs.txt", text)
    return (tmp_path / "whole.zip").read_bytes()


def test_truncated_zip_is_named(tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes(tmp_path, "a\tb\n" * 1000)[:-30])
    assert "x.zip: not a whole zip file" in error_of(tmp_path / "x.zip")


def test_damaged_zip_is_named(tmp_path):
    data = bytearray(zip_bytes(tmp_path, "".join(f"{i}\t{i * i}\n" for i in range(5000))))
    data[2000] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(data)
    assert "x.zip" in error_of(tmp_path / "x.zip")
    assert "damaged" in error_of(tmp_path / "x.zip", skip_bad_lines=True)


def test_truncated_gzip_is_named_with_its_line(tmp_path):
    text = "".join(f"{i}\t{i * i}\n" for i in range(50_000)).encode()
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(text)[:-1000])
    assert "x.tsv.gz: cut off or damaged after line" in error_of(tmp_path / "x.tsv.gz")


def test_zip_with_several_texts_is_refused_by_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.txt", "a\tb")
        archive.writestr("b.txt", "a\tb")
    assert "found: a.txt, b.txt" in error_of(tmp_path / "x.zip")
