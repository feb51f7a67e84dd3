from pathlib import Path

import pytest
from conftest import tiny_config

from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.training import setup as module
from seq2seq_cli.training.events import Phase, Summary
from seq2seq_cli.training.setup import compile_ahead, set_up


def test_a_resumed_training_loads_its_tokenizers(corpus, tmp_path, monkeypatch):
    config = tiny_config(corpus)
    first = set_up(config)
    run = Run(tmp_path)
    run.write(config, first.tokenizers.files())
    monkeypatch.setattr(module, "tokenizers_of", lambda *args: pytest.fail("learned again"))
    events = []
    again = set_up(config, events.append, resume=run)
    assert again.tokenizers.fingerprints == first.tokenizers.fingerprints
    assert [event.text for event in events] == [
        "Reading the corpus",
        "Splitting the corpus",
        "Tokenizing the corpus",
        "Tokenizing the corpus",
        "Building the model",
    ]


def test_a_resumed_training_has_the_batches_that_it_began_with(corpus, tmp_path):
    config = tiny_config(corpus)
    first = set_up(config)
    run = Run(tmp_path)
    run.write(config, first.tokenizers.files())
    for cost, expected in ((64_000, 64_000), (0, first.data.shape_cost)):
        run.write_computation(Computation("float32", 1, shape_cost=cost).to_json())
        assert set_up(config, resume=run).data.shape_cost == expected


def test_an_updater_has_the_given_settings(corpus):
    updater = set_up(tiny_config(corpus)).updater(Computation("bfloat16", 3))
    assert (updater.precision, updater.shards) == ("bfloat16", 3)


def test_a_summary_has_the_figures_of_a_setup(corpus):
    config = tiny_config(corpus, training__max_source_tokens=8, tokenizer__kind="words")
    setup = set_up(config)
    computation = Computation("float32", 1)
    summary = setup.summary(Run(Path("runs/x")), computation)
    assert isinstance(summary, Summary)
    assert summary.run == "runs/x"
    assert summary.config is config
    assert summary.computation is computation
    sides = summary.train_pairs, summary.dev_pairs, summary.test_pairs
    assert sides == (setup.data.pairs, len(setup.corpus.dev), len(setup.corpus.test))
    assert summary.pairs == sum(sides) + summary.dropped["too long for training"] == 500
    assert summary.batches_per_epoch == len(list(setup.data.batches(epoch=0)))
    assert summary.parameters == setup.model.count_params()


@pytest.mark.parametrize(("compiled", "told"), [("graph", False), ("auto", True)])
def test_updates_are_compiled_ahead_for_all_shapes_except_plain_graphs(corpus, compiled, told):
    setup = set_up(tiny_config(corpus, training__compile=compiled))
    shapes = setup.data.shapes()
    events, given = [], []

    class Recorder:
        def compile_for(self, shapes, progress):
            given.extend(shapes)
            progress(1)

    compile_ahead(setup, Recorder(), events.append)
    text = f"Compiling for {len(shapes)} batch shapes"
    counts = [Phase(text, "done", done, len(shapes)) for done in (0, 1)]
    assert events == (counts if told else [])
    assert given == (shapes if told else [])
