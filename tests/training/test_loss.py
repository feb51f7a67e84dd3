import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.special_tokens import PAD
from seq2seq_cli.training.loss import cross_entropy


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
