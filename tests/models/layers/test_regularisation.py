import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.layers.regularisation import Dropout, penalise
from seq2seq_cli.models.ops.compute import computing


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_zeroes_its_share_and_keeps_the_mean(rate):
    key = DropoutKey()
    dropped = Dropout(rate, key, site=0)(tf.ones([400, 400]), training=True).numpy()
    assert (dropped == 0).mean() == pytest.approx(rate, abs=0.01)
    assert dropped.mean() == pytest.approx(1, abs=0.02)
    other_site = Dropout(rate, key, site=1)(tf.ones([400, 400]), training=True).numpy()
    assert not np.array_equal(dropped, other_site)


def test_a_small_rate_is_rounded_but_not_to_zero():
    key, ones = DropoutKey(), tf.ones([400, 400])
    dropped = Dropout(0.001, key, site=0)(ones, training=True).numpy()
    assert (dropped == 0).mean() == pytest.approx(1 / 256, rel=0.2)
    assert Dropout(0.0, key, site=0)(ones, training=True) is ones


def test_a_penalty_is_the_gradient_of_the_mean_square_norm_without_padding():
    values = tf.random.stateless_normal([2, 3, 4], seed=[1, 2])
    mask = tf.constant([[True, True, False], [True, False, False]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        penalised = penalise(values, mask, 0.3)
        loss = tf.reduce_sum(tf.sin(penalised))
        plain = tf.reduce_sum(tf.sin(values))
        norms = tf.reduce_sum(tf.boolean_mask(values, mask) ** 2, axis=1)
        plain += 0.3 / 2 * tf.reduce_mean(norms)
    np.testing.assert_array_equal(penalised, values)
    np.testing.assert_allclose(tape.gradient(loss, values), tape.gradient(plain, values), atol=1e-6)


def test_a_sentence_vector_is_penalised_once_for_each_token_of_its_sentence():
    values = tf.constant([[[1.0, 2.0]], [[3.0, 4.0]]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        loss = tf.reduce_sum(penalise(values, tf.constant([[1], [3]]), 0.3))
        plain = 0.3 / 2 * (tf.reduce_sum(values[0] ** 2) + 3 * tf.reduce_sum(values[1] ** 2)) / 4
    gradient = tape.gradient(loss, values) - 1
    np.testing.assert_allclose(gradient, tape.gradient(plain, values), atol=1e-6)


def test_a_batch_of_only_padding_has_no_penalty():
    values = tf.ones([1, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss = tf.reduce_sum(penalise(values, tf.zeros([1, 2], tf.bool), 0.3))
    np.testing.assert_array_equal(tape.gradient(loss, values), tf.ones([1, 2, 3]))


def test_shards_of_a_batch_have_different_dropout():
    key = DropoutKey()
    key.set(1, 2)
    layer, ones = Dropout(0.5, key, 3), tf.ones([4, 50])
    masks = []
    for number in (0, 1, 2):
        with computing(shard=number):
            masks.append(layer(ones, training=True).numpy())
    assert (masks[0] == layer(ones, training=True).numpy()).all()
    for i in (0, 1):
        assert 0.3 < (masks[i] == masks[i + 1]).mean() < 0.7
