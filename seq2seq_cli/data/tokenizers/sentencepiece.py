"""SentencePiece (Kudo and Richardson 2018), applied in the graph by tensorflow-text."""

import functools
import io
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.tokenizers.sampling import SegmentationSampler
from seq2seq_cli.data.tokenizers.tokenizer import SPECIAL_PIECES, Tokenizer
from seq2seq_cli.errors import DataError
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # the numbers in a model's file
# Pieces write a space as ▁. So a ▁ in the text is spelled with a private character, and that
# character itself is spelled twice. The model contains these rules and undoes them itself.
_SPELLINGS = {"\ue000": "\ue000\ue000", "▁": "\ue000\ue001"}


def train_sentencepiece(sentences: Iterable[str], config: TokenizerConfig) -> bytes:
    """Train a model and return it, serialised. The same sentences give the same bytes.

    The model restores every text exactly: byte fallback makes every character known, and
    normalisation changes neither spaces nor characters. The vocabulary is smaller than
    `tokenizer.vocabulary_size` if the sentences do not have enough pieces.

    Raises:
        DataError: if SentencePiece cannot learn a vocabulary of that size.
    """
    buffer = io.BytesIO()
    try:
        with tempfile.TemporaryDirectory() as folder:
            written, read = Path(folder, "written.tsv"), Path(folder, "read.tsv")
            written.write_text("".join(f"{_hex(a)}\t{_hex(b)}\n" for a, b in _SPELLINGS.items()))
            read.write_text("".join(f"{_hex(b)}\t{_hex(a)}\n" for a, b in _SPELLINGS.items()))
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=buffer,
                model_type=config.kind,
                vocab_size=config.vocabulary_size,
                character_coverage=1.0,
                byte_fallback=True,
                normalization_rule_tsv=str(written),
                denormalization_rule_tsv=str(read),
                remove_extra_whitespaces=False,
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
            f"this corpus: {_reason(str(error))}"
        ) from error
    model = sentencepiece_model_pb2.ModelProto.FromString(buffer.getvalue())
    for rules in (model.normalizer_spec, model.denormalizer_spec):
        rules.ClearField("normalization_rule_tsv")  # the name of a deleted file
    return model.SerializeToString(deterministic=True)


class SentencePiece(Tokenizer):
    """A SentencePiece model, from `train_sentencepiece` or from another program.

    Another program's model applies its own normaliser. Without byte fallback it reads unknown
    characters as " ⁇ ".

    The ids 0 to 3 are always the special ones. The model's other pieces follow them in the model's
    order. For a model of `train_sentencepiece` these are the model's own ids.

    Args:
        model: the bytes of a model's file.

    Raises:
        ValueError: if they are not such a model.
    """

    def __init__(self, model: bytes):
        description = sentencepiece_model_pb2.ModelProto()
        try:
            description.ParseFromString(model)
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            pieces = self._processor.get_piece_size()
            self._graph_tokenizer = tf_text.SentencepieceTokenizer(model=model, out_type=tf.int32)
        except (DecodeError, RuntimeError, tf.errors.OpError) as error:
            raise ValueError(f"not a readable SentencePiece model: {error}") from error
        self.kind = KINDS[description.trainer_spec.model_type]
        self._model = model
        special = {
            self._processor.pad_id(): PAD,
            self._processor.unk_id(): UNK,
            self._processor.bos_id(): BOS,
            self._processor.eos_id(): EOS,
        }
        others = [i for i in range(pieces) if i not in special]
        self.vocabulary_size = len(SPECIAL_PIECES) + len(others)
        # From the model's ids to ours, and from ours to the model's, if it has such a piece.
        self._ours = np.zeros(pieces, np.int32)
        self._ours[others] = np.arange(len(SPECIAL_PIECES), self.vocabulary_size)
        self._models: dict[int, int] = dict(enumerate(others, start=len(SPECIAL_PIECES)))
        for theirs, ours in special.items():
            if theirs >= 0:
                self._ours[theirs] = ours
                self._models[ours] = theirs
        self._is_shifted = bool((self._ours != np.arange(pieces)).any())

    def serialise(self) -> bytes:
        """Return the bytes of the model's file."""
        return self._model

    def _ids(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        ids = self._graph_tokenizer.tokenize(sentences)
        return ids.with_flat_values(self.from_model(ids.flat_values))

    def _texts(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return self._processor.decode([[self._models[i] for i in row] for row in ids])

    def _graph_texts(self, ids: tf.Tensor) -> tf.Tensor:
        kept = tf.ragged.boolean_mask(ids, ids != PAD)
        kept = kept.with_flat_values(self.to_model(kept.flat_values))
        return self._graph_tokenizer.detokenize(kept)

    def from_model(self, ids: tf.Tensor) -> tf.Tensor:
        """Return our ids for those of the model's file, int32 of any shape."""
        return tf.gather(self._ours, ids) if self._is_shifted else ids

    def to_model(self, ids: tf.Tensor) -> tf.Tensor:
        """Return the ids of the model's file for ours; 0 for a special one that it lacks."""
        if not self._is_shifted:
            return ids
        return tf.gather([self._models.get(i, 0) for i in range(self.text_size)], ids)

    @property
    def resources(self) -> list[Any]:
        """See Tokenizer.resources."""
        return [self._graph_tokenizer]

    def _piece(self, i: int) -> str:
        return self._processor.id_to_piece(self._models[i])

    @functools.cached_property
    def _sampler(self) -> SegmentationSampler:
        description = sentencepiece_model_pb2.ModelProto.FromString(self._model)
        return SegmentationSampler(self._processor, description)

    def sample(self, sentences: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Sample a segmentation of each sentence, and return its ids, with EOS.

        For unigram, a segmentation is sampled by its probability to the power of `alpha` (Kudo
        2018, section 3.2). For BPE, each merge is left out with probability `alpha` (Provilkov et
        al. 2020, BPE-dropout). All segmentations restore the same text.

        Args:
            sentences: the texts.
            alpha: above 0.
            seed: determines the sample; at least 0 and below 2**32.
        """
        drawn = self._sampler.sample(sentences, alpha, seed)
        return [[*self.leading, *self._ours[ids].tolist(), EOS] for ids in drawn]


def _reason(message: str) -> str:
    """Return a clear form of SentencePiece's message, with a remedy."""
    if "!sentences_.empty()" in message:
        return "it has no sentence of at most 4,192 bytes. Split its lines into sentences"
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"its characters alone need {int(found[1]):,} ids, those of bytes included. Set "
            "tokenizer.vocabulary_size to more than that, or tokenizer.kind to 'bytes'"
        )
    return f"{message}. Set tokenizer.vocabulary_size lower or higher as it says"


def _hex(text: str) -> str:
    """Return characters as code points, in the format of a normaliser's rules."""
    return " ".join(f"{ord(character):04X}" for character in text)
