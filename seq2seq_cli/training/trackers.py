"""Trackers: other programs that receive the metrics of training."""

import importlib.util
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from seq2seq_cli.errors import UsageError
from seq2seq_cli.runs.disk import write_durably
from seq2seq_cli.runs.metrics_log import DIAGNOSIS, TRAINING, VALIDATION
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.entries import Entry
from seq2seq_cli.training.mlflow_tracker import MLflowTracker
from seq2seq_cli.training.wandb_tracker import WandbTracker
from seq2seq_cli.work import Warn

TRACKERS = "trackers.json"
_SENT_ONCE = (TRAINING, VALIDATION)


class Tracker(Protocol):
    """A run of another program, which is open until `close`.

    Attributes:
        found: identifies the run later; can be written as JSON.
    """

    found: Mapping[str, str]

    def log(self, entry: Entry) -> None:
        """Add an entry of metrics.jsonl; one of kind "diagnosis" may come several times."""

    def close(self, ended: bool) -> None:
        """Report whether training is finished, and end the connection."""


Opens = Callable[[str, Mapping[str, Any], Mapping[str, str]], Tracker]
"""Makes a tracker from a run's name, its config by dotted key, and an earlier one's `found`."""

_OPENS: dict[str, Opens] = {"mlflow": MLflowTracker, "wandb": WandbTracker}


def check_trackers(names: Iterable[str]) -> None:
    """Check that the packages of trackers are installed.

    Raises:
        UsageError: if one is not; says how to install it.
    """
    for name in names:
        found = importlib.util.find_spec(name)
        # A folder of that name, such as W&B makes, can be imported but is not a package.
        if found is None or found.origin is None:
            raise UsageError(
                f'training.trackers = ["{name}"] needs the package {name}. Install it: '
                f"pip install 's2s[{name}]'"
            )


class Trackers:
    """Sends entries of metrics.jsonl to trackers, each one once.

    The run's folder identifies each tracker's run, and records which entries it has. A resumed run
    continues the same run of the tracker, and sends the missing entries. Repeated updates are not
    sent again. If a tracker fails, a warning says so, and it receives nothing more.

    Args:
        run: the run.
        names: of the trackers.
        entries: those that exist already.
        warn: receives a sentence about a tracker that fails.
    """

    def __init__(
        self,
        run: Run,
        names: Sequence[str],
        entries: Sequence[Entry],
        warn: Warn,
    ):
        self._path = run.path / TRACKERS
        self._warn = warn
        self._open: dict[str, Tracker] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        with suppress(OSError, ValueError):
            self._kept = json.loads(self._path.read_text("utf-8"))
        for name in dict.fromkeys(names):
            self._guarded(name, partial(self._start, name, run, entries))

    def write(self, entry: Entry) -> None:
        """Send an entry to each tracker that does not have it."""
        for name in list(self._open):
            self._guarded(name, partial(self._send, name, entry))

    def close(self, ended: bool) -> None:
        """Close all trackers; does nothing if they are closed.

        Args:
            ended: whether training is finished.
        """
        for name, tracker in list(self._open.items()):
            self._guarded(name, partial(tracker.close, ended))
        self._open.clear()

    def _start(self, name: str, run: Run, entries: Sequence[Entry]) -> None:
        kept = self._kept.setdefault(name, {"found": {}, "sent": {}})
        tracker = _OPENS[name](run.name, run.config().flat(), kept["found"])
        kept["found"] = dict(tracker.found)
        self._keep()
        self._open[name] = tracker
        for entry in entries:
            self._send(name, entry)

    def _send(self, name: str, entry: Entry) -> None:
        kind, step = entry.get("kind"), entry["step"]
        sent = self._kept[name]["sent"]
        if kind in _SENT_ONCE and step > sent.get(kind, 0):
            # Recorded first: if the process is killed between the two, the entry is not sent twice.
            sent[kind] = step
            self._keep()
            self._open[name].log(entry)
        elif kind == DIAGNOSIS:
            self._open[name].log(entry)

    def _keep(self) -> None:
        write_durably(self._path, json.dumps(self._kept, indent=1).encode())

    def _guarded(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # of any kind: it is another program's
            self._open.pop(name, None)
            reason = " ".join(str(error).split()) or type(error).__name__
            self._warn(
                f"{name} receives no more figures: {reason}. Training continues. metrics.jsonl "
                "has all figures, and s2s train --resume sends the missing ones"
            )
