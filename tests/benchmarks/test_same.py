"""What benchmarks/same.py says of two versions of weights, translations and times."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def differences():
    return load("differences")


@pytest.fixture
def same(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return load("same")


def load(name):
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def weights(**arrays):
    return {name: np.array(values, np.float32) for name, values in arrays.items()}


def test_digest_is_that_of_the_arrays_whatever_their_names_and_order(differences):
    first = weights(kernel=[[1, 2], [3, 4]], bias=[5, 6])
    renamed = weights(b=[5, 6], w=[[1, 2], [3, 4]])
    assert differences.digest(first) == differences.digest(renamed)


@pytest.mark.parametrize(
    "other",
    [
        weights(kernel=[[1, 2], [3, np.nextafter(np.float32(4), np.float32(5))]], bias=[5, 6]),
        weights(kernel=[[1, 2, 3, 4]], bias=[5, 6]),
        weights(kernel=[[1, 2], [3, 4]], bias=[6, 5]),
        weights(kernel=[[1, 2], [3, 4]]),
    ],
    ids=["one bit", "shape", "order of elements", "fewer arrays"],
)
def test_digest_tells_apart_what_differs(differences, other):
    first = weights(kernel=[[1, 2], [3, 4]], bias=[5, 6])
    assert differences.digest(first) != differences.digest(other)


def test_difference_names_the_arrays_farthest_apart(differences):
    before = weights(large=[100, -200], small=[0.5, 0.25], equal=[1, 1])
    after = weights(large=[101, -200], small=[0.5, 0.5], equal=[1, 1])
    found = differences.difference(before, after)
    assert found == "2 of 3 arrays differ: by 1 at most (large), relative 0.5 (small)"


def test_difference_says_that_names_do_not_correspond(differences):
    found = differences.difference(weights(a=[1], b=[2]), weights(a=[1], c=[3], d=[4]))
    assert found == "names or shapes differ: 1 arrays only before, 2 only after"


def test_translations_are_compared_by_text_and_score(differences):
    before = [{"translation": "hola", "score": -1.5}, {"translation": "sí", "score": -0.5}]
    after = [{"translation": "hola", "score": -1.25}, {"translation": "no", "score": -0.5}]
    assert differences.compare_translations(before, before) == (2, 0)
    assert differences.compare_translations(before, after) == (1, 0.25)


@pytest.mark.parametrize("after", [[], [{"translation": "hola"}]], ids=["fewer", "no score"])
def test_translations_that_cannot_be_compared_are_an_error(differences, after):
    with pytest.raises(ValueError, match=r"0 after|'score'"):
        differences.compare_translations([{"translation": "hola", "score": -1.5}], after)


def test_more_than_3_percent_slower_by_the_medians_is_marked(differences):
    before = [100.0, 90.0, 500.0]
    verdicts = {
        after: differences.compare_times(before, [after] * 3)[2] for after in (50, 102.9, 103.1)
    }
    assert verdicts == {50: "ok", 102.9: "ok", 103.1: "SLOWER"}


def test_sentences_to_translate_are_not_trained_on(same, tmp_path):
    same.write_material(tmp_path, [(f"source {i}", f"target {i}") for i in range(5000)])
    corpus = [line.split("\t") for line in (tmp_path / "corpus.tsv").read_text().splitlines()]
    sentences = (tmp_path / "sentences.txt").read_text().splitlines()
    assert (len(corpus), len(sentences)) == (same.PAIRS, same.SENTENCES)
    assert not {source for source, _ in corpus} & set(sentences)


def test_a_corpus_that_is_too_small_is_refused(same, tmp_path):
    with pytest.raises(same.FailureError, match="399 pairs"):
        same.write_material(tmp_path, [("source", "target")] * 399)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--before", "no-such-commit"], "--before"),
        (["--before", "HEAD", "--only", "rnn"], "--only"),
        (["--before", "HEAD", "--trials", "0"], "--trials"),
        (["--before", "HEAD", "--data", "no-such-file.tsv"], "no-such-file.tsv"),
    ],
)
def test_a_wrong_option_ends_with_exit_code_2(same, options, message, capsys):
    with pytest.raises(SystemExit) as ended:
        same.parse(options)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
