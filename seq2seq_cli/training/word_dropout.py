"""Word dropout: inputs of an update that are replaced by UNK."""

import tensorflow as tf

from seq2seq_cli.models.dropout_key import DropoutKey
from seq2seq_cli.models.ops.compute import current
from seq2seq_cli.models.ops.dropout import bytes_of, random_bytes
from seq2seq_cli.special_tokens import EOS, UNK

SOURCE, TARGET = 1 << 20, (1 << 20) + 1  # sites that no Dropout layer of a model uses


def drop_words(
    ids: tf.Tensor, rate: float, key: DropoutKey, site: int, first_tag: int | None = None
) -> tf.Tensor:
    """Replace a share of ids by UNK; PAD, BOS, EOS and tags stay.

    Gal and Ghahramani (2016), section 4.2, and Bowman et al. (2016), section 3.1, drop words of the
    input so that a model relies less on single words. Here each token is dropped independently.

    Args:
        ids: int32.
        rate: the share, rounded to a multiple of 1/256, but not to 0.
        key: determines which ids, with the site and the shard.
        site: SOURCE or TARGET.
        first_tag: the first id that is a tag; None if there are no tags.
    """
    dropped = bytes_of(rate)
    if not dropped:
        return ids
    bytes_ = random_bytes(key.value, [current().shard, site], tf.shape(ids))
    is_word = ids > EOS
    if first_tag is not None:
        is_word &= ids < first_tag
    return tf.where(is_word & (tf.cast(bytes_, tf.int32) < dropped), UNK, ids)
