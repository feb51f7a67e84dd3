"""What other papers change in the models of `reference`, in plain TensorFlow.

Names, suffixes and "Fast" are those of `reference`.
"""

import tensorflow as tf
from tensorflow import Tensor

from seq2seq_cli.models.reference import Cell, Readout, State


def sutskever_step(y_BD: Tensor, state: State, f: Cell) -> tuple[Tensor, State]:
    """No attention: the source is in the initial state alone. Sutskever et al. (2014), section 2.

        h_t = f(h_{t-1}, y_{t-1})

    That is equation 1 with the previous word as input. Word t is predicted from h_t by an affine
    map. Returns h_t, and the next state.
    Fast: plain_decoders.SutskeverDecoder.
    """
    state = f(y_BD, state)
    return state[0], state


def cho_step(
    y_BD: Tensor, state: State, c_BD: Tensor, f: Cell, readout: Readout
) -> tuple[Tensor, State]:
    """No attention: the source is the vector c, at each step. Cho et al. (2014), section 2.2.

        h_t = f(h_{t-1}, y_{t-1}, c)                    (3)
        s_t = readout(h_t, y_{t-1}, c)                  appendix A.1.2, s' in the paper

    Word t is predicted from s_t by an affine map. Returns s_t, and the next state.
    Fast: plain_decoders.ChoDecoder.
    """
    state = f(tf.concat([y_BD, c_BD], axis=-1), state)
    return readout(state[0], y_BD, c_BD), state


def maxout_readout(s_BD: Tensor, y_BD: Tensor, c_BD: Tensor, W_o: Tensor, b_o: Tensor) -> Tensor:
    """t_i = [max(t~_{i,2j-1}, t~_{i,2j})] for j = 1 to l: Bahdanau et al. (2015), appendix A.2.2.

        t~_i = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i

    The state is the one before the word, s_{i-1}; that of Cho et al. (2014), appendix A.1.2, is the
    one after it. `W_o` holds U_o, V_o and C_o on top of each other. The papers have no bias.
    Fast: readout.Readout (kernel, bias).
    """
    t_BD = tf.concat([s_BD, y_BD, c_BD], axis=-1) @ W_o + b_o
    return tf.maximum(t_BD[:, 0::2], t_BD[:, 1::2])


def rms_norm(x: Tensor, g: Tensor, epsilon: float = 1e-6) -> Tensor:
    """a_i / RMS(a) g_i, where RMS(a) is the root of the mean of a_i^2; a for x.

    Zhang and Sennrich (2019), equation 4. The paper has no epsilon.
    Fast: normalisation.RMSNorm (gamma).
    """
    return x / tf.sqrt(tf.reduce_mean(x**2, axis=-1, keepdims=True) + epsilon) * g
