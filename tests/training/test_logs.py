"""The figures of a training on disk."""

from pathlib import Path

import pytest
from conftest import tiny_config
from quick_training import compute_nothing

from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.summary import summarise
from seq2seq_cli.training.events import Notice, ignore
from seq2seq_cli.training.loop import train


@pytest.mark.usefixtures("workdir")
def test_start_and_end_of_a_training_are_recorded_once(corpus, monkeypatch):
    compute_nothing(monkeypatch)
    config = tiny_config(corpus, training__steps=4)
    run = Run(Path(train(config, ignore, device="a device").run))
    train(config, ignore, resume=run)
    first, *_, last = entries = run.metrics()
    assert [entry["kind"] for entry in entries if entry["kind"] in ("start", "end")] == [
        "start",
        "end",
    ]
    assert (first["kind"], first["pairs"]) == ("start", 500)
    assert first["computation"]["device"] == "a device"
    assert "config" not in first
    assert (last["kind"], last["step"]) == ("end", 4)
    assert last["reason"] == "the training is complete"
    assert summarise(run).state == "done"


@pytest.mark.usefixtures("workdir")
@pytest.mark.slow
def test_a_problem_is_reported_and_recorded(tmp_path):
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
