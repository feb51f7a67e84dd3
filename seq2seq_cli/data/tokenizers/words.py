"""Words, whole or divided into WordPieces, from which the text's spaces can be told exactly."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib

from seq2seq_cli.data.tokenizers.tokenizer import SPACE, SPECIAL_PIECES, Tokenizer, until_eos
from seq2seq_cli.special_tokens import BOS, PAD, UNK

# ▁ stands for a space and NUL parts words, so both are spelled otherwise where the text has them;
# as is the private character that these spellings begin with, which is spelled first.
_SPELLINGS = {"\ue000": "\ue000\ue000", SPACE: "\ue000\ue001", "\0": "\ue000\ue002"}
_SPELLED = {spelling: character for character, spelling in _SPELLINGS.items()}
# A word: letters with their accents (combining ones too) and digits, and the apostrophes and
# hyphens between them; or any one other character. One space before it belongs to it; others are
# words of their own.
_WORD = rf"{SPACE}?(?:[\pL\pM\pN]+(?:['’-][\pL\pM\pN]+)*|[^{SPACE}])|{SPACE}"
# After these a word stands without a space, and yet shall be the word that it is elsewhere.
_OPENING = r"[¿¡(\[{]"

_CONTINUES = "##"
_MAX_WORD_BYTES = 1000  # longer ones are unknown
# Learning takes time in proportion to the number of words: 10 s for these.
_LEARNED_WORDS = 10_000
_AT_ONCE = 1024


class Words(Tokenizer):
    """Whole words, each with the spaces before it; those not in the vocabulary are unknown.

    The text is given back exactly if no word of it is unknown; one that is reads "<unk>".

    Args:
        vocabulary: words with their spaces written as ▁, in the order of their ids from 4 on.
    """

    kind = "words"

    def __init__(self, vocabulary: Sequence[str]):
        self._pieces = [*SPECIAL_PIECES, *vocabulary]
        self.vocabulary_size = len(self._pieces)
        self._table = _table(vocabulary)

    def serialise(self) -> bytes:
        """Return the vocabulary as JSON."""
        return _json_bytes(self._pieces)

    def _ids(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        words = _split(sentences)
        return words.with_flat_values(tf.cast(self._table.lookup(words.flat_values), tf.int32))

    def words(self, sentence: str) -> list[str]:
        """Return the words of a sentence, known or not, as written and without spaces."""
        parted = _split(tf.constant([sentence], tf.string)).flat_values.numpy().tolist()
        return [_join([word.decode()]).strip() for word in parted]

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence up to its EOS; PAD and BOS give no text."""
        return [_join(_written(sequence, self._pieces, SPACE)) for sequence in ids]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the written form of each id."""
        return [self._pieces[int(i)] for i in ids]


class WordPiece(Tokenizer):
    """Words divided into the longest pieces of a vocabulary (Wu et al. 2016), left to right.

    All of a word's pieces but the first begin with "##". Case and accents stay. A character that is
    not in the vocabulary is unknown and reads "<unk>"; the text is otherwise given back exactly.

    Args:
        vocabulary: pieces with their spaces written as ▁, in the order of their ids from 4 on.
    """

    kind = "wordpiece"

    def __init__(self, vocabulary: Sequence[str]):
        self._pieces = [*SPECIAL_PIECES, *vocabulary]
        self.vocabulary_size = len(self._pieces)
        self._graph_tokenizer = tf_text.WordpieceTokenizer(
            _table(vocabulary),
            suffix_indicator=_CONTINUES,
            max_bytes_per_word=_MAX_WORD_BYTES,
            token_out_type=tf.int32,
            unknown_token=SPECIAL_PIECES[UNK],
            split_unknown_characters=True,
        )

    def serialise(self) -> bytes:
        """Return the vocabulary as JSON."""
        return _json_bytes(self._pieces)

    def _ids(self, sentences: tf.Tensor) -> tf.RaggedTensor:
        return self._graph_tokenizer.tokenize(_split(sentences)).merge_dims(1, 2)

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence up to its EOS; PAD and BOS give no text."""
        written = (_written(sequence, self._pieces) for sequence in ids)
        return [_join(piece.removeprefix(_CONTINUES) for piece in pieces) for pieces in written]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the written form of each id."""
        return [self._pieces[int(i)] for i in ids]


def read_vocabulary(data: bytes) -> list[str]:
    """Return the vocabulary that a tokenizer of this file was made of, from its `serialise`.

    Raises:
        ValueError: if it is not one.
    """
    pieces = json.loads(data)
    if not isinstance(pieces, list) or pieces[: len(SPECIAL_PIECES)] != list(SPECIAL_PIECES):
        raise ValueError(f"not a list of pieces that begins with {', '.join(SPECIAL_PIECES)}")
    return pieces[len(SPECIAL_PIECES) :]


def learn_words(sentences: Iterable[str], vocabulary_size: int) -> list[str]:
    """Return the most frequent words, so many that with the special ones they are that size.

    A second space, which is a word of its own, is always among them.
    """
    words = [word for word, _ in _count_words(sentences) if word != SPACE]
    return [SPACE, *words][: vocabulary_size - len(SPECIAL_PIECES)]


def learn_wordpieces(sentences: Iterable[str], vocabulary_size: int) -> list[str]:
    """Return pieces learned from the most frequent words, about as many as asked for, at most.

    All their characters are among them, but for the rarest where there are very many.
    """
    size = vocabulary_size - len(SPECIAL_PIECES)
    counts = _count_words(sentences)
    characters: Counter[str] = Counter()
    for word, count in counts:
        characters.update(dict.fromkeys(word, count))
    frequent = sorted(characters, key=lambda c: (-characters[c], c))[: size // 3]
    alphabet = [*frequent, *(_CONTINUES + character for character in frequent)]
    learned = wordpiece_tokenizer_learner_lib.learn(
        counts[: max(_LEARNED_WORDS, vocabulary_size)],
        size,
        reserved_tokens=[],
        lower_thresh=1,
        # Each place in a word counts for one piece at most, so rarer ones fill the vocabulary.
        upper_thresh=max(1, characters.total() // (size - len(alphabet))),
        max_unique_chars=len(frequent),
        max_token_length=32,
        joiner=_CONTINUES,
    )
    return list(dict.fromkeys([*alphabet, *learned]))[:size]


def _count_words(sentences: Iterable[str]) -> list[tuple[str, int]]:
    """Return (word, count), the most frequent first."""
    counts: Counter[bytes] = Counter()
    stream = iter(sentences)
    while batch := list(itertools.islice(stream, _AT_ONCE)):
        counts.update(_split(tf.constant(batch, tf.string)).flat_values.numpy().tolist())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(word.decode(), count) for word, count in ranked]


def _split(sentences: tf.Tensor) -> tf.RaggedTensor:
    """Divide each sentence of a vector into its words; nothing is lost.

    A sentence begins as if after a space, and so does what follows an opening mark: "¿Qué?" has
    the words "▁¿", "▁Qué", "?".
    """
    texts = sentences
    for character, spelling in [*_SPELLINGS.items(), (" ", SPACE)]:
        texts = tf.strings.regex_replace(texts, rf"\x{{{ord(character):x}}}", spelling)
    texts = tf.strings.regex_replace(texts, "(?s)^.", rf"{SPACE}\0", replace_global=False)
    texts = tf.strings.regex_replace(texts, _OPENING, rf"\0{SPACE}")
    parted = tf.strings.regex_replace(texts, _WORD, "\0\\0")
    return tf.strings.split(parted, "\0")[:, 1:]  # each word comes after a NUL


def _join(words: Iterable[str]) -> str:
    """Undo `_split`."""
    text = re.sub(f"({_OPENING}){SPACE}", r"\1", "".join(words))
    text = text.removeprefix(SPACE).replace(SPACE, " ")
    return re.sub("\ue000[\ue000-\ue002]", lambda spelling: _SPELLED[spelling[0]], text)


def _written(sequence: Sequence[int], pieces: Sequence[str], before_unknown: str = "") -> list[str]:
    """Return the pieces up to EOS, without PAD and BOS."""
    return [
        before_unknown + pieces[i] if i == UNK else pieces[i]
        for i in until_eos(sequence)
        if i not in (PAD, BOS)
    ]


def _table(vocabulary: Sequence[str]) -> Any:
    """Return the lookup table from a piece to its id (int64)."""
    ids = tf.range(len(SPECIAL_PIECES), len(SPECIAL_PIECES) + len(vocabulary), dtype=tf.int64)
    pieces = tf.constant(list(vocabulary), tf.string)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(pieces, ids), UNK)


def _json_bytes(pieces: Sequence[str]) -> bytes:
    return json.dumps(pieces, ensure_ascii=False, indent=0).encode()
