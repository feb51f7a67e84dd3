"""Corpora with tags, and corpora that only train."""

import numpy as np
import pytest
from conftest import tiny_config, toy_pairs

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.export import export
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.preparation.prepare import prepare
from seq2seq_cli.data.splits import normalise
from seq2seq_cli.data.statistics import statistics
from seq2seq_cli.data.vocabularies import tags_of, tokenizers_of
from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.test_sets import read_split
from seq2seq_cli.special_tokens import EOS

REAL = toy_pairs()
MADE = [(f"Made {source}", f"Hecho {i}.") for i, (source, _) in enumerate(REAL[:60])]


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return str(path)


def mixed_config(*sources, **settings: object) -> Config:
    kind = {"tokenizer__kind": "words", **settings}
    return tiny_config(None, data__sources=list(sources), **kind)


@pytest.fixture
def real(tmp_path):
    return {"corpus": write(tmp_path / "real.tsv", REAL)}


@pytest.fixture
def made(tmp_path):
    """Synthetic data, of which some pairs are real ones, and some share a side with real ones."""
    copies = [(f"Other {i}", target.upper()) for i, (_, target) in enumerate(REAL)]
    return {"corpus": write(tmp_path / "made.tsv", [*MADE, *MADE[:5], *REAL[:100], *copies])}


def read(*sources):
    return read_corpus(mixed_config(*sources).data)


@pytest.mark.parametrize("kind", [{"tag": "bt"}, {"train_only": True}])
@pytest.mark.parametrize("first", [False, True])
def test_synthetic_data_does_not_change_the_splits(real, made, kind, first):
    alone = read(real)
    sources = [{**made, **kind}, real] if first else [real, {**made, **kind}]
    mixed = read(*sources)
    assert (mixed.dev, mixed.test) == (alone.dev, alone.test)
    assert set(alone.train) <= set(mixed.train)
    assert mixed.groups == alone.groups


def test_without_a_tag_synthetic_data_is_held_out_like_any_other(real, made):
    held_out = read(real, made).dev + read(real, made).test
    assert any(source.startswith(("Made", "Other")) for source, _ in held_out)


def test_no_synthetic_pair_shares_a_sentence_with_dev_or_test(real, made):
    corpus = read(real, {**made, "tag": "bt"})
    held_out = corpus.dev + corpus.test
    for side in (0, 1):
        train = {normalise(pair[side]) for pair in corpus.train}
        assert not train & {normalise(pair[side]) for pair in held_out}
    copies = sum(source.startswith("Other") for source, _ in corpus.train)
    assert copies == len(REAL) - len({target for _, target in held_out})
    assert corpus.dropped == {"duplicate": 105, "in dev or test": len(REAL) - copies}


def test_synthetic_pairs_in_given_dev_and_test_files_are_left_out(tmp_path, real, made):
    dev, test = write(tmp_path / "dev.tsv", MADE[:3]), write(tmp_path / "test.tsv", MADE[3:5])
    config = mixed_config(real, {**made, "tag": "bt"}, data__dev=dev, data__test=test)
    corpus = read_corpus(config.data)
    assert not set(corpus.train) & set(MADE[:5])
    assert set(MADE[5:]) <= set(corpus.train)
    assert corpus.dropped == {"in dev or test": 5, "duplicate": 105}


def test_all_corpora_may_have_tags_if_dev_and_test_are_given(tmp_path, made):
    dev, test = write(tmp_path / "dev.tsv", REAL[:3]), write(tmp_path / "test.tsv", REAL[3:5])
    config = mixed_config({**made, "tag": "bt"}, data__dev=dev, data__test=test)
    assert set(MADE) <= set(read_corpus(config.data).train)


def test_the_dev_pairs_that_a_corpus_brings_are_not_used_if_it_only_trains(real):
    corpus = read(real, {"corpus": "phrasebook", "tag": "book"})
    assert (corpus.dev, corpus.test) == (read(real).dev, read(real).test)


def test_each_pair_has_the_tag_of_its_corpus(tmp_path, real, made):
    more = {"corpus": write(tmp_path / "more.tsv", [("x y", "z w"), ("v u", "t s")]), "tag": "b"}
    corpus = read({**made, "tag": "a"}, real, {**more, "weight": 2.0})
    tags = corpus.train.tags
    found = {
        pair: tags.sequences[number]
        for pair, number in zip(corpus.train, tags.numbers, strict=True)
    }
    assert found[MADE[0]] == ("a",)
    assert found[("x y", "z w")] == ("b",)
    assert {found[pair] for pair in read(real).train} == {()}
    assert tags_of(corpus, mixed_config(real).data) == ["a", "b"]
    assert corpus.description.endswith("more.tsv (weight 2) <b>")


def test_corpora_without_tags_have_none(real, made):
    assert read(real, {**made, "train_only": True}).train.tags is None


def batches_of(config, corpus):
    tokenizers = tokenizers_of(corpus, config.tokenizer)
    tokenizers = tokenizers.with_tags(tags_of(corpus, config.data))
    data = TrainingData.from_config(corpus, tokenizers, config)
    return tokenizers, data, [*data.batches(epoch=0)]


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_batch_has_the_tag_before_the_source(real, made, alpha):
    config = mixed_config(
        real,
        {**made, "tag": "bt"},
        tokenizer__kind="unigram",
        tokenizer__sampling_alpha=alpha,
    )
    corpus = read_corpus(config.data)
    tokenizers, data, batches = batches_of(config, corpus)
    tag = tokenizers.source.tag_id("bt")
    sources = {source for source, _ in corpus.train}
    count = 0
    for batch in batches:
        for row, target in zip(batch.source_BS.numpy(), batch.target_BT.numpy(), strict=True):
            (text,) = tokenizers.source.detokenize([row])
            assert not text or text in sources
            is_made = (text, *tokenizers.target.detokenize([target])) not in REAL and bool(text)
            assert (row[0] == tag) == is_made
            assert np.count_nonzero(row == EOS) == bool(text)
            assert tag not in row[1:]
            assert tag not in target
            count += is_made
    assert count == len([pair for pair in corpus.train if pair not in REAL])
    plain, untagged, _ = batches_of(
        config.model_copy(update={"data": mixed_config(real, {**made, "train_only": True}).data}),
        read(real, {**made, "train_only": True}),
    )
    assert data.source_tokens == untagged.source_tokens + count
    assert tokenizers.source.text_fingerprint == plain.source.fingerprint


def test_a_source_that_is_too_long_with_its_tag_is_left_out(tmp_path, real):
    long = write(tmp_path / "long.tsv", [("a b c d e f g h", "x")])
    settings = {"training__max_source_tokens": 9}  # of eight words and EOS
    for source, count in (({"train_only": True}, 0), ({"tag": "bt"}, 1)):
        config = mixed_config(real, {"corpus": long, **source}, **settings)
        corpus = read_corpus(config.data)
        _, data, _ = batches_of(config, corpus)
        assert data.too_long == count


@pytest.fixture
def german(tmp_path):
    pairs = [(source, f"{target} auf Deutsch") for source, target in REAL]
    return {
        "corpus": write(tmp_path / "german.tsv", [pair[::-1] for pair in pairs]),
        **{"columns": "de en", "target_language": "de"},
    }


def test_a_corpus_of_a_further_language_has_its_tag_and_only_trains(real, german, made):
    config = mixed_config(real, german, {**made, "tag": "bt"})
    corpus = read_corpus(config.data)
    assert (corpus.dev, corpus.test) == (read(real).dev, read(real).test)
    held_out = {source for source, _ in corpus.dev + corpus.test}
    shown = [source for source, target in corpus.train if target.endswith("Deutsch")]
    assert sorted(shown) == sorted({source for source, _ in REAL} - held_out)
    tokenizers, _, batches = batches_of(config, corpus)
    assert tokenizers.source.tags == ("2es", "2de", "bt")
    seen = set()
    for batch in batches:
        for row, target in zip(batch.source_BS.numpy(), batch.target_BT.numpy(), strict=True):
            if row.any():
                (text,) = tokenizers.target.detokenize([target])
                tags = [i for i in row.tolist() if tokenizers.source.is_tag(i)]
                seen.add((tuple(tokenizers.source.pieces(tags)), text.endswith("Deutsch")))
                assert row[: len(tags)].tolist() == tags
    assert seen == {(("<2es>",), False), (("<2es>", "<bt>"), False), (("<2de>",), True)}


def test_the_same_pair_in_two_languages_is_used_in_both(tmp_path, real):
    shared = write(tmp_path / "shared.tsv", [("Madrid", "Madrid"), ("Lima", "Lima")])
    others = [
        {"corpus": shared, "columns": f"en {name}", "target_language": name}
        for name in ("de", "pt")
    ]
    spanish = {"corpus": shared, "train_only": True}
    corpus = read(real, spanish, *others)
    tags = corpus.train.tags
    found = {
        tags.sequences[number]
        for pair, number in zip(corpus.train, tags.numbers, strict=True)
        if pair == ("Lima", "Lima")
    }
    assert found == {(), ("2de",), ("2pt",)}
    assert corpus.dropped == {}


def test_a_run_knows_its_languages(real, german):
    data = mixed_config(real, german, data__both_directions=True).data
    assert data.target_languages == ["es", "en", "de"]
    assert data.languages_to(None) == data.languages_to("es") == ("en", "es")
    assert data.languages_to("en") == ("es", "en")
    assert data.languages_to("de") == ("en", "de")
    with pytest.raises(UsageError, match="'fr' .* from en to es and de and back"):
        data.languages_to("fr")


def test_the_test_split_has_no_pair_of_a_further_language(real, german):
    with pytest.raises(UsageError, match="--to de: the test split .* en and es .* --tsv"):
        read_split(mixed_config(real, german).data, None, "run", "test", to="de")


def test_statistics_of_the_target_language_leave_out_further_languages(real, german):
    alone, both = (statistics(mixed_config(*each).data) for each in ([real], [real, german]))
    assert both.pairs > alone.pairs
    assert both.sides[1] == alone.sides[1]
    assert both.sides[0].words > alone.sides[0].words
    for found in (alone, both):
        assert (found.splits[0].source_coverage, found.splits[0].target_coverage) == (1, 1)
    assert [each.target_coverage for each in both.splits[1:]] == [
        each.target_coverage for each in alone.splits[1:]
    ]


def test_a_prepared_corpus_of_three_languages_is_refused(real, german, tmp_path):
    with pytest.raises(UsageError, match="has two languages, .* de"):
        prepare(mixed_config(real, german), tmp_path / "prepared")


def test_exported_splits_have_the_tags(real, made, tmp_path):
    corpus = read(real, {**made, "tag": "bt"})
    export(corpus, ("en", "es"), tmp_path / "out")
    tags = (tmp_path / "out/train.tags").read_text().split("\n")[:-1]
    assert tags == ["" if pair in REAL else "<bt>" for pair in corpus.train]


def test_a_prepared_corpus_has_the_same_splits_and_tags(tmp_path, real, made, small_chunks):
    config = mixed_config({**made, "tag": "bt", "weight": 2.0}, real)
    expected = read_corpus(config.data)
    prepared = prepare(config, tmp_path / "prepared")
    assert (prepared.fingerprint, prepared.dropped) == (expected.fingerprint, expected.dropped)
    assert (prepared.dev, prepared.test) == (expected.dev, expected.test)
    assert [*prepared.train] == [*expected.train]
    assert prepared.train.tags.sequences == expected.train.tags.sequences
    np.testing.assert_array_equal(prepared.train.tags.numbers, expected.train.tags.numbers)
    same = config.model_copy(update={"data": config.data.moved_to(str(tmp_path / "prepared"))})
    (_, _, ours), (_, _, theirs) = batches_of(same, prepared), batches_of(config, expected)
    for batch, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(batch.source_BS, wanted.source_BS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([{"tag": "a b"}], "data.sources.*tag"),
        ([{"tag": "2es"}], "must not begin with '2'"),
        ([{}, {"target_language": "es"}], r"sources\[1\].target_language is for a third language"),
        ([{"target_language": "de"}], "every corpus has a tag, train_only or a target_language"),
        ([{"tag": "bt"}], "every corpus has a tag, train_only"),
        ([{"tag": "bt"}, {"train_only": True}], "every corpus has a tag, train_only"),
    ],
)
def test_wrong_tags_are_reported(settings, message):
    values = Overrides()
    values.set("data.sources", [{"corpus": "a.tsv", **each} for each in settings], "test")
    with pytest.raises(UsageError, match=message):
        load_config(values)
