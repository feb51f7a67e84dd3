import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.training.adam import Adam


@pytest.mark.parametrize("xla", [False, True])
def test_adam_is_that_of_keras(xla):
    arguments = {"learning_rate": 0.1, "beta_2": 0.98, "epsilon": 1e-9}
    states = []
    for make in (Adam, keras.optimizers.Adam):
        weights = [keras.Variable(np.ones([3, 2], np.float32)), keras.Variable(np.float32(2))]
        optimizer = make(**arguments)
        optimizer.build(weights)
        apply = tf.function(optimizer.apply, jit_compile=xla)
        rng = np.random.default_rng(0)
        for _ in range(5):
            apply([tf.constant(rng.normal(size=w.shape), tf.float32) for w in weights])
        states.append([*weights, *optimizer.variables])
    for ours, theirs in zip(*states, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
