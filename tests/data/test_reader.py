import gzip
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from seq2seq_cli.config.data import CORPORA, CorpusConfig, DataConfig
from seq2seq_cli.data.named import NAMED
from seq2seq_cli.data.reader import Reader
from seq2seq_cli.errors import DataError, UsageError

SKIP = " Correct the line, or leave out such lines with --set data.skip_bad_lines=true"


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


def test_dev_and_test_files_are_read_separately(tsv):
    train, dev = tsv("a\tb\n"), tsv("c\td\n", "dev.tsv")
    corpus = read(train, dev=str(dev))
    assert (corpus.pairs, corpus.dev, corpus.test) == ([("a", "b")], [("c", "d")], None)
    dev.write_text("c\n")
    assert "dev.tsv:1: 1 column where 2" in error_of(train, dev=str(dev))


def test_the_phrasebook_has_its_own_dev_and_test_in_both_directions():
    there = read_config(DataConfig())
    back = read_config(DataConfig(source_language="es", target_language="en"))
    shown = ("I will not inject disinfectant.", "No inyectaré desinfectante.")
    assert shown in there.test
    assert shown[::-1] in back.test
    assert len(there.pairs) > 40_000
    assert there.dropped == {}


def test_the_seed_does_not_change_the_split_of_the_phrasebook():
    assert read_config(DataConfig(split_seed=1)) == read_config(DataConfig())


def test_every_name_that_configs_accept_is_a_corpus():
    assert tuple(NAMED) == CORPORA


def test_the_phrasebook_has_no_other_languages():
    with pytest.raises(UsageError, match=r"train\.tsv\.gz: its languages are en and es, but"):
        read_config(DataConfig(target_language="fr"))


def test_empty_pairs_are_dropped_and_counted(tsv):
    corpus = read(tsv("a\tb\n\t\n \tc\nd\t\u00a0\n\na\tb\n a \t b\n"))
    assert corpus.pairs == [("a", "b")] * 3
    assert corpus.dropped == {"empty": 4}


def test_accents_are_composed(tsv):
    assert read(tsv("cafe\u0301\tcafé\n")).pairs == [("café", "café")]


def test_an_empty_line_on_one_side_keeps_the_alignment(tmp_path):
    (tmp_path / "train.en").write_text("a\n\nc\n")
    (tmp_path / "train.es").write_text("A\nB\nC\n")
    assert read(tmp_path / "train").pairs == [("a", "A"), ("c", "C")]


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
        ("a\tb\nc\td\0\n", "pairs.tsv:2: contains a NUL character."),
    ],
)
def test_bad_line_is_named_or_skipped_on_request(tsv, content, message):
    path = tsv(content)
    assert error_of(path) == message + SKIP
    corpus = read(path, skip_bad_lines=True)
    assert len(corpus.pairs) == 1
    assert corpus.dropped["bad line"] == 1


def test_file_without_pairs_is_refused(tsv):
    assert error_of(tsv("\n\n")) == "pairs.tsv: has no sentence pairs"


def test_the_number_of_pairs_is_estimated_for_every_format(tsv, tmp_path):
    lines = b"a\tb\n" * 7
    one = tsv(lines)
    (tmp_path / "p.en.gz").write_bytes(gzip.compress(b"a\n" * 5))
    (tmp_path / "p.es").write_bytes(b"b\n" * 5)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.txt", lines)
    corpora = {str(one): 7, str(tmp_path / "p"): 5, str(tmp_path / "x.zip"): 7}
    for corpus, pairs in corpora.items():
        assert Reader(DataConfig(corpus=corpus)).estimated_pairs() == pairs
    mixed = DataConfig(sources=[CorpusConfig(corpus=corpus) for corpus in corpora])
    assert Reader(mixed).estimated_pairs() == 19
    assert Reader(DataConfig(corpus="tfds:opus/medical")).estimated_pairs() is None


def test_the_columns_of_a_corpus_with_a_name_are_fixed():
    usual = next(iter(Reader(DataConfig()).corpora()[0].pairs))
    other = DataConfig(columns="es en")
    assert next(iter(Reader(other).corpora()[0].pairs)) == usual
    remedy = "Give --source en --target es "
    with pytest.raises(UsageError, match=f"languages are en and es, but .* en and fr. {remedy}"):
        Reader(DataConfig(target_language="fr", columns="en fr")).corpora()


def test_a_corpus_of_a_further_language_needs_columns_of_its_own(tsv):
    sources = [
        CorpusConfig(corpus=str(tsv("a\tb\n"))),
        CorpusConfig(corpus=str(tsv("a\tc\n", "german.tsv")), target_language="de"),
    ]
    message = r"german.tsv: columns in data.sources says .* are en and de. Set .* such as \"en de\""
    with pytest.raises(UsageError, match=message):
        Reader(DataConfig(corpus=None, sources=sources)).corpora()


def test_dev_and_test_pairs_must_be_files(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n")
    with pytest.raises(UsageError, match="tfds:x: data.dev and data.test must be files of pairs"):
        read(path, dev="tfds:x")
