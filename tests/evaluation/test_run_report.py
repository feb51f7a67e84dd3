"""What a report says of a run; without TensorFlow."""

import pytest

from seq2seq_cli.attention.evolution import thinned
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.evaluation.run_report import gather, samples_of
from seq2seq_cli.runs.run import Run

START = {"kind": "start", "step": 0, "corpus": "c", "parameters": 7}
TRAINING = [{"kind": "training", "step": s, "loss": 1.0, "seconds": 1.0} for s in range(10, 30)]
VALIDATION = {"kind": "validation", "step": 29, "dev_bleu": 3.0, "samples": [["a", "b", "c"]]}
DIAGNOSIS = {"kind": "diagnosis", "step": 29, "name": "padding", "text": "much"}


@pytest.fixture
def run(tmp_path) -> Run:
    overrides = Overrides()
    overrides.set("training.seed", 3, "test")
    made = Run(tmp_path / "a run")
    made.path.mkdir()
    made.write(load_config(overrides), {})
    for entry in (START, *TRAINING, VALIDATION, DIAGNOSIS):
        made.append_metrics(entry)
    return made


def test_a_report_reads_the_files_of_a_run(run):
    found = gather(run)
    assert found.start == START
    assert found.training == TRAINING
    assert found.validations == [VALIDATION]
    assert found.diagnoses == [DIAGNOSIS]
    assert found.changed == {"training.seed": 3}
    assert found.config["training.seed"] == 3
    assert found.command == "s2s train --attention additive --seed 3"
    assert (found.versions, found.test) == ({}, None)


def test_a_long_command_is_replaced_by_the_config(run):
    overrides = Overrides()
    for name in ("embedding", "encoder", "decoder", "attention"):
        overrides.set(f"model.{name}_units", 100, "test")
    run.rewrite_config(load_config(overrides))
    assert gather(run).command == f"s2s train --config '{run.path}/config.toml'"


def test_a_damaged_config_does_not_hide_the_rest(run):
    (run.path / "config.toml").write_text("x = 1")
    found = gather(run)
    assert (found.config, found.changed) == ({}, {})
    assert found.summary.state == "damaged"
    assert len(found.training) == 20


def test_long_curves_are_thinned_and_keep_their_ends():
    entries = [{"step": step} for step in range(1000)]
    found = thinned(entries, 10)
    assert len(found) == 10
    assert (found[0], found[-1]) == ({"step": 0}, {"step": 999})
    assert thinned(entries, 1000) == entries


def test_samples_show_each_change_once():
    texts = {10: "x", 20: "x", 30: "y", 40: "x"}
    validations = [{"step": s, "samples": [["a", "b", t]]} for s, t in texts.items()]
    (sample,) = samples_of(validations)
    assert (sample.source, sample.reference) == ("a", "b")
    assert sample.translations == [(10, "x"), (30, "y"), (40, "x")]
