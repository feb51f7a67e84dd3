"""Re-ranking by a run of the opposite direction."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import invoke, s2s, tiny_config
from pydantic import ValidationError

import seq2seq_cli
from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.decoding.loading import LoadedRun, load_reverse, load_run
from seq2seq_cli.decoding.reranking import Reranker
from seq2seq_cli.decoding.scoring import Score
from seq2seq_cli.decoding.translator import Translation
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import Validation, ignore
from seq2seq_cli.training.loop import train

pytestmark = pytest.mark.usefixtures("uncompiled")
SENTENCES = ["I see one apples.", "", "they want many cats.", "we sell few books."]
SAMPLES = {"sample": True, "temperature": 2.0, "rerank_hypotheses": 6}


@pytest.fixture(scope="module")
def reverse(corpus, tmp_path_factory) -> Path:
    """A run of the opposite direction that has learned little."""
    settings = {"training__steps": 30, "training__peak_learning_rate": 0.02}
    languages = {"data__source_language": "es", "data__target_language": "en"}
    path = tmp_path_factory.mktemp("reverse") / "es-en"
    train(tiny_config(corpus, **settings, **languages), ignore, name=str(path))
    return path


@pytest.fixture(scope="module")
def loaded(trained) -> LoadedRun:
    return load_run(Run(trained), ignore)


def hypotheses(loaded: LoadedRun, **options) -> list[list[Translation]]:
    found = loaded.translator(DecodingConfig(**options), compiled=False).translate(SENTENCES)
    return [[each, *each.others] for each in found]


@pytest.mark.parametrize("search", [{"beam": 6}, SAMPLES], ids=["beam", "samples"])
@pytest.mark.parametrize(("penalty", "weight"), [(0.0, 1.0), (0.6, 0.3), (0.0, 0.0)])
@pytest.mark.few_cases(3)
def test_scores_are_those_of_both_directions(loaded, reverse, search, penalty, weight):
    search = {**search, "length_penalty": penalty}
    plain = {key: value for key, value in search.items() if key != "rerank_hypotheses"}
    everything = hypotheses(loaded, **plain, n_best=6)
    ranked = hypotheses(loaded, **search, n_best=4, rerank=str(reverse), rerank_weight=weight)
    scorer = load_run(Run(reverse), ignore).scorer(compiled=False)
    for source, found, best in zip(SENTENCES, everything, ranked, strict=True):
        if not source:
            assert best == found == [Translation("")]
            continue
        scored = scorer.score([(each.text, source) for each in found])
        logs = np.array([each.log_probability for each in scored])
        lengths = np.array([len(each.tokens) for each in scored])
        scores = [each.score for each in found] + weight * logs / ((5 + lengths) / 6) ** penalty
        order = np.argsort(-scores, kind="stable")
        texts = [found[i].text for i in order]
        order = [i for n, i in enumerate(order) if texts[n] not in texts[:n]][:4]
        assert [each.text for each in best] == [found[i].text for i in order]
        assert not any(each.others for each in best[1:])
        assert [each.score for each in best] == pytest.approx(scores[order], abs=1e-3)
        assert [each.reverse_log_probability for each in best] == pytest.approx(
            logs[order], abs=1e-3
        )
        assert [each.log_probability for each in best] == pytest.approx(
            [found[i].log_probability for i in order], abs=1e-3
        )


class Reversed:
    """A scorer that gives each translation a log-probability."""

    def __init__(self, logs: dict[str, float]):
        self.logs, self.asked = logs, []

    def score(self, pairs: list[tuple[str, str]], parts: int | None) -> list[Score]:
        self.asked += pairs
        return [Score(self.logs[text], ["x", "</s>"], [0, 0]) for text, _ in pairs]


def test_re_ranking_raises_translations_that_predict_the_source():
    found = [Translation(text, score) for text, score in zip("abab", (-1, -2, -3, -4), strict=True)]
    scorer = Reversed({"a": -5.0, "b": -3.0})
    config = DecodingConfig(beam=4, n_best=3, rerank="x", rerank_weight=1.0, length_penalty=0)
    (best,) = Reranker(scorer, config)(["source"], [found])
    assert [(each.text, each.score) for each in best] == [("b", -5), ("a", -6)]  # each once
    assert scorer.asked == [("a", "source"), ("b", "source")]  # each once
    (best,) = Reranker(scorer, config.model_copy(update={"rerank_weight": 0.5}))(["s"], [found])
    assert [(each.text, each.score) for each in best] == [("a", -3.5), ("b", -3.5)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rerank": "x"}, "has nothing to choose from: there is one hypothesis"),
        ({"rerank": "x", "sample": True}, "needs a number of samples. Add decoding.rerank_hyp"),
        ({"rerank": "x", "beam": 4, "rerank_hypotheses": 5}, "more hypotheses than a beam of 4"),
        ({"rerank": "x", "beam": 4, "rerank_hypotheses": 2, "n_best": 3}, "asks for more transl"),
        ({"rerank": "x", "beam": 4, "mbr": 4}, "exclude each other: both choose among"),
        ({"rerank_weight": 2.0}, "only re-ranking uses decoding.rerank_weight = 2.0"),
        ({"beam": 4, "rerank_hypotheses": 2}, "only re-ranking uses decoding.rerank_hypotheses"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ValidationError, match=message):
        DecodingConfig(**options)


def test_a_run_of_the_same_direction_is_refused(loaded, trained):
    message = r"--rerank.*translates from en to es.*needs a run from es to en"
    with pytest.raises(UsageError, match=message):
        load_reverse(str(trained), loaded.languages, ignore)


def test_a_run_that_is_not_there_is_named(loaded, tmp_path):
    with pytest.raises(CheckpointError, match=r"decoding.rerank \(--rerank\): .*no such run"):
        load_reverse(str(tmp_path / "none"), loaded.languages, ignore)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"--rerank\): .*no training has started"):
        load_reverse(str(tmp_path / "empty"), loaded.languages, ignore)


def test_the_commands_and_python_take_it(home, reverse, trained):
    options = ["--run", trained.name, "--device", "cpu", "--beam", "4"]
    rerank = ["--rerank", str(reverse), "--rerank-weight", "0.7"]
    (line,) = invoke("translate", SENTENCES[0], *options, *rerank, "--n-best", "2", "--json")
    record = json.loads(line)
    found = [record, *record["others"]]
    assert len(found) == 2
    assert found[0]["score"] >= found[1]["score"]
    assert all(each["reverse_log_probability"] < 0 for each in found)
    (line,) = invoke("eval", *options, *rerank, "--json")
    assert json.loads(line)["search"] == "beam 4, 4 re-ranked"
    model = seq2seq_cli.load(trained, device="cpu")
    ranked = model.translate(
        SENTENCES[0], beam=4, n_best=2, rerank=str(reverse), rerank_weight=0.7, with_scores=True
    )
    assert [each.text for each in ranked] == [each["translation"] for each in found]
    assert [each.score for each in ranked] == pytest.approx(
        [each["score"] for each in found], abs=1e-3
    )
    with pytest.raises(CheckpointError, match=r"rerank.*no such run"):
        model.translate(SENTENCES[0], beam=4, rerank="nothing")
    code, _, error = s2s("translate", SENTENCES[0], *options, "--rerank", trained.name)
    assert code == 2
    assert "translates from en to es" in error
    code, _, error = s2s("translate", SENTENCES[0], "--run", trained.name, "--rerank", "x")
    assert code == 2
    assert "--rerank x has nothing to choose from" in error


def test_a_loaded_reverse_run_is_not_loaded_again(loaded, reverse, monkeypatch):
    other = load_reverse(str(reverse), loaded.languages, ignore)
    monkeypatch.setattr("seq2seq_cli.decoding.loading.load_reverse", None)
    decoding = DecodingConfig(beam=3, rerank=str(reverse))
    (found,) = AttentionReader(loaded, decoding, reverse=other).read([(SENTENCES[0], None)])
    assert found.translation


@pytest.mark.slow
def test_validation_re_ranks_too(corpus, reverse, tmp_path):
    def samples(**decoding) -> list[tuple[str, str, str]]:
        config = tiny_config(corpus, training__steps=12, decoding__beam=4, **decoding)
        events: list = []
        path = tmp_path / f"{len(decoding)}"
        train(config, events.append, name=str(path))
        return [each.samples for each in events if isinstance(each, Validation)][-1]

    assert samples() != samples(decoding__rerank=str(reverse), decoding__rerank_weight=50.0)
    with pytest.raises(CheckpointError, match="no such run"):
        samples(decoding__rerank="nothing")
