"""SentencePiece: trained on the training side, applied in the graph by tensorflow-text."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text

from seq2seq_cli.config import TokenizerConfig
from seq2seq_cli.errors import CheckpointError, DataError
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK


def train_sentencepiece(sentences: Iterable[str], config: TokenizerConfig) -> bytes:
    """Train a model and return it, serialised. The same sentences give the same bytes.

    With byte fallback no character is unknown. The vocabulary is smaller than asked for where the
    sentences have not enough pieces.
    """
    buffer = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=buffer,
            model_type=config.kind,
            vocab_size=config.vocabulary_size,
            character_coverage=1.0,
            byte_fallback=True,
            hard_vocab_limit=False,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise DataError(
            f"SentencePiece cannot train a {config.kind} vocabulary of {config.vocabulary_size} on "
            f"this corpus: {error}. Set tokenizer.vocabulary_size lower or higher as it says"
        ) from error
    return buffer.getvalue()


class Tokenizer:
    """Strings to ids and back, for both languages.

    Args:
        model: a serialised SentencePiece model with this project's special tokens.

    Attributes:
        model: those bytes.
        vocabulary_size: number of ids.
    """

    def __init__(self, model: bytes):
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.vocabulary_size: int = self._processor.get_piece_size()
        self._graph_tokenizer = tf_text.SentencepieceTokenizer(
            model=model, out_type=tf.int32, add_eos=True
        )

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a model file.

        Raises:
            CheckpointError: if it is missing or damaged.
        """
        try:
            return cls(path.read_bytes())
        except (OSError, RuntimeError, tf.errors.OpError) as error:
            raise CheckpointError(f"{path}: not a readable SentencePiece model: {error}") from error

    def tokenize(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids (int32) of a vector of UTF-8 strings, each with EOS at its end."""
        return self._graph_tokenizer.tokenize(sentences)

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence up to its EOS; special tokens give no text."""
        return self._processor.decode([_until_eos(sequence) for sequence in ids])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the written form of each id."""
        return self._processor.id_to_piece(list(ids))

    def coverage(self, sentences: Sequence[str]) -> float:
        """Return the share of tokens that are pieces and not bytes or unknown."""
        total = plain = 0
        for ids in self._processor.encode(list(sentences), num_threads=1):
            total += len(ids)
            plain += sum(
                not (self._processor.is_byte(i) or self._processor.is_unknown(i)) for i in ids
            )
        return plain / max(total, 1)


def _until_eos(sequence: Sequence[int]) -> list[int]:
    ids = [int(i) for i in sequence]
    return ids[: ids.index(EOS)] if EOS in ids else ids
