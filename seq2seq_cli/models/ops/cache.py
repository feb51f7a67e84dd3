"""Keys and values that are kept from one decoding step to the next, and attention to them."""

from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.models.ops.products import batched_matmul
from seq2seq_cli.models.ops.softmax import masked_softmax


class KeysValues(NamedTuple):
    """Projected keys and values, by heads.

    keys_BHSD, values_BHSD: of equal shape; S is the capacity where they are a cache.
    """

    keys_BHSD: tf.Tensor
    values_BHSD: tf.Tensor

    @classmethod
    def empty(cls, shape_BHSD: list, dtype: tf.DType) -> "KeysValues":
        """Return a cache of zeros that no other tensor shares memory with.

        TensorFlow may make one tensor of two equal ones that tf.zeros returns. To write into one in
        place would change the other.
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
        """Return this cache with at least its own capacity."""
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
    query_RHD: tf.Tensor, *seen: tuple[KeysValues, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return softmax(q k / sqrt(D)) v for a query of each of R rows, by heads.

    The rows may share keys and values: with those of B sentences, R / B rows that stand next to
    each other attend to the same. They are never repeated in memory.

    Args:
        query_RHD: the queries, by heads.
        seen: keys and values with the bool mask_BS or mask_1S of those to attend to. Attention is
            over all of them together.

    Returns:
        outputs_RHD, and float32 weights_RHS over all keys, one group after the other.
    """
    rows = tf.shape(query_RHD)[0]
    query_RHD *= query_RHD.shape[2] ** -0.5
    scores, masks = [], []
    for (keys_BHSD, _), mask_BS in seen:
        batch, length = tf.shape(keys_BHSD)[0], tf.shape(keys_BHSD)[2]
        query_BHKD = _by_sentence(query_RHD, batch)
        scores_BHKS = batched_matmul(query_BHKD, keys_BHSD, transpose_b=True)
        scores.append(_by_row(tf.cast(scores_BHKS, tf.float32)))
        mask_RS = tf.repeat(mask_BS, rows // tf.maximum(batch, 1), axis=0)
        masks.append(tf.broadcast_to(mask_RS, [rows, length])[:, tf.newaxis])
    weights_RHS = masked_softmax(tf.concat(scores, axis=2), tf.concat(masks, axis=2))
    outputs, begin = [], 0
    for ((_, values_BHSD), _), scores_RHS in zip(seen, scores, strict=True):
        end = begin + tf.shape(scores_RHS)[2]
        own_RHS = tf.cast(weights_RHS[:, :, begin:end], values_BHSD.dtype)
        weights_BHKS = _by_sentence(own_RHS, tf.shape(values_BHSD)[0])
        outputs.append(_by_row(batched_matmul(weights_BHKS, values_BHSD)))
        begin = end
    return tf.add_n(outputs), weights_RHS


def _by_sentence(x_RHD: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
    """Return x_BHKD, the K rows of each sentence together."""
    shape = [batch, tf.shape(x_RHD)[0] // tf.maximum(batch, 1), *tf.unstack(tf.shape(x_RHD)[1:])]
    return tf.transpose(tf.reshape(x_RHD, shape), [0, 2, 1, 3])


def _by_row(x_BHKD: tf.Tensor) -> tf.Tensor:
    """Return x_RHD, which `_by_sentence` takes back."""
    x_BKHD = tf.transpose(x_BHKD, [0, 2, 1, 3])
    return tf.reshape(x_BKHD, tf.concat([[-1], tf.shape(x_BKHD)[2:]], axis=0))
