import pytest
import tensorflow as tf
import tensorflow_text as tf_text
from conftest import toy_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.data.tokenizers import words as words_module
from seq2seq_cli.data.tokenizers.words import (
    WordPiece,
    Words,
    learn_wordpieces,
    learn_words,
    read_vocabulary,
)
from seq2seq_cli.special_tokens import EOS, UNK

SENTENCES = [sentence for pair in toy_pairs() for sentence in pair]
TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(" ▁\ue000\ue001\ue002a#¿¡('’-\0")
)


@pytest.fixture(scope="module")
def words():
    return Words(learn_words(SENTENCES, 300))


def ids_of(tokenizer, sentence: str) -> list[int]:
    return tokenizer.tokenize(tf.constant([sentence]))[0].numpy().tolist()


def words_of(text: str) -> list[str]:
    return [word.decode() for word in words_module._split(tf.constant([text])).to_list()[0]]


@pytest.fixture(scope="module")
def wordpiece():
    return WordPiece(learn_wordpieces([*SENTENCES, "Ñandú ñandú"], 150))


@settings(max_examples=500)
@given(TEXT)
def test_joining_undoes_splitting_for_every_text(words, text):
    split = words_of(text)
    assert words_module._join(split) == text
    assert len(split) == len(ids_of(words, text)) - 1


@settings(max_examples=200)
@given(st.lists(TEXT, min_size=1, max_size=4))
def test_text_comes_back_exactly_if_every_word_is_known(texts):
    for kind, learn in ((Words, learn_words), (WordPiece, learn_wordpieces)):
        tokenizer = kind(learn([*texts, *SENTENCES[:20]], 10_000))
        ids = tokenizer.tokenize(tf.constant(texts)).to_list()
        assert UNK not in {i for row in ids for i in row}
        assert tokenizer.detokenize(ids) == texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("¿Cómo estás?", ["▁¿", "▁Cómo", "▁estás", "?"]),
        ("No, ¡qué va!", ["▁No", ",", "▁¡", "▁qué", "▁va", "!"]),
        ("¿¡Qué!?", ["▁¿", "▁¡", "▁Qué", "!", "?"]),
        ("I don't (really) know.", ["▁I", "▁don't", "▁(", "▁really", ")", "▁know", "."]),
        ("l’été, vice-versa -", ["▁l’été", ",", "▁vice-versa", "▁-"]),
        ("n\u0303andu\u0301", ["▁n\u0303andu\u0301"]),
        ("a  b ", ["▁a", "▁", "▁b", "▁"]),
        ("3,5 €", ["▁3", ",", "5", "▁€"]),
        ("", []),
    ],
)
def test_words_are_split_as_written_down_here(text, expected):
    assert words_of(text) == expected


def test_vocabulary_has_the_most_frequent_words():
    assert learn_words(["b a a", "c b a", "¿a?"], 8) == ["▁", "▁a", "▁b", "?"]


def test_unknown_words_read_unk(words):
    sentence = "I see Zoë, many houses."
    ids = ids_of(words, sentence)
    assert ids.count(UNK) == 2  # Zoë and the comma
    assert words.detokenize([ids]) == ["I see <unk> <unk> many houses."]


def test_unk_written_in_a_text_is_not_the_unknown_word():
    tokenizer = Words(learn_words(["<unk> </s>"], 300))
    ids = ids_of(tokenizer, "<unk> </s>")
    assert not {UNK, EOS} & set(ids[:-1])
    assert tokenizer.detokenize([ids]) == ["<unk> </s>"]


class TestWordPiece:
    def test_the_size_is_at_most_the_configured_one(self, wordpiece):
        assert 80 <= wordpiece.vocabulary_size <= 150

    def test_pieces_are_the_longest_from_the_left(self):
        tokenizer = WordPiece(["▁", "▁un", "▁una", "##a", "##ble", "##b", "##l"])
        ids = ids_of(tokenizer, "unable una")
        assert tokenizer.pieces(ids) == ["▁una", "##ble", "▁una", "</s>"]

    def test_pieces_are_those_of_the_fast_tokenizer(self, wordpiece):
        vocabulary = wordpiece.pieces(range(wordpiece.vocabulary_size))
        oracle = tf_text.FastWordpieceTokenizer(
            vocabulary, unknown_token="<unk>", no_pretokenization=True, token_out_type=tf.int32
        )
        for sentence in SENTENCES[::10]:
            expected = oracle.tokenize(words_of(sentence)).flat_values.numpy().tolist()
            assert ids_of(wordpiece, sentence) == [*expected, EOS]

    def test_case_and_accents_are_kept(self, wordpiece):
        ids = ids_of(wordpiece, "Ñandú ñandú")
        assert UNK not in ids
        assert wordpiece.detokenize([ids]) == ["Ñandú ñandú"]

    def test_only_the_character_that_is_not_known_is_unknown(self, wordpiece):
        assert wordpiece.detokenize([ids_of(wordpiece, "I see日 cats.")]) == ["I see<unk> cats."]

    def test_an_unseen_word_is_split_into_pieces(self, wordpiece):
        ids = ids_of(wordpiece, "stoneware")
        assert UNK not in ids
        assert wordpiece.detokenize([ids]) == ["stoneware"]


@pytest.mark.parametrize("data", [b"", b"{}", b'["a"]', b"\xff"])
def test_an_invalid_vocabulary_file_is_an_error(data):
    with pytest.raises(ValueError):  # noqa: PT011 (json's own errors among them)
        read_vocabulary(data)


def test_vocabulary_is_read_back(words):
    assert Words(read_vocabulary(words.serialise())).fingerprint == words.fingerprint
