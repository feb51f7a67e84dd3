"""The figures of a training on disk."""

from pathlib import Path

import pytest
from conftest import tiny_config

from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.summary import summarise
from seq2seq_cli.training.events import Notice, ignore
from seq2seq_cli.training.loop import train


@pytest.mark.usefixtures("workdir")
def test_the_end_of_a_training_is_recorded_once(corpus):
    config = tiny_config(corpus, training__steps=4)
    run = Run(Path(train(config, ignore).run))
    train(config, ignore, resume=run)
    ends = [entry for entry in run.metrics() if entry["kind"] == "end"]
    assert len(ends) == 1
    assert (ends[0]["step"], ends[0]["reason"]) == (4, "the training is complete")
    assert run.metrics()[-1] == ends[0]
    assert summarise(run).state == "done"


@pytest.mark.usefixtures("workdir")
def test_the_start_of_a_training_is_recorded_once(corpus):
    config = tiny_config(corpus, training__steps=4)
    run = Run(Path(train(config, ignore, device="a device").run))
    train(config, ignore, resume=run)
    starts = [entry for entry in run.metrics() if entry["kind"] == "start"]
    assert run.metrics()[0] == starts[0]
    assert len(starts) == 1
    assert starts[0]["pairs"] == 500
    assert starts[0]["computation"]["device"] == "a device"
    assert "config" not in starts[0]


@pytest.mark.usefixtures("workdir")
def test_a_problem_is_told_and_recorded(tmp_path):
    pairs = [f"{'a ' * (1 + n % 40)}{n}\t{'b ' * (40 - n % 40)}{n}\n" for n in range(400)]
    (tmp_path / "uneven.tsv").write_text("".join(pairs), encoding="utf-8")
    config = tiny_config(tmp_path / "uneven.tsv", training__steps=12, training__batch_tokens=4000)
    events = []
    run = Run(Path(train(config, events.append).run))
    told = [event.text for event in events if isinstance(event, Notice)]
    (recorded,) = [entry for entry in run.metrics() if entry["kind"] == "diagnosis"]
    assert recorded["name"] == "padding"
    assert f"diagnosis: {recorded['text']}." in told
    validation = next(entry for entry in run.metrics() if entry["kind"] == "validation")
    assert validation["unigram_loss"] > 0
    assert validation["attention_entropy"] is None  # the pairs are too long


@pytest.mark.usefixtures("workdir")
@pytest.mark.parametrize("kind", ["transformer", "decoder_only"])
def test_every_architecture_has_figures_of_attention(corpus, kind):
    config = tiny_config(corpus, model__kind=kind, training__steps=2)
    run = Run(Path(train(config, ignore).run))
    (validation,) = [entry for entry in run.metrics() if entry["kind"] == "validation"]
    assert 0 < validation["attention_entropy"] <= 1
    assert 0 <= validation["attention_still_share"] <= 1
