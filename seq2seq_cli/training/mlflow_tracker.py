"""The metrics of training in MLflow."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seq2seq_cli.runs.metrics_log import DIAGNOSIS
from seq2seq_cli.training.entries import SAMPLE, Entry, scalars

FOLDER = Path("mlruns")
_EXPERIMENT = "s2s"
_MOST_PARAMS = 100  # that MLflow takes at a time


class MLflowTracker:
    """A run in MLflow: in MLFLOW_TRACKING_URI, or by default in the folder mlruns/.

    The experiment is MLFLOW_EXPERIMENT_NAME, or by default s2s. The parameters stay those with
    which the run began, since MLflow does not change them.

    Args:
        name: of a new run.
        config: its parameters.
        found: of an earlier tracker, to continue its run; empty for a new one.
    """

    def __init__(self, name: str, config: Mapping[str, Any], found: Mapping[str, str]):
        # Otherwise MLflow refuses a folder, in favour of a database; stdout is for results only.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        from mlflow import MlflowClient
        from mlflow.entities import Param

        uri = found.get("uri") or os.environ.get("MLFLOW_TRACKING_URI")
        uri = uri or FOLDER.absolute().as_uri()
        self._client = MlflowClient(tracking_uri=uri)
        if found:
            self._id = found["run"]
            self._client.update_run(self._id, status="RUNNING")
        else:
            self._id = self._client.create_run(self._experiment(), run_name=name).info.run_id
            params = [Param(key, str(value)) for key, value in config.items()]
            for first in range(0, len(params), _MOST_PARAMS):
                self._client.log_batch(self._id, params=params[first : first + _MOST_PARAMS])
        self.found: Mapping[str, str] = {"run": self._id, "uri": uri}

    def log(self, entry: Entry) -> None:
        """Add metrics at their step, samples as a text, and a problem as a tag."""
        from mlflow.entities import Metric

        step, now = entry["step"], int(1000 * time.time())
        metrics = [Metric(key, value, now, step) for key, value in scalars(entry).items()]
        if metrics:
            self._client.log_batch(self._id, metrics)
        if entry.get("samples"):
            rows = (zip(SAMPLE, sample, strict=True) for sample in entry["samples"])
            texts = ("".join(f"{name}: {text}\n" for name, text in row) for row in rows)
            self._client.log_text(self._id, "\n".join(texts), f"samples/step-{step:08d}.txt")
        if entry.get("kind") == DIAGNOSIS:
            self._client.set_tag(self._id, f"diagnosis.{entry['name']}", entry["text"])

    def close(self, ended: bool) -> None:
        """See Tracker.close."""
        self._client.set_terminated(self._id, "FINISHED" if ended else "KILLED")

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _EXPERIMENT)
        experiment = self._client.get_experiment_by_name(name)
        return experiment.experiment_id if experiment else self._client.create_experiment(name)
