"""The training pairs in one direction or both."""

import numpy as np
import pytest
from conftest import tiny_config, toy_pairs

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.directed import Directed
from seq2seq_cli.data.pairs import PairsInMemory, Tags
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.preparation.prepare import prepare
from seq2seq_cli.data.vocabularies import tags_of, tokenizers_of
from seq2seq_cli.errors import UsageError

PAIRS = toy_pairs()[:7]
TURNED = [pair[::-1] for pair in PAIRS]


def pairs_with(**more) -> PairsInMemory:
    return PairsInMemory(*map(list, zip(*PAIRS, strict=True)), **more)


def data_of(config):
    corpus = read_corpus(config.data)
    tokenizers = tokenizers_of(corpus, config.tokenizer)
    tokenizers = tokenizers.with_tags(tags_of(corpus, config.data))
    return corpus, tokenizers, TrainingData.from_config(corpus, tokenizers, config)


def test_each_pair_occurs_in_both_directions():
    both = Directed(pairs_with(), ["es", "en"])
    assert [*both] == [*PAIRS, *TURNED]
    assert len(both) == 14
    indices = [13, 0, 7, 6]
    assert [*zip(*both.take(indices), strict=True)] == [TURNED[6], PAIRS[0], TURNED[0], PAIRS[6]]
    assert [*zip(*both.take(range(14)), strict=True)] == [*both]
    one = Directed(pairs_with(), ["es"])
    assert [*one] == PAIRS
    assert [*zip(*one.take([3]), strict=True)] == [PAIRS[3]]


def test_the_tag_of_the_language_precedes_that_of_the_corpus():
    own = Tags([(), ("bt",)], np.array([0, 1, 0, 0, 1, 1, 0], np.uint16))
    both = Directed(pairs_with(tags=own, weights=np.arange(7, dtype=np.float32)), ["es", "en"])
    found = [both.tags.sequences[number] for number in both.tags.numbers]
    expected = [own.sequences[number] for number in own.numbers]
    assert found == [("2es", *tags) for tags in expected] + [("2en", *tags) for tags in expected]
    assert both.weights.tolist() == [*range(7), *range(7)]


def test_a_pair_of_a_further_language_keeps_its_tag_and_turned_has_the_usual_one():
    own = Tags([(), ("2de",), ("2de", "bt")], np.array([0, 1, 2, 0, 0, 0, 0], np.uint16))
    both = Directed(pairs_with(tags=own), ["es", "en"])
    found = [both.tags.sequences[number] for number in both.tags.numbers]
    assert found[:3] == [("2es",), ("2de",), ("2de", "bt")]
    assert found[7:10] == [("2en",), ("2en",), ("2en", "bt")]


def test_a_batch_has_both_directions_each_with_its_tag(corpus):
    read, tokenizers, data = data_of(tiny_config(corpus, data__both_directions=True))
    ids = {tokenizers.source.tag_id("2es"): False, tokenizers.source.tag_id("2en"): True}
    shown = []
    for batch in data.batches(epoch=0):
        for row, target in zip(batch.source_BS.numpy(), batch.target_BT.numpy(), strict=True):
            if row.any():
                pair = (
                    *tokenizers.source.detokenize([row]),
                    *tokenizers.target.detokenize([target]),
                )
                shown.append(pair[::-1] if ids[int(row[0])] else pair)
                assert not set(ids) & {*row[1:], *target}
    assert sorted(shown) == sorted([*read.train, *read.train])
    assert data.pairs == 2 * len(read.train)


def test_no_held_out_sentence_is_in_training_on_either_side(corpus):
    one = read_corpus(tiny_config(corpus).data)
    read, _, _ = data_of(tiny_config(corpus, data__both_directions=True))
    assert (read.dev, read.test, read.fingerprint) == (one.dev, one.test, one.fingerprint)
    trained = {sentence for pair in read.train for sentence in pair}
    assert trained.isdisjoint(sentence for pair in (*read.dev, *read.test) for sentence in pair)


@pytest.mark.usefixtures("prepared_here")
def test_a_prepared_corpus_has_both_directions_and_its_lengths(corpus, tmp_path, monkeypatch):
    config = tiny_config(corpus, data__both_directions=True)
    _, tokenizers, expected = data_of(config)
    prepare(config, tmp_path / "prepared")
    there = config.model_copy(update={"data": config.data.moved_to(str(tmp_path / "prepared"))})
    monkeypatch.setattr(type(tokenizers.source), "_ids", lambda *args: pytest.fail("counted again"))
    read = read_corpus(there.data)
    ours = tokenizers_of(read, there.tokenizer).with_tags(tags_of(read, there.data))
    data = TrainingData.from_config(read, ours, there)
    assert ours.fingerprints == tokenizers.fingerprints
    for mine, theirs in zip(data.plan(epoch=1), expected.plan(epoch=1), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_separate_vocabularies_have_one_direction():
    values = Overrides()
    values.set("data.both_directions", True, "test")
    values.set("tokenizer.vocabularies", "separate", "test")
    with pytest.raises(UsageError, match="data.both_directions needs one vocabulary"):
        load_config(values)
