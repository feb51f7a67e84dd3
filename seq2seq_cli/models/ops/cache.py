"""Keys and values that are stored between decoding steps, and attention to them."""

from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.models.ops.products import grouped_matmul
from seq2seq_cli.models.ops.softmax import masked_softmax


class KeysValues(NamedTuple):
    """Projected keys and values, by heads.

    Attributes:
        keys_BHSD, values_BHSD: of equal shape; S is the capacity if they are a cache.
    """

    keys_BHSD: tf.Tensor
    values_BHSD: tf.Tensor

    @classmethod
    def empty(cls, shape_BHSD: list, dtype: tf.DType) -> "KeysValues":
        """Return a cache of zeros that no other tensor shares memory with.

        TensorFlow may merge two equal tensors that tf.zeros returns. Writing to one in place would
        then change the other.
        """
        empty = (tf.raw_ops.Empty(shape=shape_BHSD, dtype=dtype, init=True) for _ in cls._fields)
        return cls(*empty)

    def write(self, new: "KeysValues", position: tf.Tensor, in_place: bool = False) -> "KeysValues":
        """Return this cache with `new`, keys_BHD and values_BHD, at `position`.

        With `in_place` it is the same memory, and this cache must not be used again. XLA ignores
        `in_place`.
        """
        batch, heads, length, _ = tf.unstack(tf.shape(self.keys_BHSD))
        indices_X = tf.range(batch * heads) * length + position
        pairs = zip(self, new, strict=True)
        return KeysValues(*(_write(old, indices_X, new, in_place) for old, new in pairs))

    def grow(self, capacity: tf.Tensor) -> "KeysValues":
        """Return this cache, padded to `capacity` positions, at least as many as it has."""
        more = [[0, 0], [0, 0], [0, capacity - tf.shape(self.keys_BHSD)[2]], [0, 0]]
        return KeysValues(*(tf.pad(tensor, more) for tensor in self))

    def join(self, later: "KeysValues") -> "KeysValues":
        """Return these followed by `later`."""
        return KeysValues(*(tf.concat(pair, axis=2) for pair in zip(self, later, strict=True)))


def _write(
    old_BHSD: tf.Tensor, indices_X: tf.Tensor, new_BHD: tf.Tensor, in_place: bool
) -> tf.Tensor:
    """Write vectors at indices of B, H and S as one axis."""
    width = old_BHSD.shape[3]
    old_XD, new_XD = tf.reshape(old_BHSD, [-1, width]), tf.reshape(new_BHD, [-1, width])
    if in_place:
        written_XD = tf.raw_ops.InplaceUpdate(x=old_XD, i=indices_X, v=new_XD)
    else:
        written_XD = tf.tensor_scatter_nd_update(old_XD, indices_X[:, tf.newaxis], new_XD)
    return tf.reshape(written_XD, tf.shape(old_BHSD))


def attend_step(
    query_RHD: tf.Tensor,
    mask_RX: tf.Tensor,
    shared: KeysValues | None = None,
    own: KeysValues | None = None,
    bias_RHX: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return softmax(q k / sqrt(D)) v for one query of each of R = B K rows, by heads.

    Args:
        query_RHD: the queries, by heads. Keys and values may have fewer; see `grouped_matmul`.
        mask_RX: bool, False where a key is not to be seen: first the shared ones, then the row's
            own. R may be 1.
        shared: keys and values of B sentences. The K rows of a sentence stand next to each other
            and attend to the same, which is never repeated in memory.
        own: keys and values of each row.
        bias_RHX: float32, added to the scores; R may be 1. None for no bias.

    Returns:
        outputs_RHD, and float32 weights_RHX. With both, attention is over all keys together.
    """
    query_RHD *= query_RHD.shape[2] ** -0.5
    scores, shared_length = [], 0
    if shared is not None:
        batch, shared_length = tf.shape(shared.keys_BHSD)[0], tf.shape(shared.keys_BHSD)[2]
        query_BHKD = _by_sentence(query_RHD, batch)
        scores_BHKS = grouped_matmul(query_BHKD, shared.keys_BHSD, transpose_b=True)
        scores.append(_by_row(tf.cast(scores_BHKS, tf.float32)))
    if own is not None:
        query_RH1D = query_RHD[:, :, tf.newaxis]
        scores_RH1S = grouped_matmul(query_RH1D, own.keys_BHSD, transpose_b=True)
        scores.append(tf.cast(tf.squeeze(scores_RH1S, 2), tf.float32))
    scores_RHX = scores[0] if len(scores) == 1 else tf.concat(scores, axis=2)
    if bias_RHX is not None:
        scores_RHX += bias_RHX
    weights_RHX = masked_softmax(scores_RHX, mask_RX[:, tf.newaxis])
    outputs = []
    if shared is not None:
        values_BHSD = shared.values_BHSD
        weights_RHS = tf.cast(weights_RHX[:, :, :shared_length], values_BHSD.dtype)
        outputs.append(_by_row(grouped_matmul(_by_sentence(weights_RHS, batch), values_BHSD)))
    if own is not None:
        weights_RHS = tf.cast(weights_RHX[:, :, shared_length:], own.values_BHSD.dtype)
        outputs_RH1D = grouped_matmul(weights_RHS[:, :, tf.newaxis], own.values_BHSD)
        outputs.append(tf.squeeze(outputs_RH1D, 2))
    return outputs[0] if len(outputs) == 1 else tf.add_n(outputs), weights_RHX


def _by_sentence(x_RHD: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
    """Return x_BHKD, the K rows of each sentence together."""
    shape = [batch, -1, x_RHD.shape[1], x_RHD.shape[2] or tf.shape(x_RHD)[2]]
    return tf.transpose(tf.reshape(x_RHD, shape), [0, 2, 1, 3])


def _by_row(x_BHKD: tf.Tensor) -> tf.Tensor:
    """Return x_RHD, the inverse of `_by_sentence`."""
    shape = [-1, x_BHKD.shape[1], x_BHKD.shape[3] or tf.shape(x_BHKD)[3]]
    return tf.reshape(tf.transpose(x_BHKD, [0, 2, 1, 3]), shape)
