import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import tiny_config
from quick_training import SCORES, compute_nothing

from seq2seq_cli.errors import DataError, RunInterruptedError, UsageError
from seq2seq_cli.recipes import ablation
from seq2seq_cli.recipes.ablation import ablate, to_markdown
from seq2seq_cli.training.events import Heading, ignore


def configs(corpus, **settings):
    limits = {"training__steps": 4, **settings}
    return {
        kind: tiny_config(corpus, model__kind=kind, **limits) for kind in ("rnn", "transformer")
    }


def scoring(first: float) -> Callable[..., SimpleNamespace]:
    """Return what stands for `evaluate`: BLEU is `first`, and one more at each call."""
    bleu = itertools.count(first)
    return lambda *of, show: SimpleNamespace(scores=replace(SCORES, bleu=float(next(bleu))))


@pytest.fixture(scope="module")
def done(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    with pytest.MonkeyPatch.context() as patch:
        compute_nothing(patch)
        patch.setattr(ablation, "evaluate", scoring(20))
        return folder, ablate(configs(corpus), folder, ignore)


def test_each_variant_has_a_heading(done, corpus):
    events = []
    ablate(configs(corpus), done[0], events.append)
    assert events == [Heading("Variant 1 of 2: rnn"), Heading("Variant 2 of 2: transformer")]


def test_each_variant_is_trained_scored_and_written(done):
    folder, rows = done
    assert [(row.name, row.bleu) for row in rows] == [("rnn", 20), ("transformer", 21)]
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


def test_an_interrupted_ablation_continues(done, corpus, monkeypatch):
    monkeypatch.setattr(ablation, "evaluate", scoring(40))
    folder, rows = done
    result = folder / "rnn" / "result.json"
    before = result.read_text()
    result.unlink()
    (again, other) = ablate(configs(corpus), folder, ignore)
    assert again == replace(rows[0], bleu=40.0, seconds=again.seconds)
    assert other == rows[1]
    result.write_text(before)


def test_a_damaged_result_is_named(done, corpus):
    result = done[0] / "rnn" / "result.json"
    before = result.read_text()
    for damaged in ("", before[:20], '{"name": "rnn"}'):
        result.write_text(damaged)
        with pytest.raises(DataError, match=r"result\.json: is damaged. Remove it"):
            ablate(configs(corpus), done[0], ignore)
    result.write_text(before)


def test_the_table_names_the_versions_of_each_result(done):
    rows = done[1]
    assert to_markdown(rows).endswith(f"; {rows[0].versions}.\n")
    table = to_markdown([rows[0], replace(rows[1], versions="")])
    assert f"; rnn: {rows[0].versions}; transformer: versions not known." in table


def test_an_interrupted_variant_continues_with_the_same_command(corpus, tmp_path, monkeypatch):
    def stop(*args):
        raise RunInterruptedError("Continue with: s2s train --resume", 2)

    monkeypatch.setattr(ablation, "train", stop)
    with pytest.raises(RunInterruptedError, match="^Stopped in rnn, .*same command") as raised:
        ablate(configs(corpus), tmp_path, ignore)
    assert raised.value.exit_code == 130


def test_another_config_is_refused(done, corpus):
    with pytest.raises(UsageError, match=r"training\.steps: 4 there, 5 now"):
        ablate(configs(corpus, training__steps=5), done[0], ignore)
    with pytest.raises(UsageError, match=r"training\.steps: 4 there, None now"):
        ablate(configs(corpus, training__steps=None), done[0], ignore)
