"""The papers' equations in plain TensorFlow, and nothing else.

This file has three uses. It is the place to learn how attention works: read it first, with the
papers open. `reference_variants` has variants of other papers, and `reference_training` the loss
and the optimizer. The tests compare the outputs and the gradients of the fast layers with it. `s2s
selftest` does the same with the weights of a run.

Weights have the papers' letters. "Fast" is the layer or function that training and translation use
instead, with its names for the weights in brackets; the layout is the same. Vectors are rows, so
the papers' W x is `x @ W`. Where one W multiplies [a; b], the fast layer may have a kernel for each
part. Concatenated along axis 0, the kernels are W.

Suffixes name dimensions as in `seq2seq`: B batch, S source length, T target length, D units, H
heads, V vocabulary. D stands for any width. Masks are bool, True on tokens and False on padding.
"""

import math
from collections.abc import Callable

import tensorflow as tf
from tensorflow import Tensor

Affine = tuple[Tensor, Tensor]  # W and b of W x + b
State = list[Tensor]  # [h_BD] of a GRU, [h_BD, c_BD] of an LSTM
# Functions of this file with their weights bound, as by functools.partial:
Cell = Callable[[Tensor, State], State]  # (x_BD, state) -> next state
Score = Callable[[Tensor, Tensor], Tensor]  # (query_BTD, keys_BSD) -> scores_BTS
# (query_BTD, h_BSD, mask_BTS) -> contexts_BTD and weights_BTS
Attention = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Readout = Callable[[Tensor, Tensor, Tensor], Tensor]  # (s_BD, y_BD, c_BD) -> t_BD
Layer = Callable[[Tensor], Tensor]  # x -> an output of the same shape


def gru(x_BD: Tensor, state: State, W_x: Tensor, U_h: Tensor, b_x: Tensor, b_h: Tensor) -> State:
    """One step of a gated recurrent unit: Cho et al. (2014), equations 5 to 8.

        r  = sigmoid(W_r x + U_r h)        (5)
        z  = sigmoid(W_z x + U_z h)        (6)
        h' = z * h + (1 - z) * h~          (7)
        h~ = tanh(W x + r * (U h))         (8)

    The reset gate r is applied after the product with U, as in the first version of the paper and
    in cuDNN. The last version has U (r * h). `W_x` holds W_z, W_r and W side by side; `U_h`, `b_x`
    and `b_h` have the same order. The paper has no biases.
    Fast: cells.GRUCell (kernel, recurrent_kernel, bias, recurrent_bias).
    """
    (h,) = state
    xz, xr, xn = tf.split(x_BD @ W_x + b_x, 3, axis=-1)
    hz, hr, hn = tf.split(h @ U_h + b_h, 3, axis=-1)
    r = tf.sigmoid(xr + hr)
    z = tf.sigmoid(xz + hz)
    candidate = tf.tanh(xn + r * hn)  # h~
    return [z * h + (1 - z) * candidate]


def lstm(x_BD: Tensor, state: State, W_x: Tensor, U_h: Tensor, b_x: Tensor) -> State:
    """One step of a long short-term memory: Hochreiter and Schmidhuber (1997), section 4.

        i, f, o = sigmoid(W x + U h + b)        each with its own W, U and b
        g       = tanh(W_g x + U_g h + b_g)
        c'      = f * c + i * g
        h'      = o * tanh(c')

    The forget gate f is from Gers et al. (2000), section 3. These papers call i, f, o, c and h
    y^in, y^phi, y^out, s_c and y^c. `W_x` holds W_i, W_f, W_g and W_o side by side; `U_h` and `b_x`
    have the same order.
    Fast: cells.LSTMCell (kernel, recurrent_kernel, bias).
    """
    h, c = state
    i, f, g, o = tf.split(x_BD @ W_x + h @ U_h + b_x, 4, axis=-1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return [tf.sigmoid(o) * tf.tanh(c), c]


def unroll(x_BSD: Tensor, mask_BS: Tensor, state: State, f: Cell) -> tuple[Tensor, State]:
    """h_t = f(x_t, h_{t-1}) for every t: Bahdanau et al. (2015), equation 1.

    Padding leaves the state unchanged. Returns h_BSD and the last state.
    Fast: encoder.EncoderLayer; without padding, cells.run_cell.
    """
    outputs = []
    for x_BD, mask_B in zip(tf.unstack(x_BSD, axis=1), tf.unstack(mask_BS, axis=1), strict=True):
        new = f(x_BD, state)
        state = [tf.where(mask_B[:, tf.newaxis], n, s) for n, s in zip(new, state, strict=True)]
        outputs.append(state[0])
    return tf.stack(outputs, axis=1), state


def annotations(
    x_BSD: Tensor, mask_BS: Tensor, state: State, forward: Cell, backward: Cell
) -> tuple[Tensor, State, State]:
    """h_j = [forward h_j; backward h_j]: Bahdanau et al. (2015), equation 7.

    Returns h_BSD, the backward cell's last state, which it has at the first word, and the forward
    cell's.
    Fast: encoder.EncoderLayer.
    """
    forward_BSD, end = unroll(x_BSD, mask_BS, state, forward)
    backward_BSD, last = unroll(tf.reverse(x_BSD, [1]), tf.reverse(mask_BS, [1]), state, backward)
    return tf.concat([forward_BSD, tf.reverse(backward_BSD, [1])], axis=-1), last, end


def additive(
    query_BTD: Tensor, keys_BSD: Tensor, W_a: Tensor, U_a: Tensor, b_a: Tensor, v_a: Tensor
) -> Tensor:
    """e_ij = v_a . tanh(W_a s_{i-1} + U_a h_j): Bahdanau et al. (2015), appendix A.1.2.

    The queries are s_{i-1} and the keys h_j. `v_a` is a column. The paper has no bias.
    Fast: scores.AdditiveScore (query_kernel, key_kernel, bias, scale).
    """
    query_BT1D = (query_BTD @ W_a)[:, :, tf.newaxis]
    keys_B1SD = (keys_BSD @ U_a)[:, tf.newaxis]
    return tf.tensordot(tf.tanh(query_BT1D + keys_B1SD + b_a), v_a[:, 0], axes=1)


def dot(query_BTD: Tensor, keys_BSD: Tensor) -> Tensor:
    """score(h_t, h_s) = h_t . h_s: Luong et al. (2015), section 3.1, below equation 7.

    The queries are the decoder's h_t. The keys are the encoder's h_s, with a bar in the paper.
    Fast: scores.DotScore.
    """
    return tf.einsum("btd,bsd->bts", query_BTD, keys_BSD)


def general(query_BTD: Tensor, keys_BSD: Tensor, W_a: Tensor) -> Tensor:
    """score(h_t, h_s) = h_t . W_a h_s: Luong et al. (2015), as `dot`.

    Fast: scores.GeneralScore (kernel).
    """
    return dot(query_BTD, keys_BSD @ W_a)


def concat(query_BTD: Tensor, keys_BSD: Tensor, W_a: Tensor, v_a: Tensor) -> Tensor:
    """score(h_t, h_s) = v_a . tanh(W_a [h_t; h_s]): Luong et al. (2015), as `dot`.

    Fast: scores.AdditiveScore without a bias (query_kernel and key_kernel, scale).
    """
    query_BTSD = tf.repeat(query_BTD[:, :, tf.newaxis], keys_BSD.shape[1], axis=2)
    keys_BTSD = tf.repeat(keys_BSD[:, tf.newaxis], query_BTD.shape[1], axis=1)
    pairs_BTSD = tf.concat([query_BTSD, keys_BTSD], axis=-1)
    return tf.tensordot(tf.tanh(tf.tensordot(pairs_BTSD, W_a, axes=1)), v_a[:, 0], axes=1)


def scaled_dot(query_BTD: Tensor, keys_BSD: Tensor) -> Tensor:
    """Q K^T / sqrt(d_k): Vaswani et al. (2017), equation 1; d_k is the width of a key.

    Fast: scores.DotScore(scaled=True).
    """
    return dot(query_BTD, keys_BSD) / math.sqrt(keys_BSD.shape[-1])


def attend(scores_BTS: Tensor, values_BSD: Tensor, mask_BTS: Tensor) -> tuple[Tensor, Tensor]:
    """Return contexts_BTD and weights_BTS, given scores e and values h.

        alpha_ij = exp(e_ij) / sum_k exp(e_ik)      Bahdanau et al. (2015), equation 6
        c_i      = sum_j alpha_ij h_j               equation 5

    Luong et al. (2015), equation 7, call the weights a_t(s). Vaswani et al. (2017), equation 1,
    write the contexts as softmax(e) V. Both sums are over the positions where the mask is True; it
    may broadcast. A query that may see no position gets zeros.
    Fast: attention.attention_weights and attend,
    multi_head_attention.scaled_dot_product_attention.
    """
    weights_BTS = tf.nn.softmax(tf.where(mask_BTS, scores_BTS, scores_BTS.dtype.min))
    weights_BTS = tf.where(mask_BTS, weights_BTS, 0)
    return tf.einsum("bts,bsd->btd", weights_BTS, values_BSD), weights_BTS


def global_attention(
    query_BTD: Tensor, h_BSD: Tensor, mask_BTS: Tensor, score: Score
) -> tuple[Tensor, Tensor]:
    """Attention over the whole source, as `attend`, given the score and what it compares."""
    return attend(score(query_BTD, h_BSD), h_BSD, mask_BTS)


def tanh_readout(s_BD: Tensor, y_BD: Tensor, c_BD: Tensor, W_t: Tensor, b_t: Tensor) -> Tensor:
    """tanh(W_t [s; y; c] + b_t), where Bahdanau et al. (2015) have `maxout_readout`.

    Fast: readout.Readout (kernel, bias).
    """
    return tf.tanh(tf.concat([s_BD, y_BD, c_BD], axis=-1) @ W_t + b_t)


def bahdanau_step(
    y_BD: Tensor,
    state: State,
    h_BSD: Tensor,
    mask_BS: Tensor,
    f: Cell,
    attention: Attention,
    readout: Readout,
) -> tuple[Tensor, Tensor, State]:
    """The previous state is the query: Bahdanau et al. (2015), section 3.1.

        c_i, alpha_i = attention(s_{i-1}, h)
        s_i          = f(s_{i-1}, [y_{i-1}; c_i])
        t_i          = readout(s_i, y_{i-1}, c_i)

    y_{i-1} is the embedded previous word, and the h_j are the source's `annotations`. Word i is
    predicted from t_i by an affine map.
    Returns t_i, alpha_i and s_i.
    Fast: decoders.BahdanauDecoder (f has the cell's kernel and context_kernel).
    """
    query_BTD = state[0][:, tf.newaxis]  # T = 1
    c_BTD, alpha_BTS = attention(query_BTD, h_BSD, mask_BS[:, tf.newaxis])
    state = f(tf.concat([y_BD, c_BTD[:, 0]], axis=-1), state)
    return readout(state[0], y_BD, c_BTD[:, 0]), alpha_BTS[:, 0], state


def luong_step(
    y_BD: Tensor,
    state: State,
    h_BSD: Tensor,
    mask_BS: Tensor,
    f: Cell,
    attention: Attention,
    W_c: Tensor,
    fed_BD: Tensor | None = None,
) -> tuple[Tensor, Tensor, State]:
    """The new state is the query: Luong et al. (2015), section 3.

        h_t      = f(h_{t-1}, [y_{t-1}; h~_{t-1}])  without input feeding f(h_{t-1}, y_{t-1})
        c_t, a_t = attention(h_t, h_s)              (7)
        h~_t     = tanh(W_c [c_t; h_t])             (5)

    y_{t-1} is the embedded previous word, and `h_BSD` holds the encoder's states h_s. `fed_BD` is
    h~_{t-1}, which begins at 0, or None without input feeding (section 3.3). Word t is predicted
    from h~_t by an affine map (6).
    Returns h~_t, a_t and h_t.
    Fast: decoders.LuongDecoder (attentional_kernel; f has the cell's kernel and feed_kernel).
    """
    state = f(y_BD if fed_BD is None else tf.concat([y_BD, fed_BD], axis=-1), state)
    query_BTD = state[0][:, tf.newaxis]  # T = 1
    c_BTD, a_BTS = attention(query_BTD, h_BSD, mask_BS[:, tf.newaxis])
    return tf.tanh(tf.concat([c_BTD[:, 0], state[0]], axis=-1) @ W_c), a_BTS[:, 0], state


def multi_head_attention(
    Q_BTD: Tensor, K_BSD: Tensor, V_BSD: Tensor, mask_BTS: Tensor, heads: int, W_QKVO: list[Affine]
) -> tuple[Tensor, Tensor]:
    """Return outputs_BTD and weights_BHTS: Vaswani et al. (2017), section 3.2.2.

        MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
        head_i             = Attention(Q W_i^Q, K W_i^K, V W_i^V)

    `W_QKVO` is the list of W^Q, W^K, W^V and W^O. W^Q holds the W_i^Q side by side, and so on. The
    paper has no biases.
    Fast: multi_head_attention.MultiHeadAttention ({query,key,value,output}_{kernel,bias}).
    """
    *W_QKV, (W_O, b_O) = W_QKVO
    by_head = [
        tf.split(x @ W_i + b_i, heads, axis=-1)
        for x, (W_i, b_i) in zip([Q_BTD, K_BSD, V_BSD], W_QKV, strict=True)
    ]
    attended = [attend(scaled_dot(q, k), v, mask_BTS) for q, k, v in zip(*by_head, strict=True)]
    outputs, weights = zip(*attended, strict=True)
    return tf.concat(outputs, axis=-1) @ W_O + b_O, tf.stack(weights, axis=1)


def layer_norm(x: Tensor, g: Tensor, b: Tensor, epsilon: float = 1e-6) -> Tensor:
    """LN(x) = g * (x - mu) / sigma + b: Ba et al. (2016), equations 3 and 4, with a for x.

    The paper has no epsilon.
    Fast: normalisation.LayerNorm (gamma, beta).
    """
    mu = tf.reduce_mean(x, axis=-1, keepdims=True)
    sigma = tf.sqrt(tf.reduce_mean((x - mu) ** 2, axis=-1, keepdims=True) + epsilon)
    return g * (x - mu) / sigma + b


def feed_forward(
    x: Tensor, first: Affine, second: Affine, activation: str = "relu", gate: Affine | None = None
) -> Tensor:
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2: Vaswani et al. (2017), equation 2.

        relu      f(x) = max(0, x)
        gelu      f(x) = x Phi(x): Hendrycks and Gimpel (2016), section 2
        swiglu    f(x) = x sigmoid(x), and f(x W_1 + b_1) is multiplied by the gate x V + c:
                  Shazeer (2020), equation 6, which has no biases

    (W_1, b_1) is `first`, (W_2, b_2) is `second` and (V, c) is `gate`.
    Fast: feed_forward.FeedForward ({inner,output,gate}_{kernel,bias}).
    """
    inner = x @ first[0] + first[1]
    if activation == "relu":
        inner = tf.maximum(inner, 0)
    elif activation == "gelu":
        inner = inner * (1 + tf.math.erf(inner / math.sqrt(2))) / 2
    else:
        inner = inner * tf.sigmoid(inner)
    if gate is not None:
        inner = inner * (x @ gate[0] + gate[1])
    return inner @ second[0] + second[1]


def causal_mask(length: int) -> Tensor:
    """Return mask_1TT, which hides later positions: Vaswani et al. (2017), section 3.2.3."""
    position_T = tf.range(length)
    return (position_T <= position_T[:, tf.newaxis])[tf.newaxis]


def block(x: Tensor, sublayers: list[Layer], norms: list[Layer], pre: bool) -> Tensor:
    """One layer of an encoder or a decoder: Vaswani et al. (2017), section 3.1.

        post-norm    x' = LayerNorm(x + Sublayer(x))
        pre-norm     x' = x + Sublayer(LayerNorm(x)): Xiong et al. (2020), table 1

    An encoder's sublayers are multi-head attention to x itself and a feed-forward network. A
    decoder's are attention to x under `causal_mask`, attention to the encoder's outputs and a
    feed-forward network. After the last layer of a pre-norm stack comes one more LayerNorm.
    Fast: blocks.Block.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = x + sublayer(norm(x)) if pre else norm(x + sublayer(x))
    return x


def sinusoidal_positions(positions: Tensor, units: int) -> Tensor:
    """Return PE(pos) for positions that count from 0: Vaswani et al. (2017), section 3.5.

        PE(pos, i) = sin(pos / 10000^(i / (d/2 - 1))) and PE(pos, d/2 + i) the cosine, i < d/2

    In the paper sines and cosines alternate, and the exponent is i / (d/2). The form here is that
    of its authors' code, except that pos is the position plus 1, as in OpenNMT.
    Fast: embeddings.Positions.
    """
    i = tf.range(units // 2, dtype=tf.float32)
    pos = tf.cast(positions, tf.float32)[..., tf.newaxis] + 1
    angles = pos / 10_000 ** (i / (units // 2 - 1))
    return tf.concat([tf.sin(angles), tf.cos(angles)], axis=-1)
