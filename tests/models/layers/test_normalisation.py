import keras
import numpy as np
import pytest
import tensorflow as tf

from seq2seq_cli.models.layers.normalisation import LayerNorm, RMSNorm
from seq2seq_cli.models.ops.layer_norm import EPSILON

ORACLES = {LayerNorm: keras.layers.LayerNormalization, RMSNorm: keras.layers.RMSNormalization}


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_normalisations_and_their_gradients_equal_keras(shape, kind):
    rng = np.random.default_rng(0)
    layer = kind(4)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.5))
    oracle = ORACLES[kind](epsilon=EPSILON)
    oracle.build((None, 4))
    oracle.set_weights([w.numpy() for w in layer.trainable_variables])
    inputs = tf.random.stateless_normal(shape, [1, 2], mean=3.0)
    found = []
    for norm in (layer, oracle):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = norm(inputs)
            loss = tf.reduce_sum(tf.sin(outputs))
        found.append([outputs, *tape.gradient(loss, [inputs, *norm.trainable_variables])])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
