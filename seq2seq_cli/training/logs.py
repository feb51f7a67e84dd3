"""The logs of training: metrics.jsonl, TensorBoard's logs and trackers."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from seq2seq_cli.runs.attention_history import Snapshot
from seq2seq_cli.runs.metrics_log import (
    CHANGES,
    DIAGNOSIS,
    END,
    START,
    TRAINING,
    VALIDATION,
    of_kind,
)
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.diagnosis import Diagnosis, Diagnostician
from seq2seq_cli.training.events import Notice, OnEvent, Progress, Result, Summary, Validation
from seq2seq_cli.training.tensorboard import TensorBoardLog
from seq2seq_cli.training.trackers import Trackers
from seq2seq_cli.work import Warn


def record_start(run: Run, summary: Summary) -> None:
    """Record the figures of the coming training run, unless they are recorded."""
    if of_kind(run.metrics(), START):
        return
    values = {name: value for name, value in vars(summary).items() if name != "config"}
    values["computation"] = asdict(summary.computation)
    run.append_metrics({"kind": START, "step": 0, **values})


def record_changes(run: Run, step: int, changes: Sequence[str]) -> None:
    """Record the changes with which training continues.

    Args:
        run: the run's folder.
        step: updates made before.
        changes: a clause for each.
    """
    run.append_metrics({"kind": CHANGES, "step": step, "changes": list(changes)})


class Logs:
    """Appends to the logs of a run, and to the trackers.

    Args:
        run: the run's folder.
        updates: the number that were made. A resumed run repeats later ones; see `go_back_to`.
        trackers: their names.
        warn: receives a sentence about dropped, renamed or broken files, and about a tracker that
            fails.
    """

    def __init__(self, run: Run, updates: int, trackers: Sequence[str], warn: Warn):
        self._run = run
        run.go_back_to(updates, warn)
        entries = run.metrics()
        self._tensorboard = TensorBoardLog(
            run.logs, entries, run.config().flat(), run.attention.read(warn)
        )
        self._trackers = Trackers(run, trackers, entries, warn)

    def end(self, result: Result) -> None:
        """Record how training ended."""
        entry = {"kind": END, "step": result.step, "seconds": result.seconds}
        self._run.append_metrics({**entry, "reason": result.reason})
        self._trackers.close(ended=True)

    def close(self) -> None:
        """Close the trackers if training has not ended."""
        self._trackers.close(ended=False)

    def diagnose(self, found: Diagnosis) -> None:
        """Record a problem of training."""
        self._append({"kind": DIAGNOSIS, **asdict(found)})

    def write(self, event: Progress | Validation) -> dict[str, Any]:
        """Record all figures of an event, and return the entry of metrics.jsonl."""
        kind = VALIDATION if isinstance(event, Validation) else TRAINING
        entry = {"kind": kind, **asdict(event)}
        self._append(entry)
        return entry

    def keep_attention(self, snapshot: Snapshot) -> None:
        """Store the attention of a validation."""
        self._run.attention.write(snapshot)
        self._tensorboard.write_attention(snapshot)

    def _append(self, entry: dict[str, Any]) -> None:
        self._run.append_metrics(entry)
        self._tensorboard.write(entry)
        self._trackers.write(entry)


class Recorder:
    """Records events in the logs, passes them on, and reports the problems that they show.

    Args:
        run: the run's folder.
        updates: the number that were made.
        trackers: their names.
        on_event: receives the events, and a Notice of each problem.

    Attributes:
        logs: the logs.
    """

    def __init__(self, run: Run, updates: int, trackers: Sequence[str], on_event: OnEvent):
        self._on_event = on_event
        self.logs = Logs(run, updates, trackers, lambda text: on_event(Notice(text)))
        # After the logs, which drop the entries of updates that are repeated.
        self._diagnostician = Diagnostician(run.metrics())

    def record(self, event: Progress | Validation) -> None:
        """Record an event, then each problem that it shows."""
        entry = self.logs.write(event)
        self._on_event(event)
        for found in self._diagnostician.look_at(entry):
            self.logs.diagnose(found)
            self._on_event(Notice(f"diagnosis: {found.text}."))

    def close(self) -> None:
        """Close the logs."""
        self.logs.close()
