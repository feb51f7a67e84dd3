"""Search with every model: teacher forcing, batching, penalties and ensembles."""

import numpy as np
import pytest
import tensorflow as tf
from searching import search
from small_models import both, small_decoder_only, small_rnn, small_transformer

from seq2seq_cli.decoding import compaction, scoring, strategies
from seq2seq_cli.decoding.hypotheses import Hypotheses
from seq2seq_cli.models.ensemble import Ensemble
from seq2seq_cli.special_tokens import BOS, EOS, PAD
from seq2seq_cli.vocabularies import Vocabularies

GREEDY = {}
BEAM = {"beam": 4, "n_best": 3}
SAMPLE = {"sample": True, "n_best": 3, "temperature": 1.3, "top_k": 20, "top_p": 0.95, "seed": 6}


def noisy(model, seed=0, scale=0.7):
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=scale))
    return model


MODELS = {
    "rnn": lambda: noisy(small_rnn(both(30))),
    "transformer": lambda: noisy(small_transformer(both(30), inner_units=16, decoder_layers=2)),
    "decoder_only": lambda: noisy(small_decoder_only(both(30), inner_units=16)),
}
SENTENCES = [[5, 6, 7, 8, EOS], [9, 4, EOS], [4, EOS], [8, 8, 11, 12, EOS], [21, EOS], [22, 9, EOS]]
SOURCE = tf.ragged.constant(SENTENCES, dtype=tf.int32).to_tensor()
LENGTHS = np.array([12, 40, 7, 23, 30, 5], np.int32)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture(scope="module", params=[GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])
def config(request):
    return request.param


@pytest.fixture(scope="module")
def one(model, config):
    return search(model, attention=True, compiled=True, **config)


def assert_equal(found, expected):
    np.testing.assert_array_equal(found.ids_BNT, expected.ids_BNT)
    np.testing.assert_allclose(found.score_BN, expected.score_BN, atol=1e-4)
    np.testing.assert_allclose(found.attention_BNTS, expected.attention_BNTS, atol=1e-4)


class TestEveryModelAndStrategy:
    @pytest.mark.few_cases(3)
    def test_the_score_is_that_of_teacher_forcing(self, model, one):
        found = one(SOURCE, LENGTHS)
        for n in range(found.ids_BNT.shape[1]):
            given = scoring.forced_log_probabilities(model, SOURCE, found.ids_BNT[:, n])
            total = tf.reduce_sum(given, axis=1)
            np.testing.assert_allclose(total, found.log_probability_BN[:, n], rtol=1e-3, atol=1e-3)

    def test_batching_and_padding_change_no_output(self, one):
        together = one(SOURCE, LENGTHS)
        for b, sentence in enumerate(SENTENCES):
            alone = one([sentence], LENGTHS[b : b + 1], number_B=[b])
            steps, width = LENGTHS[b], len(sentence)
            cut = Hypotheses(*(x[b : b + 1] for x in together))
            cut = cut._replace(
                ids_BNT=cut.ids_BNT[:, :, :steps],
                attention_BNTS=cut.attention_BNTS[:, :, :steps, :width],
            )
            assert_equal(alone, cut)

    @pytest.mark.few_cases(2)
    def test_compaction_and_growth_change_no_output(self, model, config, one, monkeypatch):
        expected = one(SOURCE, LENGTHS)
        monkeypatch.setattr(compaction, "_STAY", 1.0)  # whoever is done leaves at once
        monkeypatch.setattr(compaction, "_CAPACITY_STEP", 3)
        compacted = search(model, attention=True, compiled=True, **config)
        assert_equal(compacted(SOURCE, LENGTHS), expected)

    def test_a_prefix_is_followed_and_scored(self, model, one):
        prefix = np.array([[9, 14], [20, PAD], [PAD, PAD], [7, 7], [8, 8], [EOS, PAD]], np.int32)
        found = one(SOURCE, LENGTHS, prefix_BP=prefix)
        for b, ids in enumerate(prefix):
            wanted = ids[ids != PAD]
            assert (found.ids_BNT[b, :, : len(wanted)].numpy() == wanted).all() or b == 5
        assert found.ids_BNT[5, 0].numpy().tolist()[0] == EOS
        given = scoring.forced_log_probabilities(model, SOURCE, found.ids_BNT[:, 0])
        np.testing.assert_allclose(
            tf.reduce_sum(given, axis=1), found.log_probability_BN[:, 0], rtol=1e-3, atol=1e-3
        )

    @pytest.mark.few_cases(2)
    def test_compiled_equals_not_compiled(self, model, config, one):
        plain = search(model, attention=True, **config)
        assert_equal(one(SOURCE, LENGTHS), plain(SOURCE, LENGTHS))

    def test_minimum_and_maximum_lengths_are_respected(self, one):
        minimum = np.array([3, 40, 7, 20, 1, 0], np.int32)
        found = one(SOURCE, LENGTHS, minimum)
        lengths = (found.ids_BNT.numpy() != PAD).sum(-1)
        there = found.score_BN.numpy() > -np.inf
        assert there[:, 0].all()
        assert (lengths <= LENGTHS[:, np.newaxis]).all()
        assert (lengths >= minimum[:, np.newaxis])[there].all()


@pytest.fixture(scope="module")
def greedy(model):
    """What greedy decoding finds."""
    return search(model, attention=True)(SOURCE, LENGTHS)


@pytest.fixture(scope="module")
def beam(model):
    """What a beam finds."""
    return search(model, attention=True, **BEAM)(SOURCE, LENGTHS)


def test_greedy_follows_the_most_probable_token_of_teacher_forcing(model, greedy):
    ids = greedy.ids_BNT.numpy()[:, 0]
    begun = np.concatenate([np.full((6, 1), BOS), ids[:, :-1]], axis=1).astype(np.int32)
    logits = model((SOURCE, tf.constant(begun))).numpy()
    logits[..., [PAD, BOS]] = -np.inf
    real = ids != PAD
    assert real.any(axis=1).all()
    np.testing.assert_array_equal(logits.argmax(-1)[real], ids[real])


def test_a_beam_of_one_equals_greedy(model, greedy):
    one = search(model, attention=True)
    one._choose = strategies.beam
    assert_equal(one(SOURCE, LENGTHS), greedy)


def test_attention_is_given_for_each_token_over_the_source(beam):
    sums = beam.attention_BNTS.numpy().sum(-1)
    np.testing.assert_allclose(sums, beam.ids_BNT.numpy() != PAD, atol=1e-5)
    on_padding = np.where(SOURCE.numpy() == PAD, 1, 0)[:, np.newaxis, np.newaxis]
    assert (beam.attention_BNTS.numpy() * on_padding).max() == 0


def test_no_ngram_occurs_twice():
    model = MODELS["transformer"]()

    def repeats(size, **config):
        ids = search(model, beam=3, **config)(SOURCE, LENGTHS).ids_BNT.numpy()[:, 0]
        rows = [[i for i in row if i != PAD] for row in ids]
        grams = [[tuple(r[i : i + size]) for i in range(len(r) - size + 1)] for r in rows]
        return sum(len(g) - len(set(g)) for g in grams)

    assert repeats(3) > 0
    for size in (1, 2, 3):
        assert repeats(size, no_repeat_ngram=size) == 0


def test_a_penalty_for_repetition_makes_more_different_tokens():
    model = MODELS["transformer"]()

    def different(penalty):
        ids = search(model, repetition_penalty=penalty)(SOURCE, LENGTHS).ids_BNT.numpy()
        return sum(len(set(row)) for row in ids[:, 0].tolist())

    assert different(5.0) > different(1.0)


@pytest.mark.parametrize("config", [{}, {"beam": 3}, {"sample": True}])
def test_penalties_for_repetition_do_not_change_log_probabilities(config):
    model = MODELS["transformer"]()
    found = search(model, repetition_penalty=1.5, **config)(SOURCE, LENGTHS)
    ids = found.ids_BNT[:, 0]
    expected = tf.reduce_sum(scoring.forced_log_probabilities(model, SOURCE, ids), axis=1)
    np.testing.assert_allclose(found.log_probability_BN[:, 0], expected, atol=1e-4)
    assert (abs(found.score_BN[:, 0] - expected) > 0.01).numpy().any()


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.few_cases(1)
def test_bfloat16_only_rounds_log_probabilities(make):
    model, prefix = make(), tf.constant([[5, 6, 7, 8], [9, 9, 4, 10]])
    exact, rounded = (
        search(model, precision=precision)(SOURCE[:2], [4, 4], prefix_BP=prefix).log_probability_BN
        for precision in ("float32", "bfloat16")
    )
    assert rounded.dtype == tf.float32
    assert 1e-4 < tf.reduce_max(abs(rounded - exact)) < 0.3


@pytest.mark.parametrize("vocabulary", [8, 1000, 997, 4096])
def test_the_highest_logits_are_found_in_blocks(vocabulary):
    rng = np.random.default_rng(0)
    logits_RV = tf.constant(
        rng.permuted(np.tile(np.arange(vocabulary), (9, 1)), axis=1), tf.float32
    )
    found, expected = strategies.top(logits_RV, 6), tf.math.top_k(logits_RV, 6)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.few_cases(1)
def test_an_ensemble_of_one_model_twice_equals_the_model(model, beam):
    twice = search(Ensemble([model, model]), attention=True, **BEAM)
    assert_equal(twice(SOURCE, LENGTHS), beam)


def test_ensembles_average_probabilities():
    members = [noisy(small_rnn(both(30)), seed) for seed in (1, 2)]
    target = tf.constant([[BOS, 5, 6], [BOS, 9, 9]])
    found = tf.nn.softmax(Ensemble(members)((SOURCE[:2], target)))
    expected = sum(tf.nn.softmax(m((SOURCE[:2], target))) for m in members) / 2
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_an_improbable_token_of_an_ensemble_has_a_finite_log_probability():
    members = [noisy(small_rnn(both(30)), seed) for seed in (1, 2)]
    for member in members:
        member.output_projection.bias.assign(-400.0 * np.eye(30)[7])
    logits_BTV = Ensemble(members)((SOURCE[:2], tf.constant([[BOS, 5], [BOS, 9]])))
    assert np.all(logits_BTV[..., 7] < -300)
    assert np.all(np.isfinite(logits_BTV))


def test_members_of_an_ensemble_may_have_different_sources():
    members = [noisy(small_rnn(Vocabularies(vocabulary, 30)), 1) for vocabulary in (30, 40)]
    sources = SOURCE[:2], np.array([[39, 5, EOS, PAD], [7, EOS, PAD, PAD]], np.int32)
    width = SOURCE.shape[1]
    padded = [np.pad(ids, [[0, 0], [0, width - ids.shape[1]]]) for ids in sources]
    joined = np.concatenate(padded, axis=1)
    target = tf.constant([[BOS, 5, 6], [BOS, 9, 9]])
    ensemble = Ensemble(members, separate=True)
    found = tf.nn.softmax(ensemble((tf.constant(joined), target)))
    pairs = zip(members, sources, strict=True)
    expected = sum(tf.nn.softmax(member((ids, target))) for member, ids in pairs) / 2
    np.testing.assert_allclose(found, expected, atol=1e-6)
    attention = search(ensemble, attention=True)(joined, [5, 5]).attention_BNTS
    np.testing.assert_allclose(tf.reduce_sum(attention[:, 0, 0], axis=1), 1, atol=1e-5)
    assert not attention.numpy()[..., joined[0] == PAD][0].any()
