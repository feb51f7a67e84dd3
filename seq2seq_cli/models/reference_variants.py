"""What other papers change in the models of `reference`, in plain TensorFlow.

Names, suffixes and "Fast" are those of `reference`.
"""

from collections.abc import Callable

import tensorflow as tf
from tensorflow import Tensor

from seq2seq_cli.models.reference import Cell, State

Readout = Callable[[Tensor, Tensor, Tensor], Tensor]  # (s_BD, y_BD, c_BD) -> t_BD


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


def tanh_readout(s_BD: Tensor, y_BD: Tensor, c_BD: Tensor, W_t: Tensor, b_t: Tensor) -> Tensor:
    """t = tanh(W_t [s; y; c] + b_t), where the papers have a maxout.

    Fast: readout.Readout (kernel, bias).
    """
    return tf.tanh(tf.concat([s_BD, y_BD, c_BD], axis=-1) @ W_t + b_t)
