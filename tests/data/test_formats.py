import gzip
import zipfile
from pathlib import Path

import pytest

from seq2seq_cli.data.formats import Skip, read_pairs
from seq2seq_cli.errors import DataError, UsageError


def refuse(problem: str) -> None:
    raise DataError(problem)


def read(
    path: Path, source: str = "en", target: str = "es", columns: str = "en es", skip: Skip = refuse
) -> list[tuple[str, str]]:
    return list(read_pairs(path, (source, target), columns.split(), skip))


def error_of(path: Path, skip: Skip = refuse) -> str:
    with pytest.raises(DataError) as caught:
        read(path, skip=skip)
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.fixture
def tsv(tmp_path):
    def write(content: bytes | str) -> Path:
        path = tmp_path / "pairs.tsv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_tsv(tsv):
    assert read(tsv("Go.\tVe.\nHi.\tHola.\n")) == [("Go.", "Ve."), ("Hi.", "Hola.")]


def test_third_column_is_attribution(tsv):
    assert read(tsv("Go.\tVe.\tCC-BY 2.0\nHi.\tHola.\tCC-BY 2.0\n"))[1] == ("Hi.", "Hola.")


def test_either_direction_of_the_columns(tsv):
    path = tsv("Go.\tVe.\n")
    assert read(path, source="es", target="en") == [("Ve.", "Go.")]


def test_languages_without_a_column_are_refused_with_a_remedy(tsv):
    path = tsv("Go.\tVa.\n")
    with pytest.raises(UsageError) as caught:
        read(path, source="fr")
    assert str(caught.value).replace(str(path), "pairs.tsv") == (
        "pairs.tsv: data.columns says that its columns are en and es, but the source and the "
        "target language are fr and es. Set data.columns, such as --set data.columns='fr es'"
    )
    assert read(path, "fr", "en", "en fr") == [("Va.", "Go.")]


def test_a_bad_first_line_does_not_decide_the_number_of_columns(tsv):
    skipped: list[str] = []
    path = tsv("# CC BY 2.0\nGo.\tVe.\tby x\nHi.\tHola.\nNo.\tNo.\tby y\n")
    assert read(path, skip=skipped.append) == [("Go.", "Ve."), ("No.", "No.")]
    assert [problem.split(": ")[1] for problem in skipped] == [
        "1 column where 2 are expected (en TAB es)",
        "2 columns where 3 are expected (en TAB es TAB attribution)",
    ]


def test_last_line_need_not_end(tsv):
    assert read(tsv("a\tb")) == [("a", "b")]


def test_carriage_returns_and_byte_order_mark_are_dropped(tsv):
    assert read(tsv(b"\xef\xbb\xbfa\tb\r\nc\td\r\n")) == [("a", "b"), ("c", "d")]


def test_lines_end_only_at_newlines(tsv):
    odd = "a\u2028b\u0085c\x0bd\x0ce\x1cf"
    assert read(tsv(f"{odd}\tx\n")) == [(odd, "x")]


def test_zip_with_one_text(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("spa/spa.txt", "Go.\tVe.\n")
        archive.writestr("spa/_about.txt", "no pairs here")
    assert read(tmp_path / "x.zip") == [("Go.", "Ve.")]


def test_gzipped_tsv(tmp_path):
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(b"Go.\tVe.\n"))
    assert read(tmp_path / "x.tsv.gz") == [("Go.", "Ve.")]


def test_parallel_files_one_of_them_gzipped(tmp_path):
    (tmp_path / "train.en").write_text("Go.\nHi.\n")
    (tmp_path / "train.es.gz").write_bytes(gzip.compress(b"Ve.\nHola.\n"))
    assert read(tmp_path / "train") == [("Go.", "Ve."), ("Hi.", "Hola.")]


def test_languages_choose_the_parallel_files(tmp_path):
    (tmp_path / "p.de").write_text("ja\n")
    (tmp_path / "p.fr").write_text("oui\n")
    assert read(tmp_path / "p", source="fr", target="de") == [("oui", "ja")]


def test_bad_line_of_a_parallel_file_is_named(tmp_path):
    (tmp_path / "p.en").write_text("a\nb\n")
    (tmp_path / "p.es").write_bytes(b"A\n\xff\n")
    assert error_of(tmp_path / "p") == "p.es:2: invalid UTF-8 at byte 1 (0xff)"


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
        "p.tsv: no such file, nor p.tsv.en with p.tsv.es. Check --data (data.corpus) or "
        "data.sources; the corpora with names are `phrasebook` and `tatoeba`"
    )


def test_folder_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    assert "is a folder" in error_of(tmp_path / "folder")


def zip_bytes(tmp_path, text: str) -> bytes:
    with zipfile.ZipFile(tmp_path / "whole.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pairs.txt", text)
    return (tmp_path / "whole.zip").read_bytes()


def test_truncated_zip_is_named(tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes(tmp_path, "a\tb\n" * 1000)[:-30])
    assert "x.zip: not a complete zip file" in error_of(tmp_path / "x.zip")


def test_damaged_zip_is_named(tmp_path):
    data = bytearray(zip_bytes(tmp_path, "".join(f"{i}\t{i * i}\n" for i in range(5000))))
    data[2000] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(data)
    assert "x.zip" in error_of(tmp_path / "x.zip")
    assert "damaged" in error_of(tmp_path / "x.zip", skip=lambda problem: None)


def test_truncated_gzip_is_named_with_its_line(tmp_path):
    text = "".join(f"{i}\t{i * i}\n" for i in range(50_000)).encode()
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(text)[:-1000])
    assert "x.tsv.gz: truncated or damaged after line" in error_of(tmp_path / "x.tsv.gz")


def test_zip_with_several_texts_is_refused_by_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.txt", "a\tb")
        archive.writestr("b.txt", "a\tb")
    assert "found: a.txt, b.txt" in error_of(tmp_path / "x.zip")
