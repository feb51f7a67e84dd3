"""Saves checkpoints completely or not at all, and deletes old ones.

While a checkpoint is written, replaced or removed, its folder has another name, which begins with a
dot.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import numpy as np
from pydantic import TypeAdapter

from seq2seq_cli.errors import CheckpointError, DiskError
from seq2seq_cli.runs import files
from seq2seq_cli.runs.arrays import file_parts
from seq2seq_cli.runs.checkpoints import (
    AVERAGE,
    MANIFEST,
    MODEL,
    OPTIMIZER,
    STATE,
    Checkpoint,
    Manifest,
    checkpoint_folders,
    folder_name,
    step_of,
)
from seq2seq_cli.runs.disk import disk_error, disk_errors, make_durably, remove_tree
from seq2seq_cli.runs.state import State

_PARTIAL, _REPLACED, _REMOVED = ".partial-", ".replaced-", ".removed-"
_ASIDE = "damaged-"
_STATE = TypeAdapter(State)
_MANIFEST = TypeAdapter(Manifest)


class Saved(Protocol):
    """The part of a Keras variable that saving it needs."""

    path: str

    def numpy(self) -> np.ndarray:
        """Return the value."""


def save(
    root: Path,
    model: Iterable[Saved],
    optimizer: Sequence[Saved],
    state: State,
    average: Sequence[Saved] = (),
) -> Path:
    """Write a checkpoint. It has another name until it is complete and on the disk.

    Args:
        root: the folder of the checkpoints.
        model: the weights.
        optimizer: its state; empty if training cannot continue from this checkpoint.
        state: of training.
        average: averages of the weights, with the same paths; empty if there are none.

    Returns:
        The folder of the checkpoint.

    Raises:
        DiskError: if it cannot be written. Earlier checkpoints do not change.
    """
    final = root / folder_name(state.step)
    partial = root / (_PARTIAL + final.name)
    with disk_errors(final):
        make_durably(root)
        recover(root)
        try:
            files.make_folder(partial)
            hashes = {MODEL: _write(partial / MODEL, _arrays(model))}
            if optimizer:
                hashes[OPTIMIZER] = _write(partial / OPTIMIZER, _arrays(optimizer))
            if average:
                hashes[AVERAGE] = _write(partial / AVERAGE, _arrays(average))
            hashes[STATE] = _write(partial / STATE, [_STATE.dump_json(state, indent=2)])
            _write(partial / MANIFEST, [_MANIFEST.dump_json(Manifest(hashes), indent=2)])
            files.sync(partial)
            _check_written(partial, hashes)
            _move(partial, final)
        except BaseException:
            with suppress(OSError):
                recover(root)
            raise
    return final


def probe(root: Path, size: int) -> int:
    """Check that a checkpoint could be saved, by briefly reserving its size on the disk.

    Args:
        root: the folder of the checkpoints, which is created.
        size: of the checkpoint, in bytes.

    Returns:
        The number of free bytes.

    Raises:
        DiskError: if it could not be saved.
    """
    probed = root / (_PARTIAL + "probe")
    try:
        make_durably(root)
        free = files.free(root)
        try:
            files.reserve(probed, size)
            files.sync(probed)
        finally:
            with suppress(FileNotFoundError):
                files.remove(probed)
    except OSError as error:
        problem = f"a checkpoint of {size / 1e6:,.1f} MB cannot be written"
        raise disk_error(root, problem, error) from error
    return free


def recover(root: Path) -> None:
    """Clean up after a process that was killed while it saved, replaced or removed a checkpoint.

    The caller must have the lock of the run.

    Args:
        root: the folder of the checkpoints.

    Raises:
        OSError: if a folder cannot be renamed or removed.
    """
    for name in files.names(root):
        if name.startswith(_REPLACED):
            before = root / name.removeprefix(_REPLACED)
            if not files.exists(before):
                files.rename(root / name, before)
                continue
        elif not name.startswith((_PARTIAL, _REMOVED)):
            continue
        remove_tree(root / name)


def prune(root: Path, keep: int, best: int | None, keep_best: int = 1) -> None:
    """Delete the checkpoints that `superfluous` returns.

    Raises:
        DiskError: if they cannot be deleted.
    """
    if len(checkpoint_folders(root)) > keep:
        delete([each.path for each in superfluous(root, keep, best, keep_best)])


def superfluous(root: Path, keep: int, best: int | None, keep_best: int = 1) -> list[Checkpoint]:
    """Return the checkpoints that need not be kept, the newest first.

    Args:
        root: the folder of the checkpoints.
        keep: number of the newest valid ones to keep. Damaged ones do not count.
        best: the step of the one with the highest dev BLEU, which is kept; None if there is none.
        keep_best: number of the best ones to keep. If it is more than 1, damaged ones do not
            count.
    """
    kept = _best_names(root, keep_best) if keep_best > 1 else set()
    kept.add(folder_name(best or 0))
    found, valid = [], 0
    for path in checkpoint_folders(root):
        checkpoint = Checkpoint(path)
        if valid < keep:
            with suppress(CheckpointError):
                checkpoint.verify_all()
                valid += 1
        elif path.name not in kept:
            found.append(checkpoint)
    return found


def delete(paths: Sequence[Path]) -> None:
    """Delete checkpoints. They are renamed first, so that no incomplete checkpoint remains.

    Raises:
        DiskError: if they cannot be deleted.
    """
    if not paths:
        return
    root = paths[0].parent
    with disk_errors(root):
        doomed = [path.with_name(_REMOVED + path.name) for path in paths]
        for path, removed in zip(paths, doomed, strict=True):
            if files.exists(removed):
                remove_tree(removed)
            files.rename(path, removed)
        files.sync(root)
        for removed in doomed:
            remove_tree(removed)


def set_aside_after(root: Path, step: int) -> list[Path]:
    """Rename the checkpoints of updates after `step`, which training will repeat.

    They are damaged, or were unreadable when training started. None is deleted.

    Returns:
        Their new paths.

    Raises:
        DiskError: if they cannot be renamed.
    """
    moved = []
    with disk_errors(root):
        for path in checkpoint_folders(root):
            if step_of(path) <= step:
                break
            new, number = path.with_name(_ASIDE + path.name), 1
            while files.exists(new):
                number += 1
                new = path.with_name(f"{_ASIDE}{path.name}-{number}")
            files.rename(path, new)
            moved.append(new)
        if moved:
            files.sync(root)
    return moved


def set_aside(root: Path) -> list[Path]:
    """Return the folders that `set_aside_after` has renamed.

    Raises:
        DiskError: if `root` cannot be read.
    """
    with disk_errors(root):
        return [root / name for name in files.names(root) if name.startswith(_ASIDE)]


def _move(partial: Path, final: Path) -> None:
    """Give a complete checkpoint its final name. An older one of that name is replaced."""
    root = final.parent
    replaced = root / (_REPLACED + final.name)
    is_taken = files.exists(final)
    if is_taken:
        files.rename(final, replaced)
    files.rename(partial, final)
    files.sync(root)
    if is_taken:
        remove_tree(replaced)


def _check_written(partial: Path, hashes: Iterable[str]) -> None:
    """Check the hashes of the written files."""
    written = Checkpoint(partial)
    try:
        for name in hashes:
            written.verify(name)
    except CheckpointError as error:
        raise DiskError(
            f"{partial.parent}: the new checkpoint cannot be read back ({error}). Check the disk. "
            "Earlier checkpoints have not changed"
        ) from error


def _best_names(root: Path, number: int) -> set[str]:
    """Return the names of the valid checkpoints with the highest dev BLEU; the first of equals."""
    scored = []
    for path in checkpoint_folders(root):
        with suppress(CheckpointError):
            if (bleu := Checkpoint(path).state.dev_bleu) is not None:
                scored.append((-bleu, path.name))
    best: set[str] = set()
    for _, name in sorted(scored):
        if len(best) == number:
            break
        with suppress(CheckpointError):
            Checkpoint(root / name).verify_weights()
            best.add(name)
    return best


def _arrays(variables: Iterable[Saved]) -> Iterator[files.Data]:
    return file_parts((variable.path, np.asarray(variable.numpy())) for variable in variables)


def _write(path: Path, parts: Iterable[files.Data]) -> str:
    """Write a file and flush it to the disk. Return the SHA-256 of the intended content."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[files.Data]:
        for part in parts:
            digest.update(part)
            yield part

    files.write(path, hashed())
    files.sync(path)
    return digest.hexdigest()
