from pathlib import Path

import pytest
from conftest import tiny_config
from quick_training import SMALLEST

from seq2seq_cli.errors import UsageError
from seq2seq_cli.runtime.memory import most_memory
from seq2seq_cli.training import plan as module
from seq2seq_cli.training.events import Phase
from seq2seq_cli.training.plan import plan
from seq2seq_cli.training.setup import set_up


@pytest.mark.parametrize(
    ("limits", "updates"),
    [
        ({"training__steps": 7}, 7),
        ({"training__steps": 7, "training__budget_seconds": 9.0}, 7),
        ({"training__budget_seconds": 9.0}, None),
    ],
)
@pytest.mark.few_cases(1)
def test_a_plan_counts_updates_and_memory_and_makes_nothing(limits, updates, corpus, workdir):
    events = []
    config = tiny_config(corpus, **limits)
    planned = plan(config, events.append, device="CPU (A)")
    assert planned.updates == updates
    assert planned.summary.run == "runs/001-rnn-additive"
    assert planned.summary.computation.device == "CPU (A)"
    assert planned.memory.weights == 4 * planned.summary.parameters
    assert planned.memory.batch > 4 * 300 * config.training.batch_tokens  # the logits
    assert planned.memory.process > 1e8
    assert planned.available_memory == most_memory()
    assert all(isinstance(event, Phase) for event in events)
    assert list(workdir.iterdir()) == []
    assert 0 < planned.times.update < 5
    if updates is None:
        assert (planned.validations, planned.seconds) == (None, 9.0)
    else:
        assert planned.validations == 1
        time_of_all = planned.times.compilation + updates * planned.times.update
        assert planned.seconds == min(time_of_all, limits.get("training__budget_seconds", 1e9))


def test_compilation_is_estimated_for_all_shapes(corpus, monkeypatch):
    setup = set_up(tiny_config(corpus, training__compile="auto", training__batch_tokens=64))
    now, compiled = [0.0], []

    def compile_for(shapes, updater, on_event):
        now[0] += 1.0
        compiled.extend(shapes)

    class Updates:
        def update(self, batches, number, learning_rate):
            (batch,) = batches
            now[0] += 0.25 * int(batch.source_BS.shape[1])

    monkeypatch.setattr(module, "compile_for", compile_for)
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    times = module.measured_times(setup, Updates(), lambda event: None)
    shapes = setup.data.shapes()
    assert set(compiled) <= set(shapes)
    assert times.compilation == len(shapes) / len(compiled)
    lengths = [int(batch.source_BS.shape[1]) for batch in setup.data.batches(epoch=0)]
    assert times.update == pytest.approx(0.25 * sum(lengths) / len(lengths), rel=0.1)


def test_epochs_are_counted_in_updates(corpus, workdir):
    planned = plan(tiny_config(corpus, **SMALLEST, training__epochs=3), lambda event: None, "mine")
    assert planned.updates == 3 * planned.summary.batches_per_epoch
    assert planned.summary.run == str(Path("runs/mine"))


def test_a_training_that_needs_more_memory_than_there_is_is_refused(corpus, monkeypatch):
    monkeypatch.setattr(module, "most_memory", lambda: 10**8)
    message = r"needs about \d\.\d GB of memory, and 0\.1 GB are available. Lower one of training"
    with pytest.raises(UsageError, match=message):
        plan(tiny_config(corpus, **SMALLEST), lambda event: None)
