"""Texts in a graph are what they are in Python."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import toy_pairs
from test_sentencepiece import foreign_model

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.tokenizers.pair import train_tokenizers
from seq2seq_cli.data.tokenizers.sentencepiece import SentencePiece
from seq2seq_cli.data.tokenizers.tokenizer import Tokenizer
from seq2seq_cli.data.tokenizers.words import WordPiece, Words
from seq2seq_cli.special_tokens import EOS, PAD

SOURCES, TARGETS = zip(*toy_pairs()[::10], strict=True)
ODD = ["▁¿", "▁qué", "(", "▁(", "▁", "\ue000", "\ue001", "\ue000\ue000", "\ue000\ue001", "\n"]


def learned(kind: str) -> Tokenizer:
    config = TokenizerConfig(kind=kind, vocabulary_size=400)
    return train_tokenizers(SOURCES, TARGETS, config).source


TOKENIZERS = {
    "unigram": lambda: learned("unigram"),
    "bpe": lambda: learned("bpe"),
    "a foreign model": lambda: SentencePiece(foreign_model()),
    "words": lambda: Words(ODD),
    "wordpiece": lambda: WordPiece([*ODD, *("##" + piece for piece in ODD)]),
    "bytes": lambda: learned("bytes"),
    "tags": lambda: learned("unigram").with_tags(["2es", "bt"]),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_texts_of_any_ids_are_those_of_detokenize(name):
    tokenizer = TOKENIZERS[name]()
    draw = np.random.default_rng(1)
    sequences = [
        [*draw.integers(4, tokenizer.vocabulary_size, length).tolist(), *end]
        for length in (0, 1, 2, 5, 30, 30, 30, 30)
        for end in ([], [EOS], [1, EOS, 7])
    ]
    rows = np.full([len(sequences), 40], PAD, np.int32)
    for row, ids in zip(rows, sequences, strict=True):
        row[: len(ids)] = ids
    found = tf.function(tokenizer.detokenize_in_graph)(tf.constant(rows)).numpy().tolist()
    expected = "\n".join(tokenizer.detokenize(rows)).replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert "\n".join(text.decode() for text in found) == expected


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_rows_give_no_texts(name):
    tokenizer = TOKENIZERS[name]()
    assert tokenizer.detokenize_in_graph(tf.zeros([0, 0], tf.int32)).shape == [0]
    assert tokenizer.tokenize(tf.constant([], tf.string)).to_list() == []
