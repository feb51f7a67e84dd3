import io
from concurrent.futures import ThreadPoolExecutor

import pytest
import sentencepiece
import tensorflow as tf
from conftest import toy_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq_cli.config.data import TokenizerConfig
from seq2seq_cli.data.tokenizers.sentencepiece import SentencePiece, train_sentencepiece
from seq2seq_cli.errors import DataError
from seq2seq_cli.special_tokens import BOS, EOS, PAD, UNK

SENTENCES = [sentence for pair in toy_pairs() for sentence in pair]
HARD = ["", " a  b ", "▁\ue000", "¿Ñandú? 日本 🙂", "</s> <s>", "e\u0301 \ufb01"]


def foreign_model(**settings) -> bytes:
    """A model such as others publish: SentencePiece's own defaults, NFKC, no byte fallback."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=buffer,
        minloglevel=2,
        **{"vocab_size": 60, "hard_vocab_limit": False, **settings},
    )
    return buffer.getvalue()


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request):
    config = TokenizerConfig(kind=request.param, vocabulary_size=400)
    return SentencePiece(train_sentencepiece(SENTENCES, config))


def ids_of(tokenizer, sentence: str) -> list[int]:
    return tokenizer.tokenize(tf.constant([sentence]))[0].numpy().tolist()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_same_sentences_give_the_same_bytes(kind):
    config = TokenizerConfig(kind=kind, vocabulary_size=400)
    assert train_sentencepiece(SENTENCES, config) == train_sentencepiece(SENTENCES, config)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "it has no sentence of at most 4,192 bytes. Split its lines into sentences"),
        (["x" * 5000], "it has no sentence of at most 4,192 bytes. Split its lines into sentences"),
        (
            [chr(0x4E00 + i) for i in range(500)],
            "its characters alone need 761 ids, those of bytes included. Set "
            "tokenizer.vocabulary_size to more than that, or tokenizer.kind to 'bytes'",
        ),
    ],
    ids=["none", "too long", "too many characters"],
)
def test_sentences_that_make_no_vocabulary_are_an_error_with_a_remedy(kind, sentences, message):
    with pytest.raises(DataError) as caught:
        train_sentencepiece(sentences, TokenizerConfig(kind=kind, vocabulary_size=300))
    assert str(caught.value) == (
        f"SentencePiece cannot train a {kind} vocabulary of 300 on this corpus: {message}"
    )


def test_ids_in_the_graph_are_those_of_sentencepiece(tokenizer):
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.serialise())
    for sentence in [*SENTENCES[:50], *HARD]:
        assert ids_of(tokenizer, sentence) == [*oracle.encode(sentence), EOS]


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_sentencepiece_alone_restores_the_text_with_this_model(tokenizer, text):
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.serialise())
    assert oracle.decode(oracle.encode(text)) == text


class TestSampling:
    def test_samples_depend_only_on_the_seed(self, tokenizer):
        first = tokenizer.sample(SENTENCES[:20], 0.3, 5)
        assert tokenizer.sample(SENTENCES[:20], 0.3, 6) != first
        assert tokenizer.sample(SENTENCES[:20], 0.3, 5) == first

    def test_the_seed_determines_it_in_threads(self, tokenizer):
        seeds = [*range(8)] * 4
        with ThreadPoolExecutor(4) as pool:
            drawn = list(pool.map(lambda s: tokenizer.sample(SENTENCES[:50], 0.3, s), seeds))
        assert drawn == [tokenizer.sample(SENTENCES[:50], 0.3, seed) for seed in seeds]

    def test_many_segmentations_of_a_sentence_are_sampled(self, tokenizer):
        drawn = {tuple(tokenizer.sample(["I see many houses."], 0.3, s)[0]) for s in range(50)}
        assert len(drawn) > 5

    @settings(max_examples=200)
    @given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**32 - 1))
    def test_every_segmentation_has_the_same_text(self, tokenizer, text, seed):
        drawn = tokenizer.sample([text, "I see many houses."], 0.3, seed)
        assert all(ids[-1] == EOS and EOS not in ids[:-1] for ids in drawn)
        assert tokenizer.detokenize(drawn) == [text, "I see many houses."]

    def test_a_high_unigram_alpha_and_a_low_bpe_dropout_give_the_best_segmentation(self, tokenizer):
        alpha = {"unigram": 100.0, "bpe": 0.0}[tokenizer.kind]
        best = [ids_of(tokenizer, sentence) for sentence in SENTENCES[:20]]
        assert tokenizer.sample(SENTENCES[:20], alpha, 1) == best


# Special ids as SentencePiece, T5, Marian, mBART and a bare minimum have them.
@pytest.mark.parametrize(
    "special",
    [
        {},
        {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
        {"eos_id": 0, "unk_id": 1, "bos_id": -1},
        {"pad_id": 3, "eos_id": 2, "unk_id": 0, "bos_id": 1},
        {"unk_id": 7, "bos_id": -1, "eos_id": -1},
        {"byte_fallback": True, "vocab_size": 320},
        {"model_type": "bpe", "user_defined_symbols": ["<mask>"]},
    ],
)
class TestForeignModel:
    @pytest.fixture
    def model(self, special):
        return foreign_model(**special)

    def test_pieces_are_the_models_own(self, model, special):
        oracle = sentencepiece.SentencePieceProcessor(model_proto=model)
        tokenizer = SentencePiece(model)
        for sentence in [*SENTENCES[:50], "I  see\u00a0houses. ", "", "日"]:
            ids = ids_of(tokenizer, sentence)
            theirs = oracle.encode(sentence)
            known = [oracle.is_unknown(i) or oracle.id_to_piece(i) for i in theirs]
            assert [i == UNK or tokenizer.pieces([i])[0] for i in ids[:-1]] == known
            assert tokenizer.detokenize([ids]) == [oracle.decode(theirs)]

    def test_special_ids_are_fixed_and_no_piece_is_lost(self, model, special):
        oracle = sentencepiece.SentencePieceProcessor(model_proto=model)
        own = {oracle.pad_id(), oracle.unk_id(), oracle.bos_id(), oracle.eos_id()}
        theirs = [oracle.id_to_piece(i) for i in range(oracle.get_piece_size()) if i not in own]
        tokenizer = SentencePiece(model)
        pieces = tokenizer.pieces(range(tokenizer.vocabulary_size))
        assert pieces == ["<pad>", "<unk>", "<s>", "</s>", *theirs]
        assert tokenizer.detokenize([[PAD, BOS, 5, EOS, 6]]) == tokenizer.detokenize([[5]])

    def test_samples_have_the_same_ids(self, model, special):
        tokenizer = SentencePiece(model)
        alpha = {"unigram": 100.0, "bpe": 0.0}[tokenizer.kind]
        best = [ids_of(tokenizer, sentence) for sentence in SENTENCES[:20]]
        assert tokenizer.sample(SENTENCES[:20], alpha, 1) == best


def test_a_foreign_model_keeps_its_own_normaliser():
    tokenizer = SentencePiece(foreign_model())
    assert tokenizer.detokenize([ids_of(tokenizer, "  Ｉ   see ")]) == ["I see"]
    assert tokenizer.detokenize([ids_of(tokenizer, "see 日")]) == ["see  ⁇ "]


def test_a_model_of_another_type_reports_its_kind():
    assert SentencePiece(foreign_model(model_type="char")).kind == "char"
