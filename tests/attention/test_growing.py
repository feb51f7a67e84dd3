"""A translation that grows token by token."""

import numpy as np
import pytest

from seq2seq_cli.attention.growing import ALTERNATIVES, Grower
from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import EOS

SENTENCE = "I see one cats."


def fail(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture(scope="module")
def loaded(trained):
    return load_run(Run(trained), fail)


def test_the_growing_translation_ends_as_greedy_decoding(loaded):
    grown = list(Grower(loaded).grow(SENTENCE))
    (translation,) = loaded.translator().translate([SENTENCE])
    assert [len(each.chosen) for each in grown] == list(range(1, len(translation.ids) + 1))
    last = grown[-1]
    assert tuple(token.token for token in last.chosen) == translation.ids
    assert last.text == translation.text
    (read,) = AttentionReader(loaded).read([(SENTENCE, None)])
    probabilities = [token.probability for token in last.chosen]
    np.testing.assert_allclose(probabilities, np.exp(read.log_probabilities), rtol=1e-4)
    np.testing.assert_allclose(last.view.weights, read.word_weights, atol=1e-5)
    assert (last.view.queries, last.view.keys) == (read.target_words, read.source_words)


def test_the_chosen_token_is_the_best_alternative(loaded):
    *_, last = Grower(loaded).grow(SENTENCE)
    for token, alternatives in zip(last.chosen, last.alternatives, strict=True):
        assert len(alternatives) == ALTERNATIVES
        assert alternatives[0] == token
        probabilities = [each.probability for each in alternatives]
        assert probabilities == sorted(probabilities, reverse=True)


def test_a_prefix_is_kept_and_followed(loaded):
    grower = Grower(loaded)
    *_, last = grower.grow(SENTENCE)
    other = last.alternatives[1][1].token
    prefix = [last.chosen[0].token, other]
    first, *_, turned = grower.grow(SENTENCE, prefix)
    assert len(first.chosen) == 3
    assert [token.token for token in turned.chosen][:2] == prefix
    assert turned.chosen[-1].token == EOS or len(turned.chosen) > len(last.chosen)


def test_a_prefix_that_ends_is_the_translation(loaded):
    (only,) = Grower(loaded).grow(SENTENCE, [EOS])
    assert [token.token for token in only.chosen] == [EOS]
    assert only.text == ""


def test_the_maximum_length_is_kept(loaded):
    short = loaded._replace(decoding=loaded.decoding.model_copy(update={"max_length": 2}))
    *_, last = Grower(short).grow(SENTENCE)
    assert len(last.chosen) == 2
