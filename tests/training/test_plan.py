from pathlib import Path

import pytest
from conftest import tiny_config

from seq2seq_cli.runtime.memory import most_memory
from seq2seq_cli.training.events import Phase
from seq2seq_cli.training.plan import plan


@pytest.mark.parametrize(
    ("limits", "updates"),
    [
        ({"training__steps": 7}, 7),
        ({"training__steps": 7, "training__budget_seconds": 9.0}, 7),
        ({"training__budget_seconds": 9.0}, None),
    ],
)
def test_a_plan_counts_updates_and_memory_and_makes_nothing(limits, updates, corpus, workdir):
    events = []
    config = tiny_config(corpus, **limits)
    planned = plan(config, events.append, device="CPU (A)")
    assert planned.updates == updates
    assert planned.summary.run == "runs/001-rnn-additive"
    assert planned.summary.computation.device == "CPU (A)"
    assert planned.memory.state == 4 * 4 * planned.summary.parameters
    assert planned.memory.total > planned.memory.logits > 4 * 300 * config.training.batch_tokens
    assert planned.available_memory == most_memory()
    assert all(isinstance(event, Phase) for event in events)
    assert list(workdir.iterdir()) == []


def test_epochs_are_counted_in_updates(corpus, workdir):
    planned = plan(tiny_config(corpus, training__epochs=3), lambda event: None, "mine")
    assert planned.updates == 3 * planned.summary.batches_per_epoch
    assert planned.summary.run == str(Path("runs/mine"))
