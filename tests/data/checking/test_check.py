import dataclasses
import gzip
import itertools
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_pairs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.checking.check import check
from seq2seq_cli.data.checking.clean import write_lines
from seq2seq_cli.data.checking.findings import Findings
from seq2seq_cli.data.checking.inspection import Line
from seq2seq_cli.data.checking.kinds import Kind
from seq2seq_cli.data.checking.outliers import ENOUGH
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.named import NAMED, Files
from seq2seq_cli.errors import DataError, UsageError


def checked(path: Path, fix: Path | None = None, **options: object) -> Findings:
    return check(DataConfig(corpus=str(path), **options), fix)


def found(findings: Findings, split: str = "train") -> dict[str, list[int]]:
    return {f.kind: f.lines for f in findings.findings if f.split == split}


@pytest.fixture
def tsv(tmp_path):
    def write(content: bytes | str, name: str = "pairs.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(scope="module")
def book() -> list[tuple[str, str]]:
    """3,000 pairs of English and Spanish in no order."""
    pairs = list(read_corpus(DataConfig()).train)
    random.Random(1).shuffle(pairs)
    return pairs[:3000]


def as_tsv(pairs) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


class TestSingleLines:
    @pytest.mark.parametrize(
        ("line", "kinds"),
        [
            ("a\tb", set()),
            ("a", {"columns"}),
            ("a\tb\tc", {"columns"}),
            (b"a\t\xff", {"encoding"}),
            ("a\tb\0", {"encoding"}),
            ("a\tb\ufffd", {"encoding"}),
            ("What?\tÂ¿QuÃ©?", {"mojibake"}),
            ("¿Qué?\tWhat?", set()),
            ("a\tb\x07", {"control"}),
            ("a\u200b\tb", {"control"}),
            ("a\u202e\tb\u2028c", {"control"}),
            ("a\u200d\tb\u200c", set()),
            ("\t", {"empty"}),
            ("", {"empty"}),
            ("a\t \u00a0", {"empty"}),
            ("a\t\u200b", {"empty", "control"}),
            ("first\tprimero", {"duplicate"}),
            (" first \tprimero", {"duplicate"}),
            ("this is it\tthis is it", {"identical"}),
            ("Tom Hanks, Meg Ryan 1998\tTom Hanks, Meg Ryan 1998", set()),
            ("OK\tOK", set()),
            ("at 6:00\ta las 6", set()),
            ("at 6\ta las seis", set()),
            ("1,000 of them\t1.000 de ellos", set()),
            ("on the 7th\tel día 9", {"numbers"}),
        ],
    )
    def test_each_problem_is_found_in_its_line(self, line, kinds, tsv):
        raw = line if isinstance(line, bytes) else line.encode()
        findings = checked(tsv(b"first\tprimero\n" + raw + b"\nlast\tultimo\n"))
        assert found(findings) == {kind: [2] for kind in kinds}
        assert findings.is_clean == (not kinds)

    def test_the_other_line_of_a_duplicate_is_named(self, tsv):
        findings = checked(tsv("a\tb\nc\td\na\tb\nc\td\na\tb\n"))
        (finding,) = findings.findings
        assert (finding.count, finding.share) == (3, 0.6)
        assert (finding.lines, finding.others) == ([3, 4, 5], [1, 2, 1])
        assert finding.examples[0] == "a | b (as train:1)"

    def test_a_file_of_three_columns_is_judged_by_most_of_its_lines(self, tsv):
        assert found(checked(tsv("a\tb\nc\td\tx\ne\tf\tx\n"))) == {"columns": [1]}

    def test_only_a_byte_order_mark_inside_a_line_is_a_finding(self, tsv):
        findings = checked(tsv(b"\xef\xbb\xbfa\tb\r\n\xef\xbb\xbfc\td\r\n"))
        assert found(findings) == {"control": [2]}


class TestFiles:
    def test_zip_gzip_and_parallel_files_give_the_same(self, tmp_path):
        text = "a\tb\nthis is it\tthis is it\n"
        (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(text.encode()))
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            archive.writestr("x/x.txt", text)
        for language in ("en", "es"):
            (tmp_path / f"p.{language}").write_text("this is it\n" * 2)
        (tmp_path / "p.en").write_text("a\nthis is it\n")
        for name in ("x.tsv.gz", "x.zip", "p"):
            assert found(checked(tmp_path / name)) == {"identical": [2]}

    def test_parallel_files_of_different_length(self, tmp_path):
        (tmp_path / "p.en").write_bytes(b"a\nb\nc\n")
        (tmp_path / "p.es").write_bytes(b"\xff\nx\n")
        findings = checked(tmp_path / "p")
        assert found(findings) == {"columns": [3], "encoding": [1]}
        assert findings.findings[0].examples == ["p.es ends after line 2"]
        assert findings.files[0].lines == 3
        (tmp_path / "p.es").write_bytes(b"")
        assert checked(tmp_path / "p").findings[0].examples == ["p.es ends after line 0"] * 3

    def test_an_unreadable_corpus_is_an_error(self, tsv, tmp_path):
        with pytest.raises(DataError, match=r"none: no such file, nor .*none.en with"):
            checked(tmp_path / "none")
        with pytest.raises(DataError, match="pairs.tsv: the file has no lines"):
            checked(tsv(""))
        with pytest.raises(
            DataError, match=r"truncated or damaged after line 9 .* Download it again"
        ):
            checked(tsv(gzip.compress(b"a\tb\n" * 9)[:-4], "x.gz"))
        with pytest.raises(DataError, match=r"x.zip: not a complete zip file .* download it again"):
            checked(tsv(b"PK\3\4abc", "x.zip"))
        with pytest.raises(UsageError, match="data.columns says that its columns are en and es"):
            checked(tsv("a\tb\n"), target_language="fr")


class TestSeveralFiles:
    def test_a_corpus_known_by_name_is_checked_with_its_own_dev_and_test(self, tsv, monkeypatch):
        own = Files(tsv("a\tb\n"), tsv("c\td\n", "dev.tsv"), tsv("e\tf\n", "test.tsv"))
        monkeypatch.setitem(NAMED, "phrasebook", lambda: own)
        checked = {file.split: file.files for file in check(DataConfig()).files}
        assert checked == {side: [str(path)] for side, path in own._asdict().items()}
        dev = tsv("g\th\n", "other.tsv")
        checked = {file.split: file.files for file in check(DataConfig(dev=str(dev))).files}
        assert checked == {"train": [str(own.train)], "dev": [str(dev)], "test": [str(own.test)]}

    def test_the_columns_of_a_corpus_known_by_name_are_fixed(self, tsv, monkeypatch):
        own = Files(tsv("a\tb\n"))
        monkeypatch.setitem(NAMED, "phrasebook", lambda: own)
        check(DataConfig(columns="en fr"))
        dev = tsv("g\th\n", "dev.tsv")
        with pytest.raises(UsageError, match="dev.tsv: data.columns says .* are en and fr"):
            check(DataConfig(columns="en fr", dev=str(dev)))

    def test_leaks_are_found_between_all_with_both_lines(self, tsv):
        train = tsv("one\tuno\nTwo!\tdos\nthree\ttres\nfour\tcuatro\n")
        dev = tsv("x\ty\ntwo\tzwei\nfive\tcinco\n", "dev.tsv")
        test = tsv("fünf\t¡Cinco!\nvier\tcuatro\n", "test.tsv")
        findings = checked(train, dev=str(dev), test=str(test))
        leaks = [(f.split, f.kind, f.lines, f.others) for f in findings.findings]
        assert leaks == [
            ("train", "in dev", [2], [2]),
            ("train", "in test", [4], [2]),
            ("dev", "in test", [3], [1]),
        ]

    def test_characters_missing_in_train_are_found(self, tsv):
        train = tsv("abc d\txyz\n")
        findings = checked(train, dev=str(tsv("ab\txxxñxxxxxx\n", "dev.tsv")))
        rates = {unseen.language: (unseen.rate, unseen.characters) for unseen in findings.unseen}
        assert rates == {"en": (0, ""), "es": (0.1, "ñ")}
        assert not findings.is_clean
        rare = tsv("ab\t" + "x" * 200 + "ñ\n", "rare.tsv")
        assert checked(train, dev=str(rare)).is_clean


class TestOutliers:
    def test_a_clean_corpus_of_any_size_is_clean(self, book, tsv):
        for size in (ENOUGH, 1000, 3000):
            assert found(checked(tsv(as_tsv(book[:size])))) == {}
        assert found(checked(tsv(as_tsv(toy_pairs())))) == {}  # its sentences come in turns

    def test_few_lines_are_not_judged(self, tsv):
        findings = checked(tsv(as_tsv([*toy_pairs()[:20], ("a", "b" * 200)])))
        assert (findings.is_clean, findings.files[0].judged) == (True, False)

    def test_wrong_languages_are_found(self, book, tsv):
        pairs = list(book)
        swapped, english, spanish = range(100, 140), range(500, 540), range(900, 940)
        for row in swapped:
            pairs[row] = pairs[row][::-1]
        for row in english:
            pairs[row] = (pairs[row][0], pairs[row + 1][0])
        for row in spanish:
            pairs[row] = (pairs[row + 1][1], pairs[row][1])
        lines = set(found(checked(tsv(as_tsv(pairs))))["language"])
        planted = {row + 1 for row in itertools.chain(swapped, english, spanish)}
        assert len(lines & planted) >= 0.95 * len(planted)
        assert len(lines - planted) <= 3

    @pytest.mark.parametrize("lag", [1, -1, 3])
    def test_a_slip_is_found_where_it_begins_and_ends(self, book, lag, tmp_path):
        sources, targets = ([pair[side] for pair in book] for side in (0, 1))
        if lag > 0:
            targets[2000:2000] = ["Esta línea sobra aquí."] * lag
            del targets[1000 - lag : 1000]
        else:
            targets[1000:1000] = ["Esta línea sobra aquí."] * -lag
            del targets[2000 : 2000 - lag]
        (tmp_path / "p.en").write_text("\n".join(sources))
        (tmp_path / "p.es").write_text("\n".join(targets))
        findings = checked(tmp_path / "p")
        (finding,) = (f for f in findings.findings if f.kind == "misaligned")
        assert set(finding.others) == {lag} or len(finding.examples) == 1
        begin, end = map(int, finding.places[0].split("-"))
        assert abs(begin - 1000) <= 8
        assert abs(end - 2000) <= 8

    def test_files_of_which_one_lost_its_first_line_are_found(self, book, tmp_path):
        (tmp_path / "p.en").write_text("\n".join(source for source, _ in book))
        (tmp_path / "p.es").write_text("\n".join(target for _, target in book[1:]))
        findings = checked(tmp_path / "p")
        assert len(found(findings)["misaligned"]) > 2900
        assert found(findings)["columns"] == [3000]


TEXTS = st.one_of(
    st.sampled_from(
        ["Â¿QuÃ©?", "", "\x07", "this is it now", "a\u200bb", "\ufffd", "é\u2028", "7"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t"), max_size=20),
)
ROWS = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=3).map(lambda cells: "\t".join(cells).encode()),
    st.sampled_from([b"\xff\t\xfe", b"same\tagain", b"on 7\tel 8", b"one\tuno"]),
)


class TestFix:
    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(rows=st.lists(ROWS, max_size=8), data=st.data())
    def test_a_cleaned_copy_is_clean(self, rows, data, book, tmp_path_factory):
        lines = [f"{s}\t{t}".encode() for s, t in book[:400]]
        for row in rows:
            lines.insert(data.draw(st.integers(0, len(lines))), row)
        slip = data.draw(st.sampled_from([0, 0, 150]))
        if slip:
            cells = [line.split(b"\t", 1) for line in lines[:slip]]
            lines[:slip] = [a[0] + b"\t" + b[-1] for a, b in itertools.pairwise([*cells, cells[0]])]
        folder = tmp_path_factory.mktemp("fix")
        path, out = folder / "x.tsv", folder / "out.tsv"
        path.write_bytes(b"\n".join(lines))
        findings = checked(path, out)
        assert findings.fixed is not None
        assert (
            findings.fixed.written + sum(findings.fixed.left_out.values())
            == findings.files[0].lines
        )
        assert found(checked(out)) == {}
        assert read_corpus(DataConfig(corpus=str(out))).dropped == {}

    def test_good_lines_are_unchanged_and_changes_are_counted(self, tsv, tmp_path):
        path = tsv("a\tb\tx\r\nÃ©\tc\x07d\ty\n e \tf\tz\na\tb\tq\nbad\n\n")
        findings = checked(path, tmp_path / "out.tsv")
        assert (tmp_path / "out.tsv").read_bytes() == "a\tb\tx\né\tcd\ty\n e \tf\tz\n".encode()
        assert findings.fixed is not None
        assert dataclasses.asdict(findings.fixed) == {
            "files": [f"{tmp_path}/out.tsv"],
            "written": 3,
            "left_out": {"columns": 1, "empty": 1, "duplicate": 1},
            "repaired": {"mojibake": 1},
        }
        assert not findings.is_clean

    def test_leaks_are_left_out_of_train(self, tsv, tmp_path):
        path, dev = tsv("a\tb\nc\td\n"), tsv("C!\tdc\n", "dev.tsv")
        checked(path, tmp_path / "out.tsv", dev=str(dev))
        assert (tmp_path / "out.tsv").read_text() == "a\tb\n"

    def test_parallel_and_gzipped_copies(self, tsv, tmp_path):
        for language in ("en", "es"):
            (tmp_path / f"p.{language}").write_text(f"a{language}\n\nb{language}")
        checked(tmp_path / "p", tmp_path / "q.gz")
        assert gzip.decompress((tmp_path / "q.es.gz").read_bytes()) == b"aes\nbes\n"
        checked(tsv("a\tb\nc\n"), tmp_path / "out.tsv.gz")
        assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()) == b"a\tb\n"

    def test_nothing_is_overwritten_and_no_partial_file_remains(self, tsv, tmp_path):
        path = tsv("a\tb\nc\n")
        with pytest.raises(UsageError, match=r"--fix .*pairs.tsv: exists already"):
            checked(path, path)
        with pytest.raises(DataError, match="no line is left for --fix to write"):
            checked(tsv("c\nd\n", "bad.tsv"), tmp_path / "out.tsv")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.tsv", "pairs.tsv"]


def test_a_file_that_another_process_wrote_meanwhile_is_kept(tmp_path):
    out = tmp_path / "out.tsv"

    def lines():
        yield Line("a", "b", ["a", "b"], Kind(0))
        out.write_text("of another process")

    with pytest.raises(UsageError, match="exists already"):
        write_lines(False, lines(), np.array([True]), [out])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["of another process"]


def test_pairs_that_differ_only_in_composed_accents_are_duplicates(tsv):
    findings = checked(tsv("Coffee?\t¿Un cafe\u0301?\nCoffee?\t¿Un café?\nTea.\tTé.\n"))
    assert found(findings)["duplicate"] == [2]


def test_the_stages_of_a_check_are_reported(tsv, tmp_path):
    told = []
    config = DataConfig(corpus=str(tsv("a\tb\n")), dev=str(tsv("c\td\n", "dev.tsv")))
    check(config, tmp_path / "out.tsv", lambda *counts: told.append(counts))
    judging = ("learning both languages", "examples")
    assert told == [
        *((f"Reading {split}", "lines", 0, 1) for split in ("train", "dev")),
        ("Comparing lines",),
        *((f"Judging train: {what}", "lines", 0, 1) for what in judging),
        *((f"Judging dev: {what}", "lines", 0, 1) for what in judging),
        ("Writing the copy", "lines", 0, 1),
    ]
