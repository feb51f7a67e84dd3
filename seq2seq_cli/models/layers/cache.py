"""Keys and values that are kept from step to step, and attention to them."""

from typing import NamedTuple

import tensorflow as tf

from seq2seq_cli.models.layers.scores import masked_softmax
from seq2seq_cli.models.ops.products import batched_matmul


class KeysValues(NamedTuple):
    """Projected keys and values, by heads.

    keys_BHSD, values_BHSD: of equal shape; S is the capacity where they are a cache.
    """

    keys_BHSD: tf.Tensor
    values_BHSD: tf.Tensor

    def write(self, new: "KeysValues", position: tf.Tensor, in_place: bool = False) -> "KeysValues":
        """Return this cache with `new`, keys_BHD and values_BHD, at `position`.

        With `in_place` it is the same memory, and this cache must not be used again. XLA knows no
        such thing.
        """
        batch, heads, length, _ = tf.unstack(tf.shape(self.keys_BHSD))
        places_X = tf.range(batch * heads) * length + position
        pairs = zip(self, new, strict=True)
        return KeysValues(*(_write(old, places_X, new, in_place) for old, new in pairs))

    def resize(self, length: tf.Tensor) -> "KeysValues":
        """Return this cache with room for `length`, at least as much as it has."""
        more = [[0, 0], [0, 0], [0, length - tf.shape(self.keys_BHSD)[2]], [0, 0]]
        return KeysValues(*(tf.pad(tensor, more) for tensor in self))

    def extend(self, later: "KeysValues") -> "KeysValues":
        """Return these followed by `later`."""
        return KeysValues(*(tf.concat(pair, axis=2) for pair in zip(self, later, strict=True)))


def _write(
    old_BHSD: tf.Tensor, places_X: tf.Tensor, new_BHD: tf.Tensor, in_place: bool
) -> tf.Tensor:
    """Put vectors in places of B, H and S as one axis."""
    width = old_BHSD.shape[3]
    old_XD, new_XD = tf.reshape(old_BHSD, [-1, width]), tf.reshape(new_BHD, [-1, width])
    if in_place:
        written_XD = tf.raw_ops.InplaceUpdate(x=old_XD, i=places_X, v=new_XD)
    else:
        written_XD = tf.tensor_scatter_nd_update(old_XD, places_X[:, tf.newaxis], new_XD)
    return tf.reshape(written_XD, tf.shape(old_BHSD))


def attend_step(
    query_RHD: tf.Tensor,
    own: tuple[KeysValues, tf.Tensor] | None,
    shared: tuple[KeysValues, tf.Tensor] | None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Attend with a query for each of R = B K rows, the K rows of a sentence standing together.

    Args:
        query_RHD: the queries, by heads.
        own: keys and values of each row, and bool mask_1S.
        shared: keys and values of each of the B sentences, and bool mask_BS. With both, attention
            is over these and then the row's own, as one.

    Returns:
        outputs_RHD, and float32 weights_RHS.
    """
    heads, width = query_RHD.shape[1:]
    query_RHD *= width**-0.5
    scores, masks, shared_length = [], [], 0
    if shared is not None:
        batch, _, shared_length, _ = tf.unstack(tf.shape(shared[0].keys_BHSD))
        query_BKHD = tf.reshape(query_RHD, [batch, -1, heads, width])
        query_BHKD = tf.transpose(query_BKHD, [0, 2, 1, 3])
        scores_BHKS = tf.cast(
            batched_matmul(query_BHKD, shared[0].keys_BHSD, transpose_b=True), tf.float32
        )
        scores_BKHS = tf.transpose(scores_BHKS, [0, 2, 1, 3])
        mask_BKHS = tf.broadcast_to(shared[1][:, tf.newaxis, tf.newaxis], tf.shape(scores_BKHS))
        scores.append(tf.reshape(scores_BKHS, [-1, heads, shared_length]))
        masks.append(tf.reshape(mask_BKHS, [-1, heads, shared_length]))
    if own is not None:
        scores_RH1S = batched_matmul(
            query_RHD[:, :, tf.newaxis], own[0].keys_BHSD, transpose_b=True
        )
        scores.append(tf.cast(tf.squeeze(scores_RH1S, 2), tf.float32))
        masks.append(tf.broadcast_to(own[1], tf.shape(scores[-1])))
    joined_RHS = scores[0] if len(scores) == 1 else tf.concat(scores, axis=2)
    mask_RHS = masks[0] if len(masks) == 1 else tf.concat(masks, axis=2)
    weights_RHS = masked_softmax(joined_RHS, mask_RHS)
    outputs = []
    if shared is not None:
        values_BHSD = shared[0].values_BHSD
        weights_BKHS = tf.reshape(
            weights_RHS[:, :, :shared_length], [batch, -1, heads, shared_length]
        )
        weights_BHKS = tf.cast(tf.transpose(weights_BKHS, [0, 2, 1, 3]), values_BHSD.dtype)
        outputs_BKHD = tf.transpose(batched_matmul(weights_BHKS, values_BHSD), [0, 2, 1, 3])
        outputs.append(tf.reshape(outputs_BKHD, [-1, heads, width]))
    if own is not None:
        values_RHSD = own[0].values_BHSD
        weights_RH1S = tf.cast(weights_RHS[:, :, tf.newaxis, shared_length:], values_RHSD.dtype)
        outputs.append(tf.squeeze(batched_matmul(weights_RH1S, values_RHSD), 2))
    return tf.add_n(outputs) if len(outputs) > 1 else outputs[0], weights_RHS
