"""What a training logs for TensorBoard, read back by TensorBoard."""

import dataclasses
import shutil
from pathlib import Path

import pytest
import tensorflow as tf

from seq2seq_cli.errors import DiskError
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.memory import memory_errors
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.logs import Logs
from seq2seq_cli.training.tensorboard import TensorBoardLog

accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="it comes with the extra `test`",
)
VALIDATED = [100, 200, 300]
SCALARS = {
    *(f"training/{name}" for name in ("loss", "learning_rate", "gradient_norm")),
    *(f"training/{name}" for name in ("pairs_per_second", "padding_share")),
    *(f"validation/{name}" for name in ("dev_loss", "dev_bleu", "dev_chrf", "attention_entropy")),
}


def read(run: Run):
    """Return what TensorBoard finds in a run's folder."""
    everything = {accumulator.TENSORS: 0}
    found = accumulator.EventAccumulator(str(run.logs), everything, purge_orphaned_data=False)
    return found.Reload()


def scalars(found) -> set[str]:
    """Return the tags that TensorBoard's plugin for scalars shows."""
    return set(found.PluginTagToContent("scalars"))


def steps(found, tag: str) -> list[int]:
    return [event.step for event in found.Tensors(tag)]


def values(found, tag: str) -> list[float]:
    return [float(tf.make_ndarray(event.tensor_proto)) for event in found.Tensors(tag)]


@pytest.fixture(scope="module")
def run(trained) -> Run:
    return Run(trained)


def test_every_figure_is_a_scalar(run):
    found = read(run)
    assert scalars(found) >= SCALARS
    assert steps(found, "training/loss") == [*range(10, 301, 10)]
    assert steps(found, "validation/dev_bleu") == VALIDATED
    wanted = [entry["loss"] for entry in run.metrics() if entry["kind"] == "training"]
    assert values(found, "training/loss") == pytest.approx(wanted)


def test_samples_are_texts(run):
    found = read(run)
    metadata = found.SummaryMetadata("samples/0")
    assert metadata.plugin_data.plugin_name == "text"
    first = found.Tensors("samples/0")[0]
    cells = tf.make_ndarray(first.tensor_proto).tolist()
    validation = next(entry for entry in run.metrics() if entry["kind"] == "validation")
    assert [cell.decode() for _, cell in cells] == validation["samples"][0]
    assert steps(found, "samples/0") == VALIDATED


def test_attention_maps_are_images_of_the_kept_sentences(run):
    found = read(run)
    tags = [f"attention/{number}" for number in range(3)]
    assert sorted(found.PluginTagToContent("images")) == tags
    kept = run.attention.read()
    for tag, sentence in zip(tags, kept[0].sentences, strict=True):
        assert steps(found, tag) == VALIDATED
        metadata = found.SummaryMetadata(tag)
        assert metadata.summary_description == f"{sentence.source} → {sentence.reference}"
        for event in found.Tensors(tag):
            width, height, png = tf.make_ndarray(event.tensor_proto).tolist()
            pixels = tf.io.decode_png(png)
            assert pixels.shape == (int(height), int(width), 3)
            assert pixels.shape[1] >= 30 * len(sentence.source_side.words)


def test_the_config_is_in_the_plugin_of_hyperparameters(run):
    from tensorboard.plugins.hparams import metadata

    content = read(run).SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
    found = metadata.parse_session_start_info_plugin_data(content).hparams
    assert found["model.kind"].string_value == "rnn"
    assert found["training.steps"].number_value == 300
    assert found["training.peak_learning_rate"].number_value > 0


@pytest.mark.parametrize("error", [tf.errors.ResourceExhaustedError, tf.errors.UnknownError])
def test_events_that_cannot_be_written_are_an_error_of_the_disk(tmp_path, monkeypatch, error):
    log = TensorBoardLog(tmp_path, [], {}, [])

    def full():
        raise error(None, None, "No space left on device")

    monkeypatch.setattr(log._writer, "flush", full)
    with memory_errors("too little memory"), pytest.raises(DiskError, match="No space left"):
        log.write({"step": 1, "loss": 2.0})
    (tmp_path / "events.out.tfevents.1").mkdir()
    with pytest.raises(DiskError, match="cannot be written"):
        TensorBoardLog(tmp_path, [], {}, [])


def test_after_a_kill_and_a_resume_no_step_is_repeated(run, tmp_path):
    # The training was killed after update 300, and its last checkpoint was that of update 200.
    run = Run(Path(shutil.copytree(run.path, tmp_path / "killed")))
    logs = Logs(run, 200, [], ignore)
    assert steps(read(run), "training/loss") == [*range(10, 201, 10)]
    again = {"kind": "training", "step": 210, "loss": 9.0}
    logs._append(again)
    found = read(run)
    assert steps(found, "training/loss") == [*range(10, 211, 10)]
    assert values(found, "training/loss")[-1] == 9
    assert steps(found, "samples/0") == [100, 200]
    assert steps(found, "attention/0") == [100, 200]
    logs.keep_attention(dataclasses.replace(run.attention.read()[0], step=300))
    assert steps(read(run), "attention/0") == VALIDATED
    assert len(list(run.logs.iterdir())) == 1
