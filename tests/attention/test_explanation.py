"""Explanations of translations."""

import json

import numpy as np
import pytest
from conftest import tiny_config

from seq2seq_cli.attention.explanation import Explainer, training_index
from seq2seq_cli.attention.neighbours import Index
from seq2seq_cli.config.data import CorpusConfig
from seq2seq_cli.data.corpus import read_corpus
from seq2seq_cli.data.pairs import in_memory
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.runs.run import Run

SENTENCE = "I see one cats."
TRAINING = [("I eat one cats.", "yo comer un gatos."), ("they see few books.", "ellos")]


def fail(*arguments) -> None:
    raise AssertionError(arguments)


@pytest.fixture(scope="module")
def loaded(trained):
    return load_run(Run(trained), fail)


def explain(loaded, sentence: str = SENTENCE, target: str | None = None, **options):
    decoding = loaded.decoding.model_copy(update=options)
    index = Index.build(in_memory(TRAINING))
    (found,) = Explainer(loaded, decoding, index).explain([(sentence, target)])
    return found


def test_each_word_has_a_probability_attention_and_alternatives(loaded):
    found = explain(loaded)
    assert [word.word for word in found.words] == ["yo", "mirar", "un", "gatos.", "</s>"]
    for word, row in zip(found.words, found.attention.word_weights, strict=True):
        assert word.probability == pytest.approx(
            np.prod([piece.probability for piece in word.pieces]), rel=1e-6
        )
        key, weight = word.looked_at[0]
        assert weight == row.max()
        assert key == found.attention.source_words[row.argmax()]
        assert all(len(piece.runners_up) == 5 for piece in word.pieces)


def test_the_best_leaf_of_the_beam_tree_is_the_translation(loaded):
    found = explain(loaded, beam=3)
    best = max(
        (node for node in found.search if node.fate == "finished"), key=lambda node: node.score
    )
    pieces, node = [], best
    while node is not None:
        pieces.insert(0, node.text)
        node = None if node.parent is None else found.search[node.parent]
    assert pieces == found.attention.target_tokens
    assert {node.fate for node in found.search} == {"kept", "finished", "dropped"}


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "target": "yo"}])
def test_greedy_and_given_translations_have_no_tree(loaded, options):
    assert explain(loaded, **options).search == []


def test_similar_training_pairs_and_new_words_are_found(loaded):
    found = explain(loaded, "I see many cats.")
    assert [each.source for each in found.nearest] == [source for source, _ in TRAINING]
    assert found.nearest[0].shared == ["i", "cats"]
    assert found.unseen == ["many"]
    assert ("i", "see") in found.never_together


def test_the_record_is_json_and_a_blank_source_has_none(loaded):
    record = json.loads(json.dumps(explain(loaded, beam=2).record()))
    assert record["words"][0]["pieces"][0]["runners_up"][0].keys() == {"piece", "probability"}
    assert record["search"][0]["fate"] in ("kept", "finished", "dropped")
    assert record["nearest"][0]["target"] == TRAINING[0][1]
    assert Explainer(loaded, loaded.decoding, None).explain([(" ", None)]) == [None]


def test_the_index_is_built_once(corpus, loaded, tmp_path):
    stages, warned = [], []

    def index():
        return training_index(
            tiny_config(corpus).data,
            loaded.state.data_fingerprint,
            tmp_path,
            warned.append,
            lambda stage, *counts: stages.append(stage),
        )

    built = index()
    assert "Indexing" in stages
    stages.clear()
    again = index()
    assert stages == []
    assert again.nearest(SENTENCE, 3) == built.nearest(SENTENCE, 3)
    assert warned == []


def test_another_split_of_the_corpus_has_another_index(corpus, loaded, tmp_path):
    for seed in (0, 1):
        data = tiny_config(corpus, data__split_seed=seed).data
        training_index(data, loaded.state.data_fingerprint, tmp_path, pytest.fail)
    assert len([*tmp_path.iterdir()]) == 2


def test_a_corpus_that_only_trains_has_another_index(corpus, tmp_path):
    (tmp_path / "more.tsv").write_text(
        "".join(f"word{i}\tpalabra{i}\n" for i in range(99)), "utf-8"
    )
    fingerprints = set()
    for only in (False, True):
        more = CorpusConfig(corpus=str(tmp_path / "more.tsv"), train_only=only)
        data = tiny_config(corpus).data.model_copy(
            update={"corpus": None, "sources": [CorpusConfig(corpus=str(corpus)), more]}
        )
        fingerprints.add(read_corpus(data).fingerprint)
        training_index(data, *fingerprints, tmp_path / "indexes", pytest.fail)
    assert len(fingerprints) == 1
    assert len([*(tmp_path / "indexes").iterdir()]) == 2


def test_a_missing_training_corpus_gives_a_warning_and_no_index(corpus, loaded, tmp_path):
    def index(path, fingerprint, warned):
        data = tiny_config(path).data
        return training_index(data, fingerprint, tmp_path, warned.append)

    warned: list[str] = []
    assert index(tmp_path / "none.tsv", "0", warned) is None
    assert index(corpus, "0" * 64, warned) is None
    assert "none.tsv" in warned[0]
    assert "is not the corpus of the run" in warned[1]
    assert all(text.startswith("there are no nearest training pairs") for text in warned)


def test_an_index_that_cannot_be_stored_is_still_used(corpus, loaded, tmp_path):
    (tmp_path / "file").write_text("")
    warned: list[str] = []
    found = training_index(
        tiny_config(corpus).data,
        loaded.state.data_fingerprint,
        tmp_path / "file",
        warned.append,
    )
    assert found.pairs > 100
    assert "cannot be written" in warned[0]
