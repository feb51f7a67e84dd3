import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.decoding import GreedySearch
from seq2seq_cli.models.rnn import RNN
from seq2seq_cli.models.seq2seq import StepOutput
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

WORD = [7, 5, 9, 9, 4, EOS]


class Speller:
    """A model without a network: row b spells WORD from letter b on, whatever it is fed.

    PAD and BOS are always its first choice, so a search that does not forbid them fails.
    """

    def encode(self, source_BS):
        return {"start": tf.range(tf.shape(source_BS)[0])}

    def initial_state(self, memory, max_length):
        return {"place": memory["start"]}

    def decode_step(self, token_B, state, memory):
        letters = tf.constant([*WORD, UNK, UNK])
        wanted_B = tf.gather(letters, tf.minimum(state["place"], len(WORD)))
        logits_BV = 5.0 * tf.one_hot(wanted_B, 12) + 9.0 * tf.reduce_sum(
            tf.one_hot([PAD, BOS], 12), axis=0
        )
        return StepOutput(logits_BV, tf.ones([1, 1]), {"place": state["place"] + 1})


def test_a_scripted_model_spells_its_word():
    found = GreedySearch(Speller())(tf.ones([3, 2], tf.int32), tf.constant([10, 10, 10]))
    expected = [WORD, [*WORD[1:], PAD], [*WORD[2:], PAD, PAD]]
    assert found.ids_BT.numpy().tolist() == expected


def test_the_score_is_the_sum_of_log_probabilities_up_to_eos():
    found = GreedySearch(Speller())(tf.ones([2, 2], tf.int32), tf.constant([10, 10]))
    # Of 12 tokens 2 are impossible; the wanted one has logit 5 and 9 others 0.
    step = 5 - np.log(np.exp(5) + 9)
    np.testing.assert_allclose(found.log_probability_B, [6 * step, 5 * step], rtol=1e-5)


def test_each_row_has_its_own_maximum_length():
    found = GreedySearch(Speller())(tf.ones([3, 2], tf.int32), tf.constant([2, 9, 0]))
    assert found.ids_BT.numpy().tolist() == [
        [7, 5, PAD, PAD, PAD],
        [5, 9, 9, 4, EOS],
        [PAD, PAD, PAD, PAD, PAD],
    ]


@pytest.fixture(scope="module")
def model():
    model = RNN(30, 30, 6, 5, 7, 4, seed=3)
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.7))
    return model


SOURCE = tf.constant([[5, 6, 7, 8, EOS], [9, 4, EOS, PAD, PAD], [4, EOS, PAD, PAD, PAD]])
LENGTHS = tf.constant([12, 12, 12])


def test_compiled_equals_not_compiled(model):
    search = GreedySearch(model)
    compiled, plain = search(SOURCE, LENGTHS), search.search(SOURCE, LENGTHS)
    assert compiled.ids_BT.numpy().tolist() == plain.ids_BT.numpy().tolist()
    np.testing.assert_allclose(compiled.log_probability_B, plain.log_probability_B, atol=1e-5)


def test_batching_changes_no_output(model):
    search = GreedySearch(model)
    together = search(SOURCE, LENGTHS)
    for b in range(3):
        alone = search(SOURCE[b : b + 1], LENGTHS[b : b + 1])
        width = alone.ids_BT.shape[1]
        assert together.ids_BT[b, :width].numpy().tolist() == alone.ids_BT[0].numpy().tolist()
        np.testing.assert_allclose(
            alone.log_probability_B[0], together.log_probability_B[b], atol=1e-5
        )


def test_greedy_follows_the_most_probable_token_of_teacher_forcing(model):
    ids = GreedySearch(model)(SOURCE, LENGTHS).ids_BT.numpy()
    begun = np.concatenate([np.full((3, 1), BOS), ids[:, :-1]], axis=1).astype(np.int32)
    logits = model((SOURCE, tf.constant(begun))).numpy()
    logits[..., [PAD, BOS]] = -np.inf
    real = ids != PAD
    assert real.any(axis=1).all()
    np.testing.assert_array_equal(logits.argmax(-1)[real], ids[real])
