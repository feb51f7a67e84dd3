import pytest

from seq2seq_cli.config.data import CorpusConfig, DataConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.errors import DataError


def write(path, pairs) -> str:
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return str(path)


def test_given_dev_and_test_are_used_and_shared_pairs_are_counted(tmp_path):
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


def test_missing_splits_are_split_off(tmp_path):
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


def test_pairs_of_two_corpora_count_once(tmp_path):
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


@pytest.mark.parametrize("given", [False, True])
def test_both_directions_have_the_same_splits(tmp_path, given):
    # Sources with several translations, so that the sides are not alike.
    pairs = [(f"source {i // 3}", f"target {i}") for i in range(900)]
    corpus = write(tmp_path / "x.tsv", pairs)
    dev = write(tmp_path / "dev.tsv", sentences(20)) if given else None
    forward = read_corpus(DataConfig(corpus=corpus, dev=dev))
    turned = DataConfig(corpus=corpus, dev=dev, source_language="es", target_language="en")
    backward = read_corpus(turned)
    for side in ("train", "dev", "test"):
        assert [pair[::-1] for pair in getattr(backward, side)] == list(getattr(forward, side))


def mixture(tmp_path, made, **options) -> DataConfig:
    """Return a corpus of 500 pairs beside pairs that are only for training."""
    return DataConfig(
        sources=[
            CorpusConfig(corpus=write(tmp_path / "made.tsv", made), train_only=True, weight=0.5),
            CorpusConfig(corpus=write(tmp_path / "real.tsv", sentences(500))),
        ],
        **options,
    )


def test_train_only_pairs_do_not_change_the_splits(tmp_path):
    alone = read_corpus(DataConfig(corpus=write(tmp_path / "real.tsv", sentences(500))))
    # Each made pair connects two sentences of the corpus, and so would change its groups.
    made = [(f"source {i}", f"target {i + 1}") for i in range(499)]
    mixed = read_corpus(mixture(tmp_path, made))
    assert (mixed.dev, mixed.test) == (alone.dev, alone.test)
    assert set(alone.train) <= set(mixed.train)


def test_no_train_only_pair_shares_a_sentence_with_dev_or_test(tmp_path):
    made = [(f"SOURCE {i}!", f"made {i}") for i in range(500)]
    made += [(f"made {i}", f"Target {i}?") for i in range(500)]
    corpus = read_corpus(mixture(tmp_path, made))
    held_out = len(corpus.dev) + len(corpus.test)
    assert held_out > 50
    assert corpus.dropped == {"in dev or test": 2 * held_out}
    sources, targets = (
        {side.lower() for side in sides} for sides in zip(*corpus.train, strict=True)
    )
    for source, target in [*corpus.dev, *corpus.test]:
        assert source not in {text.strip("!") for text in sources}
        assert target not in {text.strip("?") for text in targets}
    assert len(corpus.train) == 3 * (500 - held_out)


def test_train_only_pairs_in_given_dev_and_test_files_are_left_out(tmp_path):
    given = {
        side: write(tmp_path / f"{side}.tsv", [(f"{side} source", f"{side} target")])
        for side in ("dev", "test")
    }
    made = [("Dev source", "a"), ("b", "test target."), ("c", "d")]
    corpus = read_corpus(mixture(tmp_path, made, **given))
    assert sorted(corpus.train) == sorted([*sentences(500), ("c", "d")])
    alone = CorpusConfig(corpus=str(tmp_path / "made.tsv"), train_only=True)
    assert list(read_corpus(DataConfig(sources=[alone], **given)).train) == [("c", "d")]


def test_a_synthetic_copy_of_a_pair_is_used_once_as_the_original(tmp_path):
    corpus = read_corpus(mixture(tmp_path, [*sentences(500), ("a", "b"), ("a", "b")]))
    held_out = len(corpus.dev) + len(corpus.test)
    assert corpus.dropped == {"duplicate": 501}
    assert sorted(corpus.train.weights) == [0.5] + [1.0] * (500 - held_out)


def test_a_train_only_corpus_gives_no_dev_and_test(tmp_path):
    config = DataConfig(
        sources=[
            CorpusConfig(corpus="phrasebook", train_only=True),
            CorpusConfig(corpus=write(tmp_path / "real.tsv", sentences(500))),
        ]
    )
    corpus = read_corpus(config)
    assert {source[:6] for source, _ in [*corpus.dev, *corpus.test]} == {"source"}
