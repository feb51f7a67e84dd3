"""The attention that a run's model gives for sentences, against the textbook and the search."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import tiny_config

from seq2seq_cli.attention.reader import AttentionReader, tokens_of
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.models import build_model
from seq2seq_cli.models.ensemble import Ensemble
from seq2seq_cli.models.textbook import textbook_outputs
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import BOS, EOS

PAIRS = [("I see one cats.", "yo mirar un gatos."), ("they want few books.", "ellos"), ("we", "")]
STACKS = {
    "transformer": {"model.encoder_layers": 2, "model.decoder_layers": 2},
    "decoder_only": {},
}


def fail(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture(scope="module")
def loaded(trained) -> LoadedRun:
    return load_run(Run(trained), fail)


@pytest.fixture(scope="module", params=["rnn", *STACKS])
def untrained(loaded, request) -> LoadedRun:
    """A run of each architecture; the stacks have random weights."""
    if request.param == "rnn":
        return loaded
    settings = {"model.kind": request.param, **STACKS[request.param]}
    config = tiny_config(None, **settings).model
    return loaded._replace(model=build_model(config, loaded.tokenizers.vocabularies, seed=3))


def ids(loaded: LoadedRun, pair: tuple[str, str]) -> list[list[int]]:
    tokenizers = loaded.tokenizers
    return [
        tokenizer.tokenize(tf.constant([text])).to_list()[0]
        for tokenizer, text in zip((tokenizers.source, tokenizers.target), pair, strict=True)
    ]


def test_maps_of_a_batch_equal_the_reference_of_each_sentence(untrained):
    found = AttentionReader(untrained).read(PAIRS)
    for pair, attention in zip(PAIRS, found, strict=True):
        source, target = ids(untrained, pair)
        expected = textbook_outputs(
            untrained.model, tf.constant([source]), tf.constant([[BOS, *target[:-1]]])
        )
        assert attention.maps.keys() == expected.maps.keys()
        for kind, layers in expected.maps.items():
            np.testing.assert_allclose(attention.maps[kind], np.concatenate(layers), atol=1e-6)
        np.testing.assert_allclose(attention.weights, expected.attention_BTS[0], atol=1e-6)
        assert (attention.source, attention.translation) == pair


def test_log_probabilities_are_those_of_scoring(untrained):
    found = AttentionReader(untrained).read(PAIRS)
    for attention, score in zip(found, untrained.scorer().score(PAIRS), strict=True):
        np.testing.assert_allclose(
            attention.log_probabilities, score.token_log_probabilities, atol=1e-5
        )
        assert attention.target_tokens == score.tokens


def test_the_translation_and_alignment_are_those_of_translate(loaded):
    sentences = ["I see one cats.", "we have many apples.", "they sell two houses."]
    found = AttentionReader(loaded).read([(sentence, None) for sentence in sentences])
    for attention, translation in zip(
        found, loaded.translator(alignments=True).translate(sentences), strict=True
    ):
        assert attention.translation == translation.text
        assert attention.words == translation.alignment.words
        assert attention.log_probability == pytest.approx(translation.log_probability, abs=1e-4)
        np.testing.assert_allclose(attention.weights, translation.alignment.weights, atol=2e-5)


def test_a_translation_that_was_cut_has_no_end_of_sentence(loaded):
    decoding = loaded.decoding.model_copy(update={"max_length": 2})
    (attention,) = AttentionReader(loaded, decoding).read([("I see one cats.", None)])
    assert len(attention.target_tokens) == 2
    assert "</s>" not in attention.target_words


def test_blank_sources_have_none_and_progress_counts_all(loaded):
    done = []
    found = AttentionReader(loaded).read([("", "x"), (" ", None), ("we", None)], done.append)
    assert found[:2] == [None, None]
    assert found[2] is not None
    assert done == [3]


def test_sides_that_were_cut_are_reported(loaded):
    decoding = loaded.decoding.model_copy(update={"max_source_tokens": 3})
    (attention,) = AttentionReader(loaded, decoding).read([("I see one cats.", "yo mirar un")])
    assert attention.cut == ("source", "translation")
    assert len(attention.source_tokens) == 3


def test_an_ensemble_has_the_mean_map_of_its_members(untrained, loaded):
    pair = [PAIRS[0]]
    members = [loaded, untrained]
    ensemble = loaded._replace(model=Ensemble([each.model for each in members]))
    (found,) = AttentionReader(ensemble).read(pair)
    separate = [AttentionReader(each).read(pair)[0].weights for each in members]
    np.testing.assert_allclose(found.weights, np.mean(separate, axis=0), atol=1e-6)


def test_runners_up_are_the_next_most_probable_tokens(loaded):
    (attention,) = AttentionReader(loaded, runners_up=5).read([("I see one cats.", None)])
    for log_probability, others in zip(
        attention.log_probabilities, attention.runners_up, strict=True
    ):
        probabilities = [other.probability for other in others]
        assert len(others) == 5
        assert probabilities == sorted(probabilities, reverse=True)
        assert np.exp(log_probability) + sum(probabilities) <= 1 + 1e-5
        assert np.exp(log_probability) >= probabilities[0]  # greedy


def test_special_tokens_are_words_of_their_own(loaded):
    tokenizer = loaded.tokenizers.target
    words = ids(loaded, ("", "yo mirar un gatos."))[1]
    tokens = tokens_of(tokenizer, [BOS, *words])
    assert tokens.words == ["<s>", "yo", "mirar", "un", "gatos.", "</s>"]
    assert tokens.word_of[0] == 0
    assert tokens.word_of[-1] == 5
    space = tokenizer.pieces(range(tokenizer.vocabulary_size)).index("▁")
    assert tokens_of(tokenizer, [space, space, EOS]).words == ["▁▁", "</s>"]
    assert tokens_of(tokenizer, [EOS]).words == ["</s>"]


def test_each_word_has_a_token():
    words = Words(["▁a", "▁of▁the", "▁cat"])
    tokens = tokens_of(words, [4, 5, 6, EOS])
    assert tokens.words == ["a", "of the", "cat", "</s>"]
    assert tokens.word_of == [0, 1, 2, 3]
