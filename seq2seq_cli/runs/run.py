"""The folder of a training run: config, tokenizers, checkpoints, metrics and logs."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, UsageError, os_reason
from seq2seq_cli.runs import checkpoints, files, saving
from seq2seq_cli.runs.attention_history import AttentionHistory
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.disk import disk_errors, make_durably, write_durably
from seq2seq_cli.runs.lock import LOCK, is_locked, locked
from seq2seq_cli.runs.metrics_log import MetricsLog
from seq2seq_cli.runs.saving import Saved
from seq2seq_cli.runs.state import State
from seq2seq_cli.work import Warn

COMPUTATION = "computation.json"
_CONFIG = "config.toml"
# Names in the folder of a run that ended before its config was written.
_LEFTOVERS = {LOCK, "tokenizer", f".{_CONFIG}.partial"}


class Run:
    """A training run: a folder in `runs/`, or any other folder.

    Args:
        path: the folder.
        stored: its checkpoints, the newest first, if the caller has already read some of their
            files.
    """

    def __init__(self, path: Path, stored: Sequence[Checkpoint] = ()):
        self.path = path
        self._stored = stored

    @property
    def name(self) -> str:
        """The name of the folder, without its parents."""
        return self.path.name

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    def tokenizer_files(self) -> dict[str, bytes]:
        """Return the content of the tokenizers' files, by name.

        Raises:
            CheckpointError: if they cannot be read.
        """
        try:
            return {path.name: path.read_bytes() for path in self.tokenizer.iterdir()}
        except OSError as error:
            raise CheckpointError(
                f"{self.tokenizer}: cannot be read: {os_reason(error)}. Restore it from a copy, or "
                "train again"
            ) from error

    @property
    def logs(self) -> Path:
        """The folder of the TensorBoard logs."""
        return self.path / "logs"

    @property
    def attention(self) -> AttentionHistory:
        """The attention of a few dev sentences at each validation."""
        return AttentionHistory(self.path / "attention")

    @property
    def tokenizer(self) -> Path:
        """The folder of the tokenizers' files."""
        return self.path / "tokenizer"

    @property
    def has_config(self) -> bool:
        """Whether the config exists. It is the last file to be written before training."""
        return files.exists(self.path / _CONFIG)

    def config(self, *layers: Overrides) -> Config:
        """Read the resolved config. The values of `layers` replace those of the run.

        Raises:
            CheckpointError: if there is no config.
            UsageError: if the config or a value of `layers` is invalid.
        """
        if self.has_config:
            return load_config(Overrides.read(self.path / _CONFIG), *layers)
        if self._is_free():
            raise CheckpointError(
                f"{self.path}: no training has started here. Start one: s2s train --run "
                f"{self._quoted}"
            )
        raise CheckpointError(
            f"{self.path}: is not the folder of a run, because it has no {_CONFIG}. Give another "
            "one"
        )

    def best_checkpoint(self, warn: Warn) -> Checkpoint:
        """Return the checkpoint to translate with; see `checkpoints.best_valid`."""
        return checkpoints.best_valid(self.checkpoints, warn, self._stored)

    def data_fingerprint(self) -> str | None:
        """Return the fingerprint of the corpus from the newest readable checkpoint, or None."""
        for path in checkpoints.checkpoint_folders(self.checkpoints):
            with suppress(CheckpointError):
                return Checkpoint(path).state.data_fingerprint
        return None

    @property
    def _quoted(self) -> str:
        """The path as an argument in a shell."""
        return shlex.quote(str(self.path))

    def check_free(self) -> None:
        """Check that a new run would not overwrite anything in the folder.

        Raises:
            UsageError: if it would.
        """
        if self._is_free():
            return
        if self.has_config:
            remedy = f"Continue it: s2s train --resume --run {self._quoted}. Or give another name"
        else:
            remedy = "It is not the folder of a run. Give another name"
        raise UsageError(f"{self.path}: exists already. {remedy} to --run")

    @cached_property
    def _metrics(self) -> MetricsLog:
        return MetricsLog(self.path / "metrics.jsonl")

    def _is_free(self) -> bool:
        with disk_errors(self.path):
            if not files.is_folder(self.path):
                return not files.exists(self.path)
            return set(files.names(self.path)) <= _LEFTOVERS

    def write(self, config: Config, tokenizer_files: Mapping[str, bytes]) -> None:
        """Write the config and the tokenizers into the folder. The caller must have locked it.

        Args:
            config: of the run.
            tokenizer_files: the content of the tokenizers' files, by name.

        Raises:
            UsageError: if another process has started to train in it.
            DiskError: if a file cannot be written.
        """
        self.check_free()
        with disk_errors(self.path):
            for folder in (self.path.parent, self.path, self.tokenizer):
                make_durably(folder)
            for name, content in tokenizer_files.items():
                write_durably(self.tokenizer / name, content)
            write_durably(self.path / _CONFIG, config.to_toml().encode())

    def rewrite_config(self, config: Config) -> None:
        """Replace the config. The caller must have locked the run.

        Raises:
            DiskError: if it cannot be written.
        """
        with disk_errors(self.path):
            write_durably(self.path / _CONFIG, config.to_toml().encode())

    def write_computation(self, text: str) -> None:
        """Write how training computes.

        Args:
            text: JSON, from Computation.

        Raises:
            DiskError: if it cannot be written.
        """
        with disk_errors(self.path):
            write_durably(self.path / COMPUTATION, text.encode())

    def computation(self) -> str | None:
        """Return the text that `write_computation` wrote, or None if it cannot be read."""
        try:
            return (self.path / COMPUTATION).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def lock(self) -> AbstractContextManager[None]:
        """Prevent other processes from training in the folder; see `locked`."""
        return locked(self.path)

    def is_locked(self) -> bool:
        """Return whether another process is training in the folder."""
        return is_locked(self.path)

    def save(
        self,
        model: Iterable[Saved],
        optimizer: Sequence[Saved],
        state: State,
        average: Sequence[Saved] = (),
    ) -> Path:
        """Flush the metrics to the disk, then save a checkpoint; see `saving.save`.

        Raises:
            DiskError: if that fails. Earlier checkpoints do not change.
        """
        self._metrics.sync()
        return saving.save(self.checkpoints, model, optimizer, state, average)

    def resumable_checkpoint(self, warn: Warn) -> Checkpoint | None:
        """Return the newest valid checkpoint, or None if there are no checkpoints.

        Before that, it removes what a killed process left. The caller must have locked the run.

        Args:
            warn: called for each newer checkpoint, which is damaged.

        Raises:
            CheckpointError: if all are damaged, or the checkpoint is an average of others.
            DiskError: if leftovers cannot be removed.
        """
        with disk_errors(self.checkpoints):
            saving.recover(self.checkpoints)
        if not checkpoints.checkpoint_folders(self.checkpoints):
            return None
        return checkpoints.newest_valid(self.checkpoints, warn)

    def go_back_to(self, step: int, warn: Warn) -> None:
        """Undo all later updates, because resumed training repeats them.

        Later checkpoints are renamed. The metrics and the attention of later updates, the entry of
        the end, and broken lines are deleted.

        Args:
            step: the last update to keep.
            warn: called for each renamed checkpoint, and for broken lines.
        """
        for path in saving.set_aside_after(self.checkpoints, step):
            warn(f"{path}: was renamed, because training repeats these updates")
        self._metrics.forget_after(step, warn)
        self.attention.forget_after(step)

    def append_metrics(self, entry: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl."""
        self._metrics.append(entry)

    def metrics(self, warn: Warn = lambda text: None) -> list[dict[str, Any]]:
        """Read metrics.jsonl; see `MetricsLog.entries`."""
        return self._metrics.entries(warn)
