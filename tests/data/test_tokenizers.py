import pytest
import sentencepiece
import tensorflow as tf
from conftest import toy_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.config import TokenizerConfig
from seq2seq_cli.data.tokenizers import Tokenizer, train_sentencepiece
from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.special_tokens import BOS, EOS, PAD

SENTENCES = [sentence for pair in toy_pairs() for sentence in pair]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request):
    config = TokenizerConfig(kind=request.param, vocabulary_size=400)
    return Tokenizer(train_sentencepiece(SENTENCES, config))


def ids_of(tokenizer, sentence: str) -> list[int]:
    return tokenizer.tokenize(tf.constant([sentence]))[0].numpy().tolist()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_is_repeatable(kind):
    config = TokenizerConfig(kind=kind, vocabulary_size=400)
    assert train_sentencepiece(SENTENCES, config) == train_sentencepiece(SENTENCES, config)


def test_ids_in_the_graph_are_those_of_sentencepiece(tokenizer):
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    for sentence in [*SENTENCES[:50], "", "¿Ñandú? 日本 🙂", "</s> <s>"]:
        assert ids_of(tokenizer, sentence) == [*oracle.encode(sentence), EOS]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z", "Cn", "Co"])))
def test_text_survives_whatever_its_characters(tokenizer, text):
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    normalised = oracle.normalize(text)
    assert tokenizer.detokenize([ids_of(tokenizer, text)]) == [
        normalised.replace("▁", " ").strip(" ")
    ]


def test_special_tokens_written_in_a_text_stay_text(tokenizer):
    ids = ids_of(tokenizer, "a </s> <pad> b")
    assert not {PAD, BOS, EOS} & set(ids[:-1])
    assert tokenizer.detokenize([ids]) == ["a </s> <pad> b"]


def test_what_follows_eos_is_not_text(tokenizer):
    ids = ids_of(tokenizer, "I see one cats.")
    assert tokenizer.detokenize([[*ids, *ids, PAD]]) == ["I see one cats."]


def test_coverage_is_the_share_of_tokens_that_are_no_bytes(tokenizer):
    assert tokenizer.coverage(["I see one cats."]) == 1.0
    assert tokenizer.coverage(["日"]) < 0.5


def test_damaged_model_is_named(tmp_path):
    (tmp_path / "m.model").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"m\.model: not a readable SentencePiece model"):
        Tokenizer.load(tmp_path / "m.model")
