"""The training pairs most like a sentence."""

import math

import pytest

from seq2seq_cli.attention import neighbours
from seq2seq_cli.attention.neighbours import Index
from seq2seq_cli.data.pairs import in_memory

PAIRS = [
    ("I inject the medicine.", "Inyecto la medicina."),
    ("I buy disinfectant.", "Compro desinfectante."),
    ("She buys the medicine!", "Ella compra la medicina."),
    ("Good night", "Buenas noches"),
]


@pytest.fixture
def index() -> Index:
    return Index.build(in_memory(PAIRS))


def test_the_nearest_pair_shares_most_of_the_rare_words(index):
    first, second = index.nearest("I will inject disinfectant", 5)
    assert (first.source, first.target) == PAIRS[1]
    assert second.source == PAIRS[0][0]
    assert first.shared == ["i", "disinfectant"]
    assert second.similarity < first.similarity


def test_shared_words_are_marked_whatever_their_case_and_punctuation():
    index = Index.build(in_memory([("ΟΔΟΣ  Straße, «nuit»!", "x")]))
    (found,) = index.nearest("οδος STRASSE nuit jour", 1)
    assert "".join(part.text for part in found.parts) == found.source
    assert [text for text, is_shared in found.parts if is_shared] == ["ΟΔΟΣ", "Straße,", "«nuit»!"]


def test_similarity_is_the_share_of_the_weights(index):
    (found,) = index.nearest("night", 1)
    rare = math.log1p(4)
    assert found.similarity == pytest.approx(rare / (2 * rare))
    (same,) = index.nearest("good NIGHT!", 1)
    assert same.similarity == pytest.approx(1)


def test_new_words_and_new_pairs_are_found(index):
    assert index.unseen("I will inject disinfectant, I will.") == ["will"]
    assert index.never_together("I will inject disinfectant") == [("inject", "disinfectant")]
    assert index.never_together("Buy medicine") == [("buy", "medicine")]


def test_unknown_words_have_no_similar_pairs(index):
    assert index.nearest("xyz", 3) == []
    assert index.nearest("", 3) == []


def test_an_index_is_read_back_as_it_was_written(index, tmp_path):
    path = tmp_path / "new" / "index.npz"
    index.save(path)
    again = Index.load(path)
    assert again.nearest("I inject", 3) == index.nearest("I inject", 3)
    assert (again.pairs, again.total) == (4, 4)
    assert [each.name for each in path.parent.iterdir()] == ["index.npz"]


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04damaged"])
def test_a_damaged_index_is_none(tmp_path, content):
    path = tmp_path / "index.npz"
    if content is not None:
        path.write_bytes(content)
    assert Index.load(path) is None


def test_a_truncated_index_is_none(index, tmp_path):
    path = tmp_path / "index.npz"
    index.save(path)
    path.write_bytes(path.read_bytes()[:-200])
    assert Index.load(path) is None


def test_the_index_of_a_large_corpus_has_evenly_spaced_pairs(monkeypatch):
    monkeypatch.setattr(neighbours, "MOST_PAIRS", 10)
    done = []
    index = Index.build(in_memory([(f"word{i}", "x") for i in range(100)]), done.append)
    assert (index.pairs, index.total) == (10, 100)
    assert index.nearest("word90", 1)[0].source == "word90"
    assert done == [10]
