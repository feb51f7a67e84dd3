"""Checkpoints on disk: written whole or not at all, verified when read. No TensorFlow.

A checkpoint is a folder with `model.safetensors`, `optimizer.safetensors`, `state.json` and
`manifest.json`, which holds the SHA-256 of the others.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import safetensors.numpy
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from safetensors import SafetensorError, safe_open

from seq2seq_cli.errors import CheckpointError, DiskError

MODEL, OPTIMIZER, STATE, MANIFEST = (
    "model.safetensors",
    "optimizer.safetensors",
    "state.json",
    "manifest.json",
)


_STRICT = ConfigDict(strict=True, extra="forbid")


@dataclass(config=_STRICT)
class Position:
    """Where a training stands.

    Attributes:
        step: updates made.
        epoch: passes over the data completed.
        batch: batches taken from the present pass.
        seconds: spent in training.
        last_dev_bleu: of the last validation, if there was one.
        best_dev_bleu, best_step: of the best validation, if there was one.
        validations_since_best: how many came after it.
    """

    step: int
    epoch: int
    batch: int
    seconds: float
    last_dev_bleu: float | None
    best_dev_bleu: float | None
    best_step: int | None
    validations_since_best: int

    @classmethod
    def at_start(cls) -> "Position":
        """Return where a new training stands."""
        return cls(0, 0, 0, 0.0, None, None, None, 0)


@dataclass(config=_STRICT)
class State:
    """What `state.json` holds.

    Attributes:
        step: updates made.
        position: where the training stands.
        dev_bleu: of the model in this checkpoint, if it was validated.
        data_fingerprint: of the corpus.
        saved_at: the time in UTC, in ISO 8601.
        versions: of s2s and the libraries, by name.
    """

    step: int
    position: Position
    dev_bleu: float | None
    data_fingerprint: str
    saved_at: str
    versions: dict[str, str]


@dataclass(config=_STRICT)
class Manifest:
    """What `manifest.json` holds: the hash of each other file, by name."""

    sha256: dict[str, str]


_STATE = TypeAdapter(State)
_MANIFEST = TypeAdapter(Manifest)


class Variable(Protocol):
    """What a Keras variable offers to be saved and restored."""

    path: str
    shape: Any

    def numpy(self) -> np.ndarray:
        """Return the value."""

    def assign(self, value: np.ndarray) -> Any:
        """Replace the value."""


def save(
    root: Path, model: Iterable[Variable], optimizer: Iterable[Variable], state: State
) -> Path:
    """Write a checkpoint into `root`; until it is whole and on the disk, it has another name.

    Raises:
        DiskError: when it cannot be written; what was there before is untouched.
    """
    final = root / f"step-{state.step:08d}"
    partial = root / f".partial-{final.name}"
    with disk_errors(final):
        root.mkdir(parents=True, exist_ok=True)
        for leftover in root.glob(".partial-*"):
            shutil.rmtree(leftover)
        partial.mkdir()
        try:
            _save_arrays(partial / MODEL, model)
            _save_arrays(partial / OPTIMIZER, optimizer)
            write_durably(partial / STATE, _STATE.dump_json(state, indent=2))
            hashes = {name: _sha256(partial / name) for name in (MODEL, OPTIMIZER, STATE)}
            write_durably(partial / MANIFEST, _MANIFEST.dump_json(Manifest(hashes), indent=2))
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


def verify(path: Path, name: str) -> None:
    """See that a file of a checkpoint is what was written.

    Raises:
        CheckpointError: if it is missing or not what the manifest says.
    """
    try:
        hashes = _MANIFEST.validate_json((path / MANIFEST).read_bytes()).sha256
        found = _sha256(path / name)
    except (OSError, ValidationError) as error:
        raise CheckpointError(f"{path}: damaged: {name} or {MANIFEST} is unreadable") from error
    if hashes.get(name) != found:
        raise CheckpointError(f"{path}: damaged: {name} is not what {MANIFEST} says")


def read_state(path: Path) -> State:
    """Return the state that was given to `save`.

    Raises:
        CheckpointError: if it is missing, damaged or of another version.
    """
    verify(path, STATE)
    try:
        return _STATE.validate_json((path / STATE).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "it"
        raise CheckpointError(
            f"{path}: {STATE} is not one of this version of s2s: {key}: {first['msg']}"
        ) from error


def newest_valid(root: Path, report: Callable[[str], None]) -> Path:
    """Return the newest checkpoint that is whole, and name each damaged one that is newer.

    Raises:
        CheckpointError: if there is none.
    """
    errors = []
    for path in checkpoints(root):
        try:
            read_state(path)
            for name in (MODEL, OPTIMIZER):
                verify(path, name)
        except CheckpointError as error:
            errors.append(error)
            continue
        for damaged in errors:
            report(f"{damaged}; {path.name} is used")
        return path
    raise _no_valid_checkpoint(root, errors)


def best_valid(root: Path, report: Callable[[str], None]) -> Path:
    """Return the whole checkpoint with the highest dev BLEU, or the newest if none was validated.

    Raises:
        CheckpointError: if there is none.
    """
    errors = []
    scored: list[tuple[float, Path]] = []
    for path in checkpoints(root):
        try:
            bleu = read_state(path).dev_bleu
            scored.append((-1.0 if bleu is None else bleu, path))
        except CheckpointError as error:
            errors.append(error)
    for _, path in sorted(scored, key=lambda item: item[0], reverse=True):
        try:
            verify(path, MODEL)
        except CheckpointError as error:
            errors.append(error)
            continue
        for damaged in errors:
            report(f"{damaged}; {path.name} is used")
        return path
    raise _no_valid_checkpoint(root, errors)


def _no_valid_checkpoint(root: Path, errors: Sequence[CheckpointError]) -> CheckpointError:
    run = root.parent
    if not errors:
        return CheckpointError(
            f"{run}: has no checkpoint yet. Go on with its training: s2s train --resume --run {run}"
        )
    reasons = "\n".join(map(str, errors))
    return CheckpointError(
        f"{reasons}\n{run}: no valid checkpoint is left. Put one back from a copy. Or delete "
        f"{run} and train again, or train in another folder with --run"
    )


def restore(path: Path, name: str, variables: Iterable[Variable]) -> None:
    """Assign to each variable the array that was saved under its path.

    Raises:
        CheckpointError: if the file does not hold exactly these variables; then none is changed.
    """
    verify(path, name)
    variables = list(variables)
    wanted = {v.path: tuple(v.shape) for v in variables}
    try:
        # One array at a time, so that they are not in memory twice.
        with safe_open(path / name, framework="numpy") as file:
            keys = file.keys()
            found = {key: tuple(file.get_slice(key).get_shape()) for key in keys}
            if wanted == found:
                for variable in variables:
                    variable.assign(file.get_tensor(variable.path))
    except SafetensorError as error:
        raise CheckpointError(f"{path / name}: not a safetensors file: {error}") from error
    if wanted != found:
        raise CheckpointError(
            f"{path / name}: belongs to another model: {_difference(wanted, found)}. Was the run's "
            "config.toml changed? Use the one it was trained with"
        )


def prune(root: Path, keep: int, best: int | None) -> None:
    """Delete all but the newest `keep` checkpoints and the one of step `best`."""
    with disk_errors(root):
        for path in checkpoints(root)[keep:]:
            if path.name != f"step-{best or 0:08d}":
                shutil.rmtree(path)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and have it on the disk before returning."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    _sync_folder(path.parent)


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


def _save_arrays(path: Path, variables: Iterable[Variable]) -> None:
    """Write the values of variables by their paths; not by way of bytes, which are memory."""
    try:
        safetensors.numpy.save_file({v.path: np.asarray(v.numpy()) for v in variables}, path)
    except SafetensorError as error:
        raise DiskError(
            f"{path.parent}: cannot be written: {error}. Free some space and go on with --resume, "
            "or check the folder's permissions"
        ) from error
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


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
