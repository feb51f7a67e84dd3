"""Checkpoints on disk: written whole or not at all, verified when read. No TensorFlow.

A checkpoint is a folder with `model.safetensors`, `optimizer.safetensors`, `state.json` and
`manifest.json`, which holds the SHA-256 of the others.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from seq2seq_cli.errors import CheckpointError, DiskError

MODEL, OPTIMIZER, STATE, MANIFEST = (
    "model.safetensors",
    "optimizer.safetensors",
    "state.json",
    "manifest.json",
)


class Variable(Protocol):
    """What a Keras variable offers to be saved and restored."""

    path: str
    shape: Any

    def numpy(self) -> np.ndarray:
        """Return the value."""

    def assign(self, value: np.ndarray) -> Any:
        """Replace the value."""


def save(
    root: Path,
    step: int,
    model: Iterable[Variable],
    optimizer: Iterable[Variable],
    state: Mapping[str, Any],
) -> Path:
    """Write a checkpoint into `root`; until it is whole and on the disk, it has another name.

    Raises:
        DiskError: when it cannot be written; what was there before is untouched.
    """
    final = root / f"step-{step:08d}"
    partial = root / f".partial-{final.name}"
    with disk_errors(final):
        root.mkdir(parents=True, exist_ok=True)
        for leftover in root.glob(".partial-*"):
            shutil.rmtree(leftover)
        partial.mkdir()
        try:
            contents = {
                MODEL: safetensors.numpy.save(_arrays(model)),
                OPTIMIZER: safetensors.numpy.save(_arrays(optimizer)),
                STATE: _json_bytes({"step": step, **state}),
            }
            hashes = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
            for name, data in {**contents, MANIFEST: _json_bytes({"sha256": hashes})}.items():
                write_durably(partial / name, data)
            _sync_folder(partial)
            if final.exists():  # left by a training that was resumed from an earlier checkpoint
                shutil.rmtree(final)
            partial.rename(final)
            _sync_folder(root)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return final


def checkpoints(root: Path) -> list[Path]:
    """Return the checkpoints in `root`, valid or not, the newest first."""
    return sorted(root.glob("step-*"), key=lambda path: path.name, reverse=True)


def read(path: Path, name: str) -> bytes:
    """Return the bytes of one file of a checkpoint.

    Raises:
        CheckpointError: if it is missing or not what the manifest says.
    """
    try:
        hashes = json.loads((path / MANIFEST).read_bytes())["sha256"]
        data = (path / name).read_bytes()
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: damaged: {name} or {MANIFEST} is unreadable") from error
    if hashes.get(name) != hashlib.sha256(data).hexdigest():
        raise CheckpointError(f"{path}: damaged: {name} is not what {MANIFEST} says")
    return data


def read_state(path: Path) -> dict[str, Any]:
    """Return the state that was given to `save`."""
    return json.loads(read(path, STATE))


def newest_valid(root: Path, report: Callable[[str], None]) -> Path:
    """Return the newest checkpoint that is whole; name each damaged one on the way to it.

    Raises:
        CheckpointError: if there is none.
    """
    for path in checkpoints(root):
        try:
            for name in (STATE, MODEL, OPTIMIZER):
                read(path, name)
            return path
        except CheckpointError as error:
            report(f"{error}; the one before it is used")
    raise CheckpointError(f"{root}: no valid checkpoint. Train again without --resume")


def best_valid(root: Path, report: Callable[[str], None]) -> Path:
    """Return the whole checkpoint with the highest dev BLEU, or the newest if none was validated.

    Raises:
        CheckpointError: if there is none.
    """
    scored: list[tuple[float, Path]] = []
    for path in checkpoints(root):
        try:
            bleu = read_state(path)["dev_bleu"]
            scored.append((-1.0 if bleu is None else bleu, path))
        except CheckpointError as error:
            report(f"{error}; another is used")
    for _, path in sorted(scored, key=lambda item: item[0], reverse=True):
        try:
            read(path, MODEL)
            return path
        except CheckpointError as error:
            report(f"{error}; another is used")
    raise CheckpointError(f"{root}: no valid checkpoint. Train first: `s2s train`")


def restore(path: Path, name: str, variables: Iterable[Variable]) -> None:
    """Assign to each variable the array that was saved under its path.

    Raises:
        CheckpointError: if the file does not hold exactly these variables; then none is changed.
    """
    data = read(path, name)
    try:
        arrays = safetensors.numpy.load(data)
    except SafetensorError as error:
        raise CheckpointError(f"{path / name}: not a safetensors file: {error}") from error
    variables = list(variables)
    wanted = {v.path: tuple(v.shape) for v in variables}
    found = {key: array.shape for key, array in arrays.items()}
    if wanted != found:
        raise CheckpointError(
            f"{path / name}: belongs to another model: {_difference(wanted, found)}. Was the run's "
            "config.toml changed? Use the one it was trained with"
        )
    for variable in variables:
        variable.assign(arrays[variable.path])


def prune(root: Path, keep: int, best: int | None) -> None:
    """Delete all but the newest `keep` checkpoints and the one of step `best`."""
    for path in checkpoints(root)[keep:]:
        if path.name != f"step-{best or 0:08d}":
            shutil.rmtree(path)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file and have it on the disk before returning."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an operating system's refusal to write below `path` into a DiskError."""
    try:
        yield
    except OSError as error:
        remedy = (
            "Free some space and go on with --resume"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "Check the folder and its permissions"
        )
        raise DiskError(f"{path}: cannot be written: {error.strerror}. {remedy}") from error


def _arrays(variables: Iterable[Variable]) -> dict[str, np.ndarray]:
    return {v.path: np.asarray(v.numpy()) for v in variables}


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _difference(wanted: Mapping[str, tuple], found: Mapping[str, tuple]) -> str:
    for key in sorted({**wanted, **found}):
        if key not in found:
            return f"it lacks {key}"
        if key not in wanted:
            return f"it has {key}, which this model has not"
        if wanted[key] != found[key]:
            return f"{key} has shape {found[key]} there and {wanted[key]} in this model"
    return "the same"
