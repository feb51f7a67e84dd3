"""What a model without attention gives, and what it refuses."""

import json

import numpy as np
import pytest
from conftest import s2s, tiny_config

from seq2seq_cli.attention.growing import Grower
from seq2seq_cli.attention.reader import AttentionReader
from seq2seq_cli.decoding.loading import LoadedRun, load_run
from seq2seq_cli.errors import UsageError
from seq2seq_cli.evaluation.split_scores import attention_maps
from seq2seq_cli.models import build_model
from seq2seq_cli.models.ensemble import Ensemble
from seq2seq_cli.runs.run import Run
from seq2seq_cli.serving.engine import RunEngine
from seq2seq_cli.serving.work import Work

SENTENCE = "I see one cats."


@pytest.fixture(scope="module")
def loaded(trained) -> LoadedRun:
    loaded = load_run(Run(trained), warn=pytest.fail)
    config = tiny_config(None, model__attention="none").model
    return loaded._replace(model=build_model(config, loaded.tokenizers.vocabularies, seed=3))


def test_maps_are_refused(loaded):
    with pytest.raises(UsageError, match=r"has no attention to show: .* model.attention = 'none'"):
        AttentionReader(loaded)
    assert attention_maps(loaded, test_set=None) == []


@pytest.mark.parametrize("options", [{"alignments": True}, {"coverage_penalty": 0.2}])
def test_commands_that_need_attention_are_refused(loaded, options):
    penalty = options.pop("coverage_penalty", 0.0)
    config = loaded.decoding.model_copy(update={"coverage_penalty": penalty})
    with pytest.raises(UsageError, match="need attention, and this model has none"):
        loaded.translator(config, **options)


def test_a_translation_grows_with_an_empty_map(loaded):
    *_, grown = Grower(loaded).grow(SENTENCE)
    assert not np.any(grown.view.weights)
    assert grown.text == loaded.translator(compiled=False).translate([SENTENCE])[0].text


def test_a_server_answers_without_a_map(loaded):
    engine = RunEngine([(loaded, "")])
    (run,) = engine.runs
    work = Work("attention", run.name, run.directions[0].target, run.decoding)
    assert engine.compute(work, [(SENTENCE, "yo")]) == [None]


def test_the_attention_of_an_ensemble_is_that_of_the_members_that_have_it(trained, loaded):
    attending = load_run(Run(trained), warn=pytest.fail).model
    source, target = np.array([[7, 8, 3]], np.int32), np.array([[2, 9]], np.int32)
    _, alone = attending.reported_attention(source, target)
    _, both = Ensemble([attending, loaded.model]).reported_attention(source, target)
    np.testing.assert_allclose(both, alone, atol=1e-6)
    none = Ensemble([loaded.model, loaded.model])
    assert not none.has_attention
    assert not np.any(none.reported_attention(source, target)[1])


def test_training_writes_no_attention_figures_or_maps(corpus, workdir):
    settings = {"model__attention": "none", "tokenizer__kind": "words", "training__steps": 2}
    config = tiny_config(corpus, **settings)
    (workdir / "none.toml").write_text(config.to_toml(), encoding="utf-8")
    code, _, error = s2s("train", "--config", "none.toml", "--quiet")
    assert code == 0, error
    (folder,) = (workdir / "runs").iterdir()
    assert folder.name == "001-rnn-none"
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    (entry,) = (e for e in map(json.loads, lines) if e["kind"] == "validation")
    assert entry["attention_entropy"] is None
    assert list(Run(folder).attention.read()) == []
    code, _, error = s2s("attention", SENTENCE, "--device", "cpu")
    assert code == 2
    assert "has no attention to show" in " ".join(error.split())
    assert s2s("translate", SENTENCE, "--device", "cpu")[0] == 0
    assert s2s("report", "--no-test")[0] == 0
