"""Layers of the encoder that are left out in some updates."""

import numpy as np
import pytest
import tensorflow as tf
from small_models import small_transformer

from seq2seq_cli.models.ops.compute import computing

SOURCE = tf.constant([[5, 6, 7, 3], [8, 9, 3, 0]])


def encoded(model, update: int, training: bool) -> np.ndarray:
    model.dropout_key.set(0, update)
    return model.encode(SOURCE, training=training)["keys_0"].numpy()


def test_each_layer_is_dropped_at_its_rate():
    def outputs(layers: list[int]) -> np.ndarray:
        model = small_transformer(encoder_layers=2)
        model.encoder = [model.encoder[i] for i in layers]
        model.layer_drops = [model.layer_drops[i] for i in layers]
        return encoded(model, 0, training=False)

    model = small_transformer(encoder_layers=2, encoder_layer_drop=0.25)
    possible = [outputs(layers) for layers in ([0, 1], [0], [1], [])]
    encode = tf.function(lambda: model.encode(SOURCE, training=True)["keys_0"], autograph=False)
    counts = [0, 0, 0, 0]
    for update in range(100):
        model.dropout_key.set(0, update)
        found = encode().numpy()
        same = [np.allclose(found, each, atol=1e-6) for each in possible]
        assert sum(same) == 1
        counts[same.index(True)] += 1
        np.testing.assert_array_equal(encode(), found)
    for count, share in zip(counts, (9 / 16, 3 / 16, 3 / 16, 1 / 16), strict=True):
        assert abs(count / 100 - share) < 0.15


def test_no_layer_is_dropped_in_translation():
    plain = encoded(small_transformer(encoder_layers=2), 0, training=False)
    model = small_transformer(encoder_layers=2, encoder_layer_drop=0.9)
    for update in range(5):
        np.testing.assert_array_equal(encoded(model, update, training=False), plain)


@pytest.mark.parametrize("fuse", [False, True])
def test_dropped_layers_have_no_gradient_in_graphs(fuse: bool):
    model = small_transformer(encoder_layers=1, encoder_layer_drop=0.5, dropout=0.2)
    kernel = model.encoder[0].feed_forward.inner_kernel

    @tf.function(autograph=False)
    def gradient() -> tf.Tensor:
        with computing(fuse=fuse):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model.encode(SOURCE, training=True)["keys_0"] ** 2)
            return tape.gradient(loss, kernel.value)

    is_left_out = []
    for update in range(20):
        model.dropout_key.set(0, update)
        is_left_out.append(not np.any(gradient()))
    assert 0 < sum(is_left_out) < 20
