import numpy as np

from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding.alignment import align, copy_unknown
from seq2seq_cli.decoding.encoding import token_ids
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import EOS, UNK

SENTENCE = "I see one cats."


def fail(message: str) -> None:
    raise AssertionError(message)


def test_tokens_of_spaces_are_aligned_to_no_word(trained):
    tokenizers = load_run(Run(trained), fail).tokenizers
    space = tokenizers.target.pieces(range(tokenizers.target.vocabulary_size)).index("▁")
    source = token_ids(tokenizers.source, [SENTENCE])[0]
    assert align(tokenizers, source, [space, space, EOS], np.ones([3, len(source)])).words == []


def test_unknown_words_are_copied_by_attention():
    words = Words(["▁a", "▁b", "▁c", "▁¿"])
    tokenizers = Tokenizers(words, words)
    ids = [words.vocabulary_size - 4, UNK, UNK, EOS]
    text = words.detokenize([ids])[0]
    weights = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0.4, 0, 0.6], [0, 0, 0, 1]])
    assert copy_unknown(tokenizers, "a Tom's Boston", text, ids, weights) == "a Boston Tom's"
    assert copy_unknown(tokenizers, " a Tom's Boston ", text, ids, weights) == "a Boston Tom's"


def test_of_a_source_that_was_cut_only_the_words_before_the_cut_are_copied():
    words = Words(["▁a"])
    text = words.detokenize([[UNK]])[0]
    weights = np.array([[0.1, 0.2, 0.7], [0, 0, 1]])
    assert copy_unknown(Tokenizers(words, words), "a b c d", text, [UNK, EOS], weights) == "b"
