"""Words, whole or split into WordPieces, that keep all spaces of the text."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib

from seq2seq_cli.data.tokenizers.tokenizer import SPACE, SPECIAL_PIECES, Tokenizer
from seq2seq_cli.special_tokens import UNK

# Here ▁ is a space and NUL separates words. If the text itself has one of them, it is spelled with
# a private character. That character itself is spelled twice, and is replaced first.
_SPELLINGS = {"\ue000": "\ue000\ue000", SPACE: "\ue000\ue001", "\0": "\ue000\ue002"}
_SPELLED = {spelling: character for character, spelling in _SPELLINGS.items()}
# A word: letters, accents and digits, with apostrophes and hyphens between them; or any one other
# character. One space before it belongs to it. Further spaces are separate words.
_WORD = rf"{SPACE}?(?:[\pL\pM\pN]+(?:['’-][\pL\pM\pN]+)*|[^{SPACE}])|{SPACE}"
# A word after one of these has no space before it, but must be the same word as elsewhere.
_OPENING = r"[¿¡(\[{]"

_CONTINUES = "##"
_MAX_WORD_BYTES = 1000  # longer words are unknown
# The time of learning is proportional to the number of words: 10 s for these.
_LEARNED_WORDS = 10_000
_BLOCK_SENTENCES = 1024


class Words(Tokenizer):
    """Whole words, each with the space before it. Words that are not in the vocabulary are unknown.

    A text without unknown words is restored exactly. An unknown word becomes "<unk>".

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
        split = _split(tf.constant([sentence], tf.string)).flat_values.numpy().tolist()
        return [_join([word.decode()]).strip() for word in split]

    def _texts(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [
            _join((SPACE if i == UNK else "") + self._pieces[i] for i in sequence)
            for sequence in ids
        ]

    def _graph_texts(self, ids: tf.Tensor) -> tf.Tensor:
        return _join_in_graph(["", SPACE + self._pieces[UNK], *self._pieces[UNK + 1 :]], ids)

    @property
    def resources(self) -> list[Any]:
        """See Tokenizer.resources."""
        return [self._table]

    def _piece(self, i: int) -> str:
        return self._pieces[i]


class WordPiece(Tokenizer):
    """Words split from left to right into the longest pieces of a vocabulary (Wu et al. 2016).

    All pieces of a word except the first begin with "##". Case and accents are kept. A character
    that is not in the vocabulary becomes "<unk>", and so does a word of more than 1,000 bytes.
    Everything else is restored exactly.

    Args:
        vocabulary: pieces with their spaces written as ▁, in the order of their ids from 4 on.
    """

    kind = "wordpiece"

    def __init__(self, vocabulary: Sequence[str]):
        self._pieces = [*SPECIAL_PIECES, *vocabulary]
        self.vocabulary_size = len(self._pieces)
        self._table = _table(vocabulary)
        self._graph_tokenizer = tf_text.WordpieceTokenizer(
            self._table,
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

    def _texts(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [
            _join(self._pieces[i].removeprefix(_CONTINUES) for i in sequence) for sequence in ids
        ]

    def _graph_texts(self, ids: tf.Tensor) -> tf.Tensor:
        pieces = [piece.removeprefix(_CONTINUES) for piece in self._pieces]
        return _join_in_graph(["", *pieces[UNK:]], ids)

    @property
    def resources(self) -> list[Any]:
        """See Tokenizer.resources."""
        return [self._table]

    def _piece(self, i: int) -> str:
        return self._pieces[i]


def read_vocabulary(data: bytes) -> list[str]:
    """Return the vocabulary of a `Words` or `WordPiece` from its serialised form.

    Raises:
        ValueError: if `data` is something else.
    """
    pieces = json.loads(data)
    if not isinstance(pieces, list) or pieces[: len(SPECIAL_PIECES)] != list(SPECIAL_PIECES):
        raise ValueError(f"not a list of pieces that begins with {', '.join(SPECIAL_PIECES)}")
    return pieces[len(SPECIAL_PIECES) :]


def learn_words(sentences: Iterable[str], vocabulary_size: int) -> list[str]:
    """Return the most frequent words; with the special ones at most `vocabulary_size`.

    A second space, which is a separate word, is always included.
    """
    words = [word for word, _ in _count_words(sentences) if word != SPACE]
    return [SPACE, *words][: vocabulary_size - len(SPECIAL_PIECES)]


def learn_wordpieces(sentences: Iterable[str], vocabulary_size: int) -> list[str]:
    """Return pieces learned from the most frequent words.

    With the special pieces there are at most `vocabulary_size`. All characters of the words are
    included, except the rarest if there are very many.
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
        # Each position in a word counts for at most one piece, so rarer pieces fill the vocabulary.
        upper_thresh=max(1, characters.total() // (size - len(alphabet))),
        max_unique_chars=len(frequent),
        max_token_length=32,
        joiner=_CONTINUES,
    )
    return list(dict.fromkeys([*alphabet, *learned]))[:size]


def _count_words(sentences: Iterable[str]) -> list[tuple[str, int]]:
    """Return (word, count), in descending order of counts."""
    counts: Counter[bytes] = Counter()
    stream = iter(sentences)
    while batch := list(itertools.islice(stream, _BLOCK_SENTENCES)):
        counts.update(_split(tf.constant(batch, tf.string)).flat_values.numpy().tolist())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(word.decode(), count) for word, count in ranked]


def _split(sentences: tf.Tensor) -> tf.RaggedTensor:
    """Split each sentence of a vector into its words, without loss.

    The first word, and a word after an opening mark, is treated as if a space were before it:
    "¿Qué?" has the words "▁¿", "▁Qué", "?".
    """
    texts = sentences
    for character, spelling in [*_SPELLINGS.items(), (" ", SPACE)]:
        texts = tf.strings.regex_replace(texts, rf"\x{{{ord(character):x}}}", spelling)
    texts = tf.strings.regex_replace(texts, "(?s)^.", rf"{SPACE}\0", replace_global=False)
    texts = tf.strings.regex_replace(texts, _OPENING, rf"\0{SPACE}")
    separated = tf.strings.regex_replace(texts, _WORD, "\0\\0")
    return tf.strings.split(separated, "\0")[:, 1:]  # a NUL is before each word


def _join(words: Iterable[str]) -> str:
    """Undo `_split`."""
    text = re.sub(f"({_OPENING}){SPACE}", r"\1", "".join(words))
    text = text.removeprefix(SPACE).replace(SPACE, " ")
    return re.sub("\ue000[\ue000-\ue002]", lambda spelling: _SPELLED[spelling[0]], text)


def _join_in_graph(pieces: Sequence[str], ids: tf.Tensor) -> tf.Tensor:
    """Do what `_join` does for rows of ids, of which 0 gives no text. A NUL becomes U+FFFD."""
    texts = tf.strings.reduce_join(tf.gather(tf.constant(list(pieces), tf.string), ids), axis=1)
    texts = tf.strings.regex_replace(texts, f"({_OPENING}){SPACE}", r"\1")
    texts = tf.strings.regex_replace(texts, f"^{SPACE}", "")
    # Until the end, NUL, which no piece contains, stands for \ue000, which begins a spelling.
    for spelling, character in (
        (SPACE, " "),
        ("\ue000\ue000", "\0"),
        ("\ue000\ue001", SPACE),
        ("\ue000\ue002", "\N{REPLACEMENT CHARACTER}"),
        ("\0", "\ue000"),
    ):
        texts = tf.strings.regex_replace(texts, spelling, character)
    return texts


def _table(vocabulary: Sequence[str]) -> Any:
    """Return the lookup table from a piece to its id (int64)."""
    ids = tf.range(len(SPECIAL_PIECES), len(SPECIAL_PIECES) + len(vocabulary), dtype=tf.int64)
    pieces = tf.constant(list(vocabulary), tf.string)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(pieces, ids), UNK)


def _json_bytes(pieces: Sequence[str]) -> bytes:
    return json.dumps(pieces, ensure_ascii=False, indent=0).encode()
