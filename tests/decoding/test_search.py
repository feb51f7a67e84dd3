"""Search with a model that spells a word."""

import numpy as np
import pytest
import tensorflow as tf
from searching import search

from seq2seq_cli.models.seq2seq import Seq2Seq, StepOutput
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

WORD = [7, 5, 9, 9, 4, EOS]


class Speller(Seq2Seq):
    """A model without a network: row b spells WORD from letter b on, whatever it is fed.

    PAD and BOS are always its first choice, so a search that does not forbid them fails.
    """

    def encode(self, source_BS, training=False):
        return {"start": tf.range(tf.shape(source_BS)[0])}

    def initial_state(self, memory, max_length):
        return {"position": memory["start"]}

    def make_step(self, in_place=False):
        def step(token_B, state, memory):
            letters = tf.constant([*WORD, UNK, UNK])
            wanted_B = tf.gather(letters, tf.minimum(state["position"], len(WORD)))
            logits_BV = 5.0 * tf.one_hot(wanted_B, 12) + 9.0 * tf.reduce_sum(
                tf.one_hot([PAD, BOS], 12), axis=0
            )
            attention_BS = tf.ones([tf.shape(token_B)[0], 2])
            return StepOutput(logits_BV, attention_BS, {"position": state["position"] + 1})

        return step


@pytest.mark.parametrize("config", [{}, {"beam": 3}, {"sample": True, "top_k": 1}])
def test_a_scripted_model_spells_its_word(config):
    found = search(Speller("speller"), **config)(tf.ones([3, 2], tf.int32), [10, 10, 10])
    expected = [WORD, [*WORD[1:], PAD], [*WORD[2:], PAD, PAD]]
    assert found.ids_BNT[:, 0, :6].numpy().tolist() == expected
    assert not found.ids_BNT[:, 0, 6:].numpy().any()


def test_the_score_is_the_sum_of_log_probabilities_up_to_eos():
    found = search(Speller("speller"))(tf.ones([2, 2], tf.int32), [10, 10])
    # Of 12 tokens 2 are impossible; the wanted one has logit 5 and 9 others 0.
    step = 5 - np.log(np.exp(5) + 9)
    np.testing.assert_allclose(found.score_BN[:, 0], [6 * step, 5 * step], rtol=1e-5)


@pytest.mark.parametrize(("kind", "divisors"), [("gnmt", [11 / 6, 10 / 6]), ("simple", [6, 5])])
def test_penalties_for_length_are_those_of_the_papers(kind, divisors):
    penalties = {"length_penalty": 0.7, "length_penalty_kind": kind}
    found = search(Speller("speller"), **penalties)(tf.ones([2, 2], tf.int32), [10, 10])
    np.testing.assert_allclose(
        found.score_BN, found.log_probability_BN / np.power(divisors, 0.7)[:, np.newaxis], rtol=1e-5
    )


@pytest.mark.parametrize("config", [{}, {"beam": 2}])
def test_each_row_has_its_own_maximum_length(config):
    found = search(Speller("speller"), **config)(tf.ones([3, 2], tf.int32), [2, 9, 0])
    assert found.ids_BNT[:, 0, :5].numpy().tolist() == [
        [7, 5, PAD, PAD, PAD],
        [5, 9, 9, 4, EOS],
        [PAD, PAD, PAD, PAD, PAD],
    ]
    assert found.score_BN.numpy()[2] == -np.inf


def test_no_sentences_give_no_translations():
    assert (
        search(Speller("speller"))(tf.zeros([0, 2], tf.int32), np.zeros(0, np.int32)).ids_BNT.shape[
            0
        ]
        == 0
    )
