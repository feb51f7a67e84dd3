"""The plain form of what other papers change, by hand and against Keras."""

import numpy as np
import tensorflow as tf

from seq2seq_cli.models import reference_variants as variants


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
