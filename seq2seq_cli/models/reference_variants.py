"""Variants of the models of `reference` from other papers, in plain TensorFlow.

Names, suffixes and "Fast" are those of `reference`.
"""

import math
from collections.abc import Callable

import tensorflow as tf
from tensorflow import Tensor

from seq2seq_cli.models.reference import (
    Affine,
    Cell,
    Layer,
    Readout,
    Score,
    State,
    attend,
    scaled_dot,
)

HeadScore = Callable[[int, Tensor, Tensor], Tensor]  # (head, q_BTD, k_BSD) -> scores_BTS


def sutskever_step(y_BD: Tensor, state: State, f: Cell) -> tuple[Tensor, State]:
    """No attention: only the initial state holds the source. Sutskever et al. (2014), section 2.

        h_t = f(h_{t-1}, y_{t-1})

    That is the unnumbered recurrence of section 2, with the previous word as input. Word t is
    predicted from h_t by an affine map. Returns h_t, and the next state.
    Fast: plain_decoders.SutskeverDecoder.
    """
    state = f(y_BD, state)
    return state[0], state


def cho_step(
    y_BD: Tensor, state: State, c_BD: Tensor, f: Cell, readout: Readout
) -> tuple[Tensor, State]:
    """No attention: each step reads the source as a vector c. Cho et al. (2014), section 2.2.

        h_t = f(h_{t-1}, y_{t-1}, c)                    section 2.2, without a number
        s_t = readout(h_t, y_{t-1}, c)                  appendix A.1.2, s in the paper

    Word t is predicted from s_t by an affine map. Returns s_t, and the next state. In the appendix,
    the reset gate also multiplies C c, and c is tanh(V h_N); here f reads c beside the word, and c
    has no layer of its own.
    Fast: plain_decoders.ChoDecoder.
    """
    state = f(tf.concat([y_BD, c_BD], axis=-1), state)
    return readout(state[0], y_BD, c_BD), state


def maxout_readout(s_BD: Tensor, y_BD: Tensor, c_BD: Tensor, W_o: Tensor, b_o: Tensor) -> Tensor:
    """t_i = [max(t~_{i,2j-1}, t~_{i,2j})] for j = 1 to l: Bahdanau et al. (2015), appendix A.2.2.

        t~_i = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i

    The readout reads the state before the word, s_{i-1}. That of Cho et al. (2014), appendix A.1.2,
    reads the state after it. `W_o` stacks U_o, V_o and C_o. The papers have no bias.
    Fast: readout.Readout (kernel, bias).
    """
    t_BD = tf.concat([s_BD, y_BD, c_BD], axis=-1) @ W_o + b_o
    return tf.maximum(t_BD[:, 0::2], t_BD[:, 1::2])


def location(query_BTD: Tensor, keys_BSD: Tensor, W_a: Tensor) -> Tensor:
    """a_t = softmax(W_a h_t): Luong et al. (2015), equation 8. Returns the scores W_a h_t.

    W_a has a row for each position. A shorter source uses the first rows. Later positions of a
    longer source are ignored.
    Fast: scores.LocationScore (query_kernel).
    """
    scores_BTP, length = query_BTD @ W_a, keys_BSD.shape[1]
    after = max(0, length - scores_BTP.shape[2])
    ignored = tf.fill([*scores_BTP.shape[:2], after], scores_BTP.dtype.min)
    return tf.concat([scores_BTP, ignored], axis=2)[:, :, :length]


def local_attention(
    query_BTD: Tensor,
    h_BSD: Tensor,
    mask_BTS: Tensor,
    score: Score,
    reach: int,
    p_BT1: Tensor,
    predicted: bool,
) -> tuple[Tensor, Tensor]:
    """Return contexts_BTD and a_BTS of a window [p_t - D, p_t + D]: Luong et al. (2015), 3.2.

        a_t(s) = align(h_t, h_s)                                                    local-m
        a_t(s) = align(h_t, h_s) exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D/2       (10), local-p

    D is `reach`, align is the softmax over the window, and s counts from 0. The centre p_t is
    `own_position` or `predicted_position`.
    Fast: local_attention.Window.
    """
    s_S = tf.range(h_BSD.shape[1], dtype=tf.float32)
    window_BTS = mask_BTS & (tf.abs(s_S - p_BT1) <= reach)
    contexts_BTD, a_BTS = attend(score(query_BTD, h_BSD), h_BSD, window_BTS)
    if predicted:
        a_BTS = a_BTS * tf.exp(-((s_S - p_BT1) ** 2) / (2 * (reach / 2) ** 2))
        contexts_BTD = tf.einsum("bts,bsd->btd", a_BTS, h_BSD)
    return contexts_BTD, a_BTS


def own_position(t_BT1: Tensor, S_B11: Tensor) -> Tensor:
    """p_t = t: Luong et al. (2015), section 3.2, local-m. Here it is at most the last position.

    Fast: local_attention.MonotonicWindow.
    """
    return tf.minimum(t_BT1, tf.maximum(S_B11 - 1, 0))


def predicted_position(h_BTD: Tensor, S_B11: Tensor, W_p: Tensor, v_p: Tensor) -> Tensor:
    """p_t = S sigmoid(v_p . tanh(W_p h_t)): Luong et al. (2015), equation 9, local-p.

    `v_p` is a column. S is the source's length.
    Fast: local_attention.PredictiveWindow (kernel, scale).
    """
    return S_B11 * tf.sigmoid(tf.tanh(h_BTD @ W_p) @ v_p)


def rms_norm(x: Tensor, g: Tensor, epsilon: float = 1e-6) -> Tensor:
    """a_i / RMS(a) g_i, where RMS(a) is the root of the mean of a_i^2. The code writes x for a.

    Zhang and Sennrich (2019), equation 4. The paper has no epsilon.
    Fast: normalisation.RMSNorm (gamma).
    """
    return x / tf.sqrt(tf.reduce_mean(x**2, axis=-1, keepdims=True) + epsilon) * g


def multi_head_attention(
    Q_BTD: Tensor,
    K_BSD: Tensor,
    V_BSD: Tensor,
    mask_BTS: Tensor,
    heads: int,
    W_QKVO: list[Affine],
    score: HeadScore,
    groups: int,
) -> tuple[Tensor, Tensor]:
    """Grouped-query attention: Ainslie et al. (2023), section 2.2.

        head_i = Attention(Q W_i^Q, K W_g^K, V W_g^V)       g = floor(i / (heads / groups)), from 0

    There are `groups` sets of keys and values; heads / groups heads share each set. With as many
    groups as heads this is `reference.multi_head_attention`, with one group multi-query attention
    (Shazeer 2019). The score may depend on the head.
    Fast: multi_head_attention.MultiHeadAttention (key_value_heads).
    """
    *W_QKV, (W_O, b_O) = W_QKVO
    queries, keys, values = (
        tf.split(x @ W_i + b_i, number, axis=-1)
        for x, (W_i, b_i), number in zip(
            [Q_BTD, K_BSD, V_BSD], W_QKV, [heads, groups, groups], strict=True
        )
    )
    group = [i // (heads // groups) for i in range(heads)]
    attended = [
        attend(score(i, q, keys[g]), values[g], mask_BTS)
        for i, (q, g) in enumerate(zip(queries, group, strict=True))
    ]
    outputs, weights = zip(*attended, strict=True)
    return tf.concat(outputs, axis=-1) @ W_O + b_O, tf.stack(weights, axis=1)


def plain_score(head: int, q_BTD: Tensor, k_BSD: Tensor) -> Tensor:
    """Return the score that is the same for each head: `reference.scaled_dot`."""
    del head
    return scaled_dot(q_BTD, k_BSD)


def rotate(x_BTD: Tensor, m_BT: Tensor) -> Tensor:
    """Return R_m x, which turns the i-th pair of units by m theta_i: Su et al. (2021), equation 34.

        theta_i = 10000^(-2 (i - 1) / d)                equation 15, i from 1

    m is the position of a vector, counted from 0.
    """
    units = x_BTD.shape[-1]
    turned = []
    for i in range(units // 2):
        angle_BT = tf.cast(m_BT, tf.float32) * 10_000 ** (-2 * i / units)
        a, b = x_BTD[..., 2 * i], x_BTD[..., 2 * i + 1]
        turned.append(a * tf.cos(angle_BT) - b * tf.sin(angle_BT))
        turned.append(b * tf.cos(angle_BT) + a * tf.sin(angle_BT))
    return tf.stack(turned, axis=-1)


def rotary_score(head: int, q_BTD: Tensor, k_BSD: Tensor, positions_BT: Tensor) -> Tensor:
    """q_m . k_n = (R_m W_q x_m) . (R_n W_k x_n): Su et al. (2021), equation 16, scaled as usual.

    Queries and keys have the same positions.
    Fast: relative_positions.RotaryPositions.
    """
    del head
    return scaled_dot(rotate(q_BTD, positions_BT), rotate(k_BSD, positions_BT))


def alibi_score(
    head: int, q_BTD: Tensor, k_BSD: Tensor, positions_BT: Tensor, heads: int
) -> Tensor:
    """q_i K^T + m [-(i - 1), ..., -1, 0]: Press et al. (2022), section 3, scaled as usual.

    The slope m of the h-th of n heads is 2^(-8 h / n). If n is not a power of 2, the authors' code
    uses the slopes for the next lower power of 2, then every other slope for the next higher one.
    The paper has causal attention. Here |i - j| is the distance in both directions.
    Fast: relative_positions.LinearBias.
    """
    below = 2 ** math.floor(math.log2(heads))
    if head < below:
        m = 2 ** (-8 * (head + 1) / below)
    else:
        m = 2 ** (-8 * (2 * (head - below) + 1) / (2 * below))
    i_BT1, j_B1S = positions_BT[:, :, tf.newaxis], positions_BT[:, tf.newaxis]
    return scaled_dot(q_BTD, k_BSD) - m * tf.cast(tf.abs(i_BT1 - j_B1S), tf.float32)


def t5_score(
    head: int, q_BTD: Tensor, k_BSD: Tensor, positions_BT: Tensor, b: Tensor, both_ways: bool
) -> Tensor:
    """q_i . k_j + b[bucket(j - i)]: Raffel et al. (2020), section 2.1, scaled as usual.

    `b` has a row for each bucket and a column for each head. The buckets are those of the authors'
    code: with n buckets per direction, each distance below n / 2 has its own bucket, and

        bucket(far) = n/2 + log(far / (n/2)) / log(128 / (n/2)) * n/2    at most n - 1

    Fast: relative_positions.RelativeBias (bias_table).
    """
    distance_BTS = positions_BT[:, tf.newaxis] - positions_BT[:, :, tf.newaxis]
    n = b.shape[0] // 2 if both_ways else b.shape[0]
    far = tf.cast(tf.abs(distance_BTS), tf.float64)
    grown = tf.math.log(tf.maximum(far, 1) / (n / 2)) / math.log(128 / (n / 2)) * n / 2 + n / 2
    bucket = tf.where(far < n / 2, far, tf.minimum(grown + 1e-9, n - 1))  # 1e-9: for rounding
    bucket_BTS = tf.cast(bucket, tf.int32)
    ahead = n if both_ways else -bucket_BTS  # one way, later keys get the bucket of distance 0
    bucket_BTS = tf.where(distance_BTS > 0, bucket_BTS + ahead, bucket_BTS)
    return scaled_dot(q_BTD, k_BSD) + tf.gather(tf.convert_to_tensor(b)[:, head], bucket_BTS)


def parallel_block(x: Tensor, sublayers: list[Layer], norm: Layer) -> Tensor:
    """Return x + MLP(LayerNorm(x)) + Attention(LayerNorm(x)): Chowdhery et al. (2022), section 2.

    GPT-J has the same form. A decoder's cross-attention is a third term. The paper's decoders have
    none.
    Fast: blocks.side_by_side.
    """
    normal = norm(x)
    return tf.add_n([x, *(sublayer(normal) for sublayer in sublayers)])
