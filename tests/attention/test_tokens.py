"""Tokens and words, and maps that are merged from the ones to the others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seq2seq_cli.attention.tokens import Tokens, merged

SOURCE = Tokens(["▁dis", "infect", "ant", ".", "</s>"], ["disinfectant.", "</s>"], [0, 0, 0, 0, 1])
TARGET = Tokens(["▁a", "▁b", "c", "</s>"], ["a", "bc", "</s>"], [0, 1, 1, 2])


def test_source_tokens_are_summed_and_target_tokens_averaged():
    weights = np.array(
        [
            [0.1, 0.2, 0.3, 0.2, 0.2],
            [0.0, 0.0, 0.0, 0.0, 1.0],
            [0.5, 0.0, 0.5, 0.0, 0.0],
            [0.0, 0.4, 0.0, 0.0, 0.6],
        ]
    )
    expected = [[0.8, 0.2], [0.5, 0.5], [0.4, 0.6]]
    np.testing.assert_allclose(merged(weights, TARGET, SOURCE), expected)
    by_layer = merged(np.stack([weights, weights[::-1]]), TARGET, SOURCE)
    np.testing.assert_allclose(by_layer[0], expected)
    assert by_layer.shape == (2, 3, 2)


@given(st.lists(st.integers(1, 4), min_size=1), st.lists(st.integers(1, 4), min_size=1))
def test_merged_rows_still_sum_to_one(source_lengths, target_lengths):
    def tokens(lengths: list[int]) -> Tokens:
        word_of = [word for word, length in enumerate(lengths) for _ in range(length)]
        return Tokens(["x"] * len(word_of), ["x"] * len(lengths), word_of)

    source, target = tokens(source_lengths), tokens(target_lengths)
    weights = np.random.default_rng(1).random((len(target.pieces), len(source.pieces)))
    weights /= weights.sum(axis=1, keepdims=True)
    by_word = merged(weights, target, source)
    assert by_word.shape == (len(target_lengths), len(source_lengths))
    np.testing.assert_allclose(by_word.sum(axis=1), 1)


def test_two_sequences_become_one():
    both = SOURCE + TARGET
    assert both.pieces == SOURCE.pieces + TARGET.pieces
    assert [both.words[i] for i in both.word_of[-4:]] == ["a", "bc", "bc", "</s>"]
