"""What a training leaves in MLflow's file store, read back by MLflow."""

import os
import subprocess
import sys

import pytest
from conftest import tiny_config

from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.trackers import Trackers

mlflow = pytest.importorskip("mlflow", reason="it comes with the extra `mlflow`")

SAMPLES = [("I see.", "yo veo.", "él ve."), ("we eat.", "comemos.", "¿\n?")]


def training(step: int) -> dict:
    return {"kind": "training", "step": step, "epoch": 1, "loss": 5 - step / 100, "dev_bleu": None}


def validation(step: int) -> dict:
    return {"kind": "validation", "step": step, "dev_bleu": step / 10, "samples": SAMPLES}


def no_warning(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture
def run(workdir, monkeypatch) -> Run:
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    run = Run(workdir / "runs/001-rnn")
    run.write(tiny_config("x"), {})
    return run


def found():
    """Return MLflow's client and the only run of its experiment."""
    client = mlflow.MlflowClient(tracking_uri="file:mlruns")
    experiment = client.get_experiment_by_name("s2s")
    (one,) = client.search_runs([experiment.experiment_id])
    return client, one


def history(client, one, key: str) -> list[tuple[int, float]]:
    return [(each.step, each.value) for each in client.get_metric_history(one.info.run_id, key)]


def test_params_metrics_samples_and_problems_are_in_the_file_store(run):
    log = Trackers(run, ["mlflow"], [], no_warning)
    for entry in (training(10), training(12), validation(12)):
        log.write(entry)
    log.write({"kind": "diagnosis", "step": 12, "name": "padding", "text": "Too much."})
    log.close(ended=True)
    client, one = found()
    assert one.info.run_name == "001-rnn"
    assert one.info.status == "FINISHED"
    assert one.data.params == {key: str(value) for key, value in run.config().flat().items()}
    assert history(client, one, "training/loss") == [(10, 4.9), (12, 4.88)]
    assert history(client, one, "validation/dev_bleu") == [(12, 1.2)]
    assert "training/epoch" not in one.data.metrics
    assert one.data.tags["diagnosis.padding"] == "Too much."
    assert one.info.artifact_uri.startswith("file://")
    (text,) = run.path.parents[1].glob("mlruns/*/*/artifacts/samples/step-00000012.txt")
    assert text.read_text("utf-8").startswith("source: I see.\nreference: yo veo.\ntranslation: él")


def test_after_a_kill_and_a_resume_the_run_continues_without_repeated_steps(run):
    killed = """if True:
        import os, pathlib
        from seq2seq_cli.runs.run import Run
        from seq2seq_cli.training.trackers import Trackers
        from test_mlflow_tracker import training, validation
        log = Trackers(Run(pathlib.Path("runs/001-rnn")), ["mlflow"], [], print)
        for entry in (training(10), training(12), validation(12), training(20)):
            log.write(entry)
        os._exit(9)
    """
    path = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", killed], env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 9
    assert found()[1].info.status == "RUNNING"
    # The checkpoint was that of update 12.
    log = Trackers(run, ["mlflow"], [training(10), training(12), validation(12)], no_warning)
    for entry in (training(20), training(24), validation(24)):
        log.write(entry)
    client, one = found()
    assert one.info.status == "RUNNING"
    log.close(ended=False)
    client, one = found()
    assert one.info.status == "KILLED"
    assert [step for step, _ in history(client, one, "training/loss")] == [10, 12, 20, 24]
    assert [step for step, _ in history(client, one, "validation/dev_bleu")] == [12, 24]


def test_a_store_that_fails_during_training_is_a_warning(run):
    warnings: list[str] = []
    log = Trackers(run, ["mlflow"], [], warnings.append)
    (metrics,) = (run.path.parents[1] / "mlruns").glob("*/*/metrics")
    metrics.rename(metrics.with_name("gone"))
    metrics.touch()
    for step in (10, 20):
        log.write(training(step))
    log.close(ended=True)
    assert len(warnings) == 1


def test_an_invalid_uri_is_a_warning(run, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nothing://like.this")
    warnings: list[str] = []
    Trackers(run, ["mlflow"], [training(10)], warnings.append).write(training(20))
    assert len(warnings) == 1
    assert warnings[0].startswith("mlflow receives no more figures")
