"""The metrics of training in Weights & Biases."""

import os
import uuid
from collections.abc import Mapping
from typing import Any

from seq2seq_cli.runs.metrics_log import DIAGNOSIS
from seq2seq_cli.training.entries import SAMPLE, Entry, scalars

_PROJECT = "s2s"
_WRITE_EVERY = 1.0  # seconds; a process that is killed loses what it has not written to its file


class WandbTracker:
    """A run in Weights & Biases, in the folder wandb/; `wandb sync` uploads it.

    WANDB_MODE=online uploads it at once. WANDB_PROJECT names a project other than s2s.

    Args:
        name: of a new run.
        config: its values.
        found: of an earlier tracker, to continue its run; empty for a new one.
    """

    def __init__(self, name: str, config: Mapping[str, Any], found: Mapping[str, str]):
        import wandb

        self._table = wandb.Table
        identity = found.get("run") or uuid.uuid4().hex[:8]
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            mode=os.environ.get("WANDB_MODE", "offline"),
            name=name,
            id=identity,
            resume="allow",
            config=dict(config),
            settings=wandb.Settings(
                silent=True, console="off", x_transaction_log_flush_interval=_WRITE_EVERY
            ),
        )
        # W&B's own step cannot go back, and a validation has that of the entry before it.
        self._run.define_metric("step", hidden=True)
        self._run.define_metric("*", step_metric="step")
        self.found: Mapping[str, str] = {"run": identity}

    def log(self, entry: Entry) -> None:
        """Add metrics at their step, samples as a table, and a problem to the summary."""
        row: dict[str, Any] = dict(scalars(entry))
        if entry.get("samples"):
            samples = [list(sample) for sample in entry["samples"]]
            row["samples"] = self._table(columns=list(SAMPLE), data=samples)
        if row:
            self._run.log({"step": entry["step"], **row})
        if entry.get("kind") == DIAGNOSIS:
            self._run.summary[f"diagnosis/{entry['name']}"] = entry["text"]

    def close(self, ended: bool) -> None:
        """See Tracker.close."""
        self._run.finish(exit_code=0 if ended else 1)
