import json

import pytest
from conftest import tiny_config
from quick_training import compute_nothing

from seq2seq_cli.errors import UsageError
from seq2seq_cli.recipes import ablation
from seq2seq_cli.recipes.ablation import ablate
from seq2seq_cli.training.events import Heading, ignore


def configs(corpus, **settings):
    limits = {"training__steps": 4, **settings}
    return {
        kind: tiny_config(corpus, model__kind=kind, **limits) for kind in ("rnn", "transformer")
    }


@pytest.fixture(scope="module")
def done(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    with pytest.MonkeyPatch.context() as patch:
        compute_nothing(patch)
        return folder, ablate(configs(corpus), folder, ignore)


def test_each_variant_has_a_heading(done, corpus):
    events = []
    ablate(configs(corpus), done[0], events.append)
    assert events == [Heading("Variant 1 of 2: rnn"), Heading("Variant 2 of 2: transformer")]


def test_each_variant_is_trained_scored_and_written(done):
    folder, rows = done
    assert [row.name for row in rows] == ["rnn", "transformer"]
    assert all(row.steps == 4 and row.pairs_per_second > 0 for row in rows)
    assert [r["bleu"] for r in json.loads((folder / "results.json").read_text())] == [
        row.bleu for row in rows
    ]
    table = (folder / "results.md").read_text()
    assert "| rnn |" in table
    assert rows[0].bleu_signature in table


def test_finished_variants_are_not_trained_again(done, corpus, monkeypatch):
    folder, rows = done

    def fail(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(ablation, "train", fail)
    assert ablate(configs(corpus), folder, ignore) == rows


def test_an_interrupted_ablation_continues(done, corpus):
    folder, rows = done
    (folder / "rnn" / "result.json").unlink()
    (again, _) = ablate(configs(corpus), folder, ignore)
    assert again.bleu == rows[0].bleu


def test_another_config_is_refused(done, corpus):
    with pytest.raises(UsageError, match=r"training\.steps: 4 there, 5 now"):
        ablate(configs(corpus, training__steps=5), done[0], ignore)
