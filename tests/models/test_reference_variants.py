"""The plain form of what other papers change, by hand and against Keras."""

import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models import reference_variants as variants
from seq2seq_cli.models.layers.relative_positions import RelativeBias, slopes


def test_maxout_by_hand():
    s, y, c = (tf.constant([[value]]) for value in (2.0, -1.0, 0.5))
    W_o, b_o = (
        tf.constant([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]),
        tf.constant([0, 0, 0, 9.0]),
    )
    # [2, -1, 0.5, 2 - 1 + 0.5 + 9]: the larger of each two
    np.testing.assert_allclose(variants.maxout_readout(s, y, c, W_o, b_o), [[2, 10.5]])


def test_steps_without_attention_by_hand():
    def f(x_BD, state):
        return [tf.reduce_sum(x_BD, axis=1, keepdims=True) + 10 * state[0]]

    y, c, state = tf.constant([[0.5]]), tf.constant([[3.0]]), [tf.constant([[0.2]])]
    output, (after,) = variants.sutskever_step(y, state, f)
    np.testing.assert_allclose([output, after], [[[2.5]]] * 2)
    output, (after,) = variants.cho_step(y, state, c, f, lambda s, y, c: 100 * s + 10 * y + c)
    np.testing.assert_allclose([output, after], [[[558]], [[5.5]]])


def test_rms_normalisation_by_hand():
    # sqrt((9 + 16) / 2) = 3.5355339
    found = variants.rms_norm(tf.constant([[3.0, 4.0]]), tf.constant([1.0, 2.0]), epsilon=0.0)
    np.testing.assert_allclose(found, [[3 / 3.5355339, 8 / 3.5355339]], rtol=1e-6)


def test_a_rotation_by_hand():
    # of four units at position 2: the first two turn by 2 * 1, the others by 2 / 10000^(1/2)
    found = variants.rotate(tf.constant([[[1.0, 0.0, 0.0, 1.0]]]), tf.constant([[2]]))
    expected = [np.cos(2), np.sin(2), -np.sin(0.02), np.cos(0.02)]
    np.testing.assert_allclose(found, [[expected]], rtol=1e-6)


def test_the_product_of_turned_vectors_depends_on_their_distance_alone():
    rng = np.random.default_rng(0)
    q, k = (tf.constant(rng.normal(size=[1, 1, 6]), tf.float32) for _ in range(2))

    def product(m: int, n: int) -> float:
        turned = variants.rotate(q, tf.constant([[m]])), variants.rotate(k, tf.constant([[n]]))
        return float(tf.reduce_sum(turned[0] * turned[1]))

    assert np.isclose(product(3, 1), product(9, 7), atol=1e-5)
    assert not np.isclose(product(3, 1), product(1, 3), atol=1e-2)


def test_linear_biases_by_hand():
    q, k = tf.zeros([1, 2, 4]), tf.zeros([1, 2, 4])
    positions = tf.constant([[0, 3]])
    # The slopes of 8 heads are 1/2, 1/4, ...; of 3 heads 1/16, 1/256, and 1/4 of the 4 above 2.
    for heads, expected in {8: [1 / 2, 1 / 4, 1 / 8], 3: [1 / 16, 1 / 256, 1 / 4]}.items():
        for head, slope in enumerate(expected):
            found = variants.alibi_score(head, q, k, positions, heads)
            np.testing.assert_allclose(found, [[[0, -3 * slope], [-3 * slope, 0]]], rtol=1e-6)
        assert np.allclose(slopes(heads)[:3], expected)


@pytest.mark.parametrize("both_ways", [False, True])
def test_buckets_of_distances_by_hand(both_ways):
    # With 32 buckets for one direction: 16 exact ones; 16 * 8^(k/16) is where the k-th begins after
    # them. With 16 for each of two: 8 exact ones, and the k-th of the rest begins at 8 * 16^(k/8).
    back = {0: 0, 1: 1, 7: 7, 8: 8, 15: 15, 16: 16, 18: 16, 19: 17, 64: 26, 127: 31, 500: 31}
    if both_ways:
        back = {0: 0, 1: 1, 7: 7, 8: 8, 11: 8, 12: 9, 15: 9, 16: 10, 64: 14, 127: 15, 500: 15}
    positions = tf.constant([[500 - far for far in back] + [501]])
    table = tf.range(32, dtype=tf.float32)[:, tf.newaxis]
    zeros = tf.zeros([1, len(back) + 1, 2])
    scores = variants.t5_score(0, zeros, zeros, positions, table, both_ways)[0]
    at_500 = scores[0].numpy()  # of the query at position 500
    assert at_500[:-1].tolist() == list(back.values())
    assert at_500[-1] == (17 if both_ways else 0)  # the position after it
    layer = RelativeBias(1, both_ways)
    layer.bias_table.assign(table)
    np.testing.assert_array_equal(layer.bias(positions[0], positions[0])[0], scores)


def test_a_parallel_block_by_hand():
    found = variants.parallel_block(2.0, [lambda x: 10 * x, lambda x: 100 * x], lambda x: x + 1)
    assert found == 2 + 30 + 300


def test_locations_by_hand():
    query, W_a = tf.constant([[[2.0, 1.0]]]), tf.constant([[1.0, 0.0, 3.0], [0.0, 1.0, -1.0]])
    found = variants.location(query, tf.zeros([1, 2, 9]), W_a)
    np.testing.assert_allclose(found, [[[2, 1]]])
    found = variants.location(query, tf.zeros([1, 4, 9]), W_a)
    np.testing.assert_allclose(found, [[[2, 1, 5, tf.float32.min]]])


def test_local_attention_by_hand():
    h = tf.constant([[[1.0], [2.0], [4.0], [8.0]]])
    options = {"mask_BTS": tf.constant([[[True, True, True, False]]]), "reach": 1}
    query, even = tf.zeros([1, 1, 1]), lambda query, h: tf.zeros([1, 1, 4])
    # around 2: positions 1 and 2, since 3 is padding
    p = tf.constant([[[2.0]]])
    contexts, weights = variants.local_attention(
        query, h, score=even, p_BT1=p, predicted=False, **options
    )
    np.testing.assert_allclose(weights, [[[0, 0.5, 0.5, 0]]], rtol=1e-6)
    np.testing.assert_allclose(contexts, [[[3]]], rtol=1e-6)
    # around 1.5, sigma 1/2: exp(-0.25 / 0.5) = 0.6065307 times each half
    p = tf.constant([[[1.5]]])
    contexts, weights = variants.local_attention(
        query, h, score=even, p_BT1=p, predicted=True, **options
    )
    np.testing.assert_allclose(weights, [[[0, 0.3032653, 0.3032653, 0]]], rtol=1e-6)
    np.testing.assert_allclose(contexts, [[[6 * 0.3032653]]], rtol=1e-6)


def test_centres_of_windows_by_hand():
    lengths, t = tf.constant([[[3.0]], [[9.0]], [[0.0]]]), tf.fill([3, 1, 1], 4.0)
    np.testing.assert_allclose(variants.own_position(t, lengths)[:, 0, 0], [2, 4, 0])
    W_p, v_p = tf.constant([[1.0, 2.0]]), tf.constant([[1.0], [-1.0]])
    # 9 sigmoid(tanh(0.5) - tanh(1)) = 9 sigmoid(0.4621172 - 0.7615942) = 9 * 0.4256857
    found = variants.predicted_position(tf.constant([[[0.5]]]), tf.constant([[[9.0]]]), W_p, v_p)
    np.testing.assert_allclose(found, [[[3.8311711]]], rtol=1e-5)
