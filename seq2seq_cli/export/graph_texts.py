"""Processing of a text before tokenization and after detokenization, in a graph."""

import tensorflow as tf
import tensorflow_text as tf_text

from seq2seq_cli.data.tokenizers.tokenizer import Tokenizer
from seq2seq_cli.special_tokens import EOS, PAD

# The whitespace characters of str.strip and str.split.
_SPACE = (
    r"[\t-\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}"
    r"\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)


def canonical_texts(texts: tf.Tensor) -> tf.Tensor:
    """Return sentences in the form of `data.lines.canonical`; invalid UTF-8 becomes U+FFFD."""
    valid = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    return tf_text.normalize_utf8(_stripped(valid), "NFC")


def on_one_line(texts: tf.Tensor) -> tf.Tensor:
    """Return texts without line breaks, with single spaces, and without spaces at the ends."""
    return _stripped(tf.strings.regex_replace(texts, f"{_SPACE}+", " "))


def encoded(
    tokenizer: Tokenizer, texts: tf.Tensor, most_tokens: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Tokenize canonical texts as `decoding.encoding` does.

    Args:
        tokenizer: the tokenizer of their language.
        texts: a vector.
        most_tokens: the maximum number of tokens; longer texts are cut.

    Returns:
        ids_BS, int32, right-padded with PAD, at least one column wide; and the number of tokens of
        each text, EOS included.
    """
    ids = tokenizer.tokenize(texts)
    lengths_B = tf.minimum(tf.cast(ids.row_lengths(), tf.int32), most_tokens)
    ids_BS = ids.to_tensor(PAD)[:, :most_tokens]
    ids_BS = tf.pad(ids_BS, [[0, 0], [0, tf.cast(tf.shape(ids_BS)[1] == 0, tf.int32)]])
    is_last_BS = tf.range(tf.shape(ids_BS)[1]) == lengths_B[:, tf.newaxis] - 1
    return tf.where(is_last_BS, EOS, ids_BS), lengths_B


def _stripped(texts: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(texts, f"^{_SPACE}+|{_SPACE}+$", "")
