"""Normalisation, the ends of texts and cuts in a graph are those of the translator."""

import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.data.lines import canonical
from seq2seq_cli.data.tokenizers.tokenizer import Bytes
from seq2seq_cli.decoding.encoding import encode_sentences
from seq2seq_cli.export.graph_texts import canonical_texts, encoded, on_one_line

SPACES = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
CHARACTERS = st.characters(exclude_categories=["Cs", "Cn"])  # Cn: of later versions of Unicode
TEXT = st.text(CHARACTERS | st.sampled_from("\u0301e " + SPACES))


@given(st.lists(TEXT, min_size=1, max_size=8))
@example([SPACES, f"a{SPACES}b", f"{SPACES}a\n", "\u2126", "\u1100\u1161", "\n\na\u3000 "])
@settings(max_examples=60)
def test_texts_have_the_form_that_the_translator_gives_them(texts):
    found = canonical_texts(tf.constant(texts)).numpy()
    assert [text.decode() for text in found] == [canonical(text) for text in texts]
    found = on_one_line(tf.constant(texts)).numpy()
    assert [text.decode() for text in found] == [" ".join(text.split()) for text in texts]


def test_invalid_utf8_is_read_as_the_replacement_character():
    assert canonical_texts(tf.constant([b" a\xff "])).numpy()[0].decode() == "a\ufffd"


@pytest.mark.parametrize("most", [4, 6, 100])
def test_sentences_are_cut_as_in_the_translator(most):
    tokenizer = Bytes().with_tags(["2es"]).beginning_with(["2es"])
    texts = ["a", "abc", "abcd", "abcde", "abcdefghi"]
    ids_BS, lengths_B = encoded(tokenizer, tf.constant(texts), most)
    wanted = encode_sentences([tokenizer], texts, DecodingConfig(max_source_tokens=most))
    for row, length, sentence in zip(ids_BS.numpy(), lengths_B.numpy(), wanted, strict=True):
        np.testing.assert_array_equal(row[:length], sentence.ids[0])
        assert not row[length:].any()


def test_no_sentences_have_a_column():
    ids_BS, lengths_B = encoded(Bytes(), tf.constant([], tf.string), 10)
    assert ids_BS.shape == [0, 1]
    assert lengths_B.shape == [0]
