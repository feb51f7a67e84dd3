import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.special_tokens import EOS, PAD
from seq2seq_cli.training.loss import cross_entropy, non_padding_indices


@pytest.mark.parametrize("vocabulary", [11, 64, 263])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_equals_keras(vocabulary, smoothing):
    rng = np.random.default_rng(0)
    # Their exponentials overflow float32, unless the maximum is subtracted first.
    logits = tf.constant(rng.normal(scale=100, size=(3, 5, vocabulary)), tf.float32)
    labels = tf.constant(rng.integers(1, vocabulary, size=(3, 5)))
    labels *= tf.sequence_mask([5, 2, 3], 5, labels.dtype)
    oracle = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=smoothing, reduction="none"
    )
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(logits)
        total, tokens = cross_entropy(logits, labels, smoothing)
        each = oracle(tf.one_hot(labels, vocabulary), logits)
        expected = tf.reduce_sum(each[labels != PAD])
    assert tokens == 10
    np.testing.assert_allclose(total, expected, rtol=1e-5)
    gradients = (tape.gradient(x, logits) for x in (total, expected))
    np.testing.assert_allclose(*gradients, atol=2e-5)


@pytest.mark.parametrize(("real", "found"), [(0, 0), (1, 128), (128, 128), (129, 256), (300, 300)])
def test_predictions_are_made_where_labels_are_real_and_few_others(real, found):
    labels = np.full(300, PAD, np.int32)
    labels[np.random.default_rng(0).permutation(300)[:real]] = EOS
    labels = labels.reshape(20, 15)
    indices = non_padding_indices(tf.constant(labels)).numpy()
    assert len(indices) == len(set(indices)) == found
    assert (labels.ravel()[indices[:real]] == EOS).all()
