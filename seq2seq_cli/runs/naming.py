"""The names of runs: which run a name refers to, and the name of a new run."""

import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs import checkpoints, files
from seq2seq_cli.runs.bundles import is_bundle, unpack
from seq2seq_cli.runs.checkpoints import OPTIMIZER, Checkpoint
from seq2seq_cli.runs.disk import check_writable, disk_errors, make_durably
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import Warn

RUNS = Path("runs")
_UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, undecoded bytes, line separators
_LONGEST_NAME = 255  # bytes, the limit of file systems


def folders_of_runs(root: Path = RUNS) -> list[Path]:
    """Return the folders in `root`, sorted by name, without those that are being removed.

    The names of the latter begin with a dot. The others need not have a run.
    """
    return sorted(path for path in root.glob("*/") if not path.name.startswith("."))


def run_path(name: str) -> Path:
    """Return the folder of a run.

    Args:
        name: a path, or a name in runs/.

    Raises:
        UsageError: if a folder cannot have this name.
    """
    path = Path(name)
    *_, last = name.rstrip("/").split("/")
    if not last.strip() or not last.strip("."):
        raise UsageError(f"{name!r}: the name of a run must not be only dots and spaces")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in name):
        raise UsageError(f"{name!r}: the name of a run must not have control characters")
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in path.parts):
        raise UsageError(
            f"{name}: is too long; the name of a run has at most {_LONGEST_NAME} bytes"
        )
    return path if len(path.parts) > 1 or path.is_absolute() else RUNS / name


def check_startable(resumed: Run | None, name: str | None) -> None:
    """Check early whether `train` can use the folder of a run.

    `train` checks again with the folder locked, because another process may start in between.

    Args:
        resumed: the run to continue; None for a new one.
        name: of a new run; None for the next number.

    Raises:
        UsageError: if the folder of a new run has content.
        LockedError: if another process is training in the folder.
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
    """Return the folder of a new run.

    Args:
        name: of the run; None for the next number and `label`.
        label: the second part of a numbered name.

    Raises:
        UsageError: if a folder cannot have this name.
    """
    if name is not None:
        return run_path(name)
    numbers = [int(match[0]) for name in files.names(RUNS) if (match := re.match(r"\d+", name))]
    return RUNS / f"{max(numbers, default=0) + 1:03d}-{label}"


def new_run(name: str | None, label: str) -> Run:
    """Create the folder of a new run.

    Args:
        name: of the run; None for the next number and `label`.
        label: the second part of a numbered name.

    Raises:
        UsageError: if the folder has content, or a folder cannot have this name.
        DiskError: if it cannot be created.
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


def find_run(name: str | None, warn: Warn = lambda text: None) -> Run:
    """Return the run called `name`, or the run with the newest checkpoint.

    Args:
        name: a folder, or a bundle, which is unpacked into a temporary folder; None for the run
            with the newest checkpoint.
        warn: called for each damaged checkpoint.

    Raises:
        CheckpointError: if there is no such run. The error names the existing runs.
    """
    if name is None:
        return _newest_run(warn)
    if (found := _bundle(name)) is not None:
        return Run(unpack(found))
    path = run_path(name)
    if not os.path.isdir(path):
        names = ", ".join(folder.name for folder in folders_of_runs()) or "none"
        raise CheckpointError(f"{path}: no such run. Runs in {RUNS.absolute()}: {names}")
    return Run(path)


def find_changeable_run(name: str | None, warn: Warn = lambda text: None) -> Run:
    """Return a run that the caller will change.

    Args:
        name: see `find_run`; None for the newest run whose training can continue.
        warn: called for each damaged checkpoint.

    Raises:
        CheckpointError: if there is no such run.
        UsageError: if it is a bundle, which cannot be changed.
    """
    if name is not None and (found := _bundle(name)) is not None:
        raise UsageError(
            f"{found}: is a bundle, which cannot be changed or trained. Give the folder of a run"
        )
    return find_run(name, warn) if name is not None else _newest_run(warn, resumable=True)


def _newest_run(warn: Warn, resumable: bool = False) -> Run:
    """Return the run with the newest checkpoint.

    Args:
        warn: called for each damaged checkpoint.
        resumable: whether to leave out averages of checkpoints.

    Raises:
        CheckpointError: if no run has one.
    """
    candidates: list[tuple[str, Path, list[Checkpoint]]] = []
    for path in folders_of_runs():
        try:
            stored = [*map(Checkpoint, checkpoints.checkpoint_folders(path / "checkpoints"))]
        except CheckpointError as error:
            warn(f"{error}; it is skipped")
            continue
        for checkpoint in stored:
            try:
                if not resumable or OPTIMIZER in checkpoint.files:
                    candidates.append((checkpoint.state.saved_at, path, stored))
                break
            except CheckpointError as error:
                warn(f"{error}; it is skipped")
    if not candidates:
        kind = " from which training can continue" if resumable else ""
        raise CheckpointError(
            f"{RUNS.absolute()}: no run with a checkpoint{kind}. Train one with `s2s train`, "
            "change to the folder that has one, or give the run's path"
        )
    _, path, stored = max(candidates, key=lambda candidate: candidate[:2])
    return Run(path, stored)


def _bundle(name: str) -> Path | None:
    """Return the bundle with this path, or with this name in runs/; None if there is none."""
    found = (path for path in (run_path(name), Path(name)) if is_bundle(path))
    return next(found, None)
