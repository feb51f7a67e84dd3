import pytest

from seq2seq_cli.config.data import CorpusConfig, DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.errors import DataError


def write(path, pairs) -> str:
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return str(path)


def test_given_dev_and_test_are_used_and_what_train_shares_with_them_is_counted(tmp_path):
    train = [(f"source {i}", f"target {i}") for i in range(500)]
    dev, test = [("Source 7!", "x"), ("y", "z")], [("v", "target 9"), ("w", "w")]
    config = DataConfig(
        corpus=write(tmp_path / "train.tsv", train),
        dev=write(tmp_path / "dev.tsv", dev),
        test=write(tmp_path / "test.tsv", test),
    )
    corpus = read_corpus(config)
    assert (list(corpus.train), corpus.dev, corpus.test) == (train, dev, test)
    assert corpus.shared == 2


def test_what_is_not_given_is_split_off(tmp_path):
    train = [(f"source {i}", f"target {i}") for i in range(500)]
    config = DataConfig(
        corpus=write(tmp_path / "train.tsv", train), dev=write(tmp_path / "dev.tsv", [("a", "b")])
    )
    corpus = read_corpus(config)
    assert corpus.dev == [("a", "b")]
    assert 20 < len(corpus.test) < 80
    assert len(corpus.train) + len(corpus.test) == 500


def test_a_corpus_too_small_to_split_is_refused(tmp_path):
    config = DataConfig(corpus=write(tmp_path / "train.tsv", [("a", "b")]))
    with pytest.raises(DataError, match="1 pairs, in 1 independent groups, leave nothing for the"):
        read_corpus(config)


def sentences(count: int) -> list[tuple[str, str]]:
    return [(f"source {i}", f"target {i}") for i in range(count)]


def test_corpora_are_mixed_with_their_weights(tmp_path):
    own = [(f"own {i}", f"eigen {i}") for i in range(300)]
    config = DataConfig(
        sources=[
            CorpusConfig(corpus=write(tmp_path / "a.tsv", own), weight=2.5),
            CorpusConfig(
                corpus=write(tmp_path / "b.tsv", [(t, s) for s, t in sentences(200)]),
                columns="es en",
            ),
        ]
    )
    corpus = read_corpus(config)
    weights = dict(zip(corpus.train, corpus.train.weights, strict=True))
    assert corpus.pairs == 500
    assert {weights[p] for p in own if p in weights} == {2.5}
    assert {weights[p] for p in sentences(200) if p in weights} == {1.0}
    assert "a.tsv (weight 2.5), " in corpus.description


def test_a_mixture_keeps_the_dev_and_test_that_one_corpus_brings(tmp_path):
    book = read_corpus(DataConfig())
    mixed = read_corpus(
        DataConfig(
            sources=[
                CorpusConfig(corpus="phrasebook"),
                CorpusConfig(corpus=write(tmp_path / "a.tsv", [*sentences(300), book.dev[0]])),
            ]
        )
    )
    assert (mixed.dev, mixed.test) == (book.dev, book.test)
    assert len(mixed.train) == len(book.train) + 301
    assert mixed.shared == 1


def test_what_two_corpora_have_counts_once(tmp_path):
    path = write(tmp_path / "a.tsv", sentences(300))
    corpus = read_corpus(DataConfig(sources=[CorpusConfig(corpus=path)] * 2))
    assert corpus.pairs == 300
    assert corpus.dropped == {"duplicate": 300}


def fingerprint(tmp_path, pairs, **options) -> str:
    return read_corpus(DataConfig(corpus=write(tmp_path / "x.tsv", pairs), **options)).fingerprint


def test_fingerprint_tells_corpora_apart(tmp_path):
    pairs = sentences(300)
    first = fingerprint(tmp_path, pairs)
    assert fingerprint(tmp_path, [*pairs, pairs[7]]) == first
    assert fingerprint(tmp_path, pairs[1:]) != first
    assert fingerprint(tmp_path, [("Source 0", "target 0"), *pairs[1:]]) != first
    assert fingerprint(tmp_path, pairs, test=write(tmp_path / "t.tsv", [("a", "b")])) != first
    turned = {"source_language": "es", "target_language": "en"}
    assert fingerprint(tmp_path, pairs, **turned) != first
