"""The run folder: config, tokenizer, checkpoints, metrics and logs of one training."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs import checkpoints, files, saving
from seq2seq_cli.runs.attention_history import AttentionHistory
from seq2seq_cli.runs.bundles import is_bundle, unpack
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.disk import check_writable, disk_errors, make_durably, write_durably
from seq2seq_cli.runs.lock import LOCK, is_locked, locked
from seq2seq_cli.runs.metrics_log import MetricsLog
from seq2seq_cli.runs.saving import Saved
from seq2seq_cli.runs.state import State

Warn = Callable[[str], None]
RUNS = Path("runs")
COMPUTATION = "computation.json"
_CONFIG = "config.toml"
# What is in the folder of a training that ended before its config was written.
_LEFTOVERS = {LOCK, "tokenizer", f".{_CONFIG}.partial"}
_UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, undecoded bytes, line separators
_LONGEST_NAME = 255  # bytes that file systems take


class Run:
    """A folder below `runs/`, or wherever `--run` says.

    Args:
        path: the folder.
        stored: its checkpoints, the newest first, if some of their files have been read already.
    """

    def __init__(self, path: Path, stored: Sequence[Checkpoint] = ()):
        self.path = path
        self._stored = stored
        self._metrics = MetricsLog(path / "metrics.jsonl")

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.name

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

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
        """Whether the config is there, which is written last before training."""
        return files.exists(self.path / _CONFIG)

    def config(self, *layers: Overrides) -> Config:
        """Read the resolved config, in which the values of `layers` replace the run's own.

        Raises:
            CheckpointError: if there is no config, since the folder is not a run's.
            UsageError: if the config or a value of `layers` is invalid.
        """
        if self.has_config:
            return load_config(Overrides.read(self.path / _CONFIG), *layers)
        if self._is_free():
            raise CheckpointError(
                f"{self.path}: no training has begun in it. Begin one: s2s train --run {self.path}"
            )
        raise CheckpointError(
            f"{self.path}: is not a run's folder, since it has no {_CONFIG}. Give another to --run"
        )

    def best_checkpoint(self, warn: Warn) -> Checkpoint:
        """Return the checkpoint to use; see `checkpoints.best_valid`."""
        return checkpoints.best_valid(self.checkpoints, warn, self._stored)

    def data_fingerprint(self) -> str | None:
        """Return the corpus' fingerprint in the newest checkpoint that can be read, or None."""
        for path in checkpoints.checkpoints(self.checkpoints):
            with suppress(CheckpointError):
                return Checkpoint(path).state.data_fingerprint
        return None

    def check_free(self) -> None:
        """Check that the folder has nothing in it that a new training would overwrite.

        Raises:
            UsageError: if it has.
        """
        if self._is_free():
            return
        if self.has_config:
            remedy = f"Go on with it by: s2s train --resume --run {self.path}. Or give another name"
        else:
            remedy = "It is not a run's folder. Give another name"
        raise UsageError(f"{self.path}: exists already. {remedy} to --run")

    def _is_free(self) -> bool:
        with disk_errors(self.path):
            if not files.is_folder(self.path):
                return not files.exists(self.path)
            return set(files.names(self.path)) <= _LEFTOVERS

    def write(self, config: Config, tokenizer_files: Mapping[str, bytes]) -> None:
        """Write the files from which the model is rebuilt into a new folder, which is locked.

        Raises:
            UsageError: if another training was faster.
        """
        self.check_free()
        with disk_errors(self.path):
            for folder in (self.path.parent, self.path, self.tokenizer):
                make_durably(folder)
            for name, content in tokenizer_files.items():
                write_durably(self.tokenizer / name, content)
            write_durably(self.path / _CONFIG, config.to_toml().encode())

    def rewrite_config(self, config: Config) -> None:
        """Replace the config of a run that is locked."""
        with disk_errors(self.path):
            write_durably(self.path / _CONFIG, config.to_toml().encode())

    def write_computation(self, text: str) -> None:
        """Write how the training computes, as JSON."""
        with disk_errors(self.path):
            write_durably(self.path / COMPUTATION, text.encode())

    def computation(self) -> str | None:
        """Return what `write_computation` wrote, or None."""
        try:
            return (self.path / COMPUTATION).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def lock(self) -> AbstractContextManager[None]:
        """Keep every other process from training here; see `locked`."""
        return locked(self.path)

    def is_locked(self) -> bool:
        """Return whether another process trains here."""
        return is_locked(self.path)

    def save(
        self,
        model: Iterable[Saved],
        optimizer: Sequence[Saved],
        state: State,
        average: Sequence[Saved] = (),
    ) -> Path:
        """Save a checkpoint; see `saving.save`. The metrics up to here are on the disk before it.

        Raises:
            DiskError: if it cannot be written; what was there before is untouched.
        """
        self._metrics.sync()
        return saving.save(self.checkpoints, model, optimizer, state, average)

    def resumable_checkpoint(self, warn: Warn) -> Checkpoint | None:
        """Return the newest valid checkpoint, or None if there is none at all.

        What a killed process left is undone before. The run must be locked.

        Args:
            warn: called for each damaged checkpoint that is newer.

        Raises:
            CheckpointError: if all are damaged, or it is an average of others.
            DiskError: if something cannot be undone.
        """
        with disk_errors(self.checkpoints):
            saving.recover(self.checkpoints)
        if not checkpoints.checkpoints(self.checkpoints):
            return None
        return checkpoints.newest_valid(self.checkpoints, warn)

    def go_back_to(self, step: int, warn: Warn) -> None:
        """Undo what came after an update, since a resumed training makes it again.

        Later checkpoints, which are damaged, are renamed. Their metrics and attention, the end
        and broken lines are dropped.

        Args:
            step: the last update that stays.
            warn: called for what is renamed, and for broken lines.
        """
        for path in saving.set_aside_after(self.checkpoints, step):
            warn(f"{path}: was renamed, since the training makes these updates again")
        self._metrics.forget_after(step, warn)
        self.attention.forget_after(step)

    def append_metrics(self, entry: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl."""
        self._metrics.append(entry)

    def metrics(self, warn: Warn = lambda text: None) -> list[dict[str, Any]]:
        """Read metrics.jsonl; see `MetricsLog.entries`."""
        return self._metrics.entries(warn)


def run_path(name: str) -> Path:
    """Return the folder that `--run` means: a path, or a name below runs/.

    Raises:
        UsageError: if the name is not usable for a folder.
    """
    path = Path(name)
    *_, last = name.rstrip("/").split("/")
    if not last.strip() or not last.strip("."):
        raise UsageError(f"--run {name!r}: a run's name must have more in it than dots and spaces")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in name):
        raise UsageError(f"--run {name!r}: a run's name cannot have control characters in it")
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in path.parts):
        raise UsageError(f"--run {name}: is too long; a name has at most {_LONGEST_NAME} bytes")
    return path if len(path.parts) > 1 or path.is_absolute() else RUNS / name


def check_startable(resumed: Run | None, name: str | None) -> None:
    """Check early whether `train` can use a run's folder.

    `train` checks again with the folder locked, since another process may have started meanwhile.

    Args:
        resumed: the run to continue, if any.
        name: of a new run, if it has one.

    Raises:
        UsageError: if the folder of a new run has something in it.
        LockedError: if another process trains in the folder.
        DiskError: if the folder cannot be written.
    """
    run = resumed or (Run(run_path(name)) if name is not None else None)
    check_writable(run.path if run else RUNS)
    if run is None:
        return
    if not resumed:
        run.check_free()
    if os.path.exists(run.path):
        with run.lock():
            pass


def next_path(name: str | None, label: str) -> Path:
    """Return the folder of a new training: that of `name`, or the next number with `label`.

    Raises:
        UsageError: if the name is not usable for a folder.
    """
    if name is not None:
        return run_path(name)
    numbers = [int(match[0]) for name in files.names(RUNS) if (match := re.match(r"\d+", name))]
    return RUNS / f"{max(numbers, default=0) + 1:03d}-{label}"


def new_run(name: str | None, label: str) -> Run:
    """Make the folder of a new training: that of `name`, or the next number with `label`.

    Raises:
        UsageError: if the folder has something in it.
    """
    if name is not None:
        run = Run(run_path(name))
        with disk_errors(run.path):
            run.check_free()
            make_durably(run.path)
        return run
    with disk_errors(RUNS):
        make_durably(RUNS)
        while True:
            path = next_path(None, label)
            with suppress(FileExistsError):  # another process took the number
                files.make_folder(path)
                return Run(path)


def find_run(name: str | None, warn: Warn = lambda text: None, changing: bool = False) -> Run:
    """Return the run called `name`, or the one whose checkpoint is the newest.

    Args:
        name: a folder or a bundle, of which the run is a temporary copy.
        warn: called for each damaged checkpoint.
        changing: whether the caller changes the run, which a bundle does not allow.

    Raises:
        CheckpointError: if there is no such run, naming those there are.
        UsageError: if a bundle is to be changed.
    """
    if name is not None:
        if (found := _bundle(name)) is not None:
            if changing:
                raise UsageError(
                    f"{found}: is a bundle, which cannot be changed or trained on. Give the folder "
                    "of a run"
                )
            return Run(unpack(found))
        path = run_path(name)
        if not os.path.isdir(path):
            there = ", ".join(sorted(p.name for p in RUNS.glob("*/"))) or "none"
            raise CheckpointError(f"{path}: no such run. Runs in {RUNS.absolute()}: {there}")
        return Run(path)
    candidates: list[tuple[str, Path, list[Checkpoint]]] = []
    for path in RUNS.glob("*/"):
        try:
            stored = [Checkpoint(each) for each in checkpoints.checkpoints(path / "checkpoints")]
        except CheckpointError as error:
            warn(f"{error}; it is skipped")
            continue
        for checkpoint in stored:
            try:
                candidates.append((checkpoint.state.saved_at, path, stored))
                break
            except CheckpointError as error:
                warn(f"{error}; it is skipped")
    if not candidates:
        raise CheckpointError(
            f"{RUNS.absolute()}: no run with a checkpoint. Train one by `s2s train`, go to the "
            "folder that has one, or name it by --run"
        )
    _, path, stored = max(candidates, key=lambda candidate: candidate[:2])
    return Run(path, stored)


def _bundle(name: str) -> Path | None:
    """Return the bundle that a name means, if it means one: a path, or a name below runs/."""
    found = (path for path in (run_path(name), Path(name)) if is_bundle(path))
    return next(found, None)
