"""When training saves its state, and how it restores it."""

import importlib.metadata
import math
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

import keras
import numpy as np

from seq2seq_cli.data.corpus import Corpus
from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.runs import checkpoints, saving
from seq2seq_cli.runs.metrics_log import START, of_kind
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position, State
from seq2seq_cli.training.average import AveragedWeight
from seq2seq_cli.training.logs import record_changes
from seq2seq_cli.training.setup import Setup
from seq2seq_cli.training.step import Updater
from seq2seq_cli.work import Warn

_PACKAGES = ("s2s", "tensorflow", "keras", "tensorflow-text", "sentencepiece")

INEXACT = "The result differs from that of an uninterrupted run"
"""The notice when training continues with other data, versions or config values."""


class Checkpointer:
    """Saves and restores the state of training: model, optimizer and position.

    Args:
        run: contains the checkpoints.
        setup: the model and the data.
        updater: the optimizer.
        warn: receives a sentence about what was restored, or about damaged checkpoints.

    Attributes:
        saved_step: the update after which it saved or restored the last time; 0 before.
    """

    saved_step = 0

    def __init__(self, run: Run, setup: Setup, updater: Updater, warn: Warn):
        self._run = run
        self._config = setup.config.training
        self._corpus = setup.corpus
        self._fingerprint = setup.corpus.fingerprint
        self._model = setup.model
        self._updater = updater
        self._warn = warn
        self._saved = time.monotonic()

    def restore(self, accept_changes: bool = False) -> Position:
        """Restore the newest valid checkpoint, and return its position.

        Without any checkpoint nothing changes, and the position is that of the start.

        Args:
            accept_changes: whether other data or versions are allowed.

        Raises:
            CheckpointError: if all are damaged, or if the newest valid one is from other data or
                versions.
        """
        newest = self._run.resumable_checkpoint(self._warn)
        if newest is None:
            self._warn(
                f"{self._run.path}: has no checkpoint yet; training starts from the beginning"
            )
            return Position.at_start()
        state = newest.state
        self._check_same(newest.path, state, accept_changes)
        newest.restore(checkpoints.MODEL, self._model.trainable_variables)
        newest.restore(checkpoints.OPTIMIZER, self._updater.variables)
        if self._updater.averages:
            newest.restore(checkpoints.AVERAGE, self._updater.averages)
        self._warn(f"Continuing from {newest.path}")
        self.saved_step = state.step
        return state.position

    def _check_same(self, path: Path, state: State, accept_changes: bool) -> None:
        """Refuse a checkpoint from other data or versions, or report and record the differences."""
        found, remedies = version_differences(state.versions, _versions()), []
        if found:
            remedies.append("Install these versions again")
        if state.data_fingerprint != self._fingerprint:
            difference = data_difference(self._run, self._corpus)
            found.insert(0, f"was trained on other data: {difference}")
            remedies.insert(0, "Restore the corpus")
        if not found:
            return
        if not accept_changes:
            raise CheckpointError(
                f"{path}: {'; '.join(found)}. {'. '.join(remedies)}, or start a new run without "
                "--resume. --accept-changes continues, but then the result is not exact"
            )
        record_changes(self._run, state.step, found)
        self._warn(f"{path}: {'; '.join(found)}. {INEXACT}")

    @property
    def saved(self) -> list[keras.Variable | AveragedWeight]:
        """The variables that a checkpoint contains."""
        return [
            *self._model.trainable_variables,
            *self._updater.variables,
            *self._updater.averages,
        ]

    def probe(self) -> None:
        """Check that a checkpoint can be saved; warn if the disk has no space for all of them.

        Raises:
            DiskError: if none can be saved.
        """
        size = sum(math.prod(v.shape) * np.dtype(v.dtype).itemsize for v in self.saved)
        root = self._run.checkpoints
        free = saving.probe(root, size)
        # One more than are kept: the new one is written before an old one is deleted.
        number = self._config.keep_checkpoints + self._config.keep_best_checkpoints + 1
        needed = max(0, number - len(checkpoints.checkpoint_folders(root))) * size
        if free < needed:
            self._warn(
                f"{root}: {free / 1e9:,.2f} GB are free, and up to {number} checkpoints of "
                f"{size / 1e9:,.2f} GB are needed. Free some space, or lower "
                "training.keep_checkpoints"
            )

    def save(self, position: Position, validated: bool) -> None:
        """Save a checkpoint, and delete old ones.

        Args:
            position: of the training.
            validated: whether its last validation was of the current model.

        Raises:
            DiskError: if it cannot be written.
        """
        state = State(
            step=position.step,
            position=position,
            dev_bleu=position.last_dev_bleu if validated else None,
            data_fingerprint=self._fingerprint,
            saved_at=datetime.now(timezone.utc).isoformat(),
            versions=_versions(),
        )
        self._run.save(
            self._model.trainable_variables,
            self._updater.variables,
            state,
            self._updater.averages,
        )
        self.saved_step = position.step
        saving.prune(
            self._run.checkpoints,
            self._config.keep_checkpoints,
            position.best_step,
            self._config.keep_best_checkpoints,
        )
        self.postpone()

    def postpone(self) -> None:
        """Count the time to the next checkpoint from now."""
        self._saved = time.monotonic()

    def is_due(self) -> bool:
        """Return whether the last checkpoint is `training.checkpoint_minutes` old."""
        return time.monotonic() - self._saved >= 60 * self._config.checkpoint_minutes


def version_differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a clause for each package whose version has changed."""
    return [
        f"{name} was {before[name]} and is {version}"
        for name, version in now.items()
        if before.get(name, version) != version
    ]


def data_difference(run: Run, corpus: Corpus) -> str:
    """Return the recorded differences of a corpus from the one that a run began with.

    Args:
        run: has the figures of its corpus in metrics.jsonl.
        corpus: the current one.
    """
    starts = of_kind(run.metrics(), START)
    before = starts[0] if starts else {}
    figures = {"pairs": corpus.pairs, "dev_pairs": len(corpus.dev), "test_pairs": len(corpus.test)}
    counts = {"pairs": "pairs", "dev_pairs": "dev pairs", "test_pairs": "test pairs"}
    different = [
        f"{before[key]} {name} then, {figures[key]} now"
        for key, name in counts.items()
        if before.get(key, figures[key]) != figures[key]
    ]
    if before.get("corpus", corpus.description) != corpus.description:
        different.append(f"{before['corpus']} then, {corpus.description} now")
    return ", ".join(different) or "the same number of pairs, but other sentences or another order"


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in _PACKAGES}
