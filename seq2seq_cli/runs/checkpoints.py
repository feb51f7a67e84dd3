"""Checkpoints on disk: written whole or not at all, verified when read.

This module does not import TensorFlow. A checkpoint is a folder with `model.safetensors`,
`optimizer.safetensors`, `state.json` and `manifest.json`, which holds the SHA-256 of the others.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import safetensors.numpy
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from safetensors import SafetensorError, safe_open

from seq2seq_cli.errors import CheckpointError, DiskError
from seq2seq_cli.runs.disk import disk_errors, sync, write_durably

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
        batch: batches taken from the current pass.
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
            sync(root)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return final


def checkpoints(root: Path) -> list[Path]:
    """Return the folders of the checkpoints in `root`, valid or not, the newest first."""
    return sorted(root.glob("step-*"), key=lambda path: path.name, reverse=True)


class Checkpoint:
    """A checkpoint that was saved. Each of its files is read and hashed at most once.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path):
        self.path = path
        self._verified: set[str] = set()

    @cached_property
    def state(self) -> State:
        """The state that was given to `save`.

        Raises:
            CheckpointError: if it is missing, damaged or of another version.
        """
        try:
            content = (self.path / STATE).read_bytes()
        except OSError as error:
            raise self._unreadable(STATE) from error
        self._compare(STATE, hashlib.sha256(content).hexdigest())
        try:
            return _STATE.validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "it"
            raise CheckpointError(
                f"{self.path}: {STATE} is not one of this version of s2s: {key}: {first['msg']}"
            ) from error

    def verify(self, name: str) -> None:
        """Check that a file is what was saved.

        Raises:
            CheckpointError: if it is missing or not what the manifest says.
        """
        if name in self._verified:
            return
        try:
            found = _sha256(self.path / name)
        except OSError as error:
            raise self._unreadable(name) from error
        self._compare(name, found)
        self._verified.add(name)

    def restore(self, name: str, variables: Iterable[Variable]) -> None:
        """Assign to each variable the array that was saved under its path.

        Raises:
            CheckpointError: if the file is damaged, or does not hold exactly these variables; then
                none is changed.
        """
        self.verify(name)
        variables = list(variables)
        wanted = {v.path: tuple(v.shape) for v in variables}
        try:
            # One array at a time, so that they are not in memory twice.
            with safe_open(self.path / name, framework="numpy") as file:
                keys = file.keys()
                found = {key: tuple(file.get_slice(key).get_shape()) for key in keys}
                if wanted == found:
                    for variable in variables:
                        variable.assign(file.get_tensor(variable.path))
        except SafetensorError as error:
            raise CheckpointError(f"{self.path / name}: not a safetensors file: {error}") from error
        if wanted != found:
            raise CheckpointError(
                f"{self.path / name}: belongs to another model: {_difference(wanted, found)}. Was "
                "the run's config.toml changed? Use the one it was trained with"
            )

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return _MANIFEST.validate_json((self.path / MANIFEST).read_bytes()).sha256

    def _compare(self, name: str, found: str) -> None:
        try:
            saved = self._hashes.get(name)
        except (OSError, ValidationError) as error:
            raise self._unreadable(name) from error
        if saved != found:
            raise CheckpointError(f"{self.path}: damaged: {name} is not what {MANIFEST} says")

    def _unreadable(self, name: str) -> CheckpointError:
        return CheckpointError(f"{self.path}: damaged: {name} or {MANIFEST} is unreadable")


def newest_valid(root: Path, warn: Callable[[str], None]) -> Checkpoint:
    """Return the newest checkpoint that is whole.

    Args:
        root: the folder of the checkpoints.
        warn: called for each damaged checkpoint that is newer.

    Raises:
        CheckpointError: if there is none.
    """
    stored = map(Checkpoint, checkpoints(root))
    return _first_valid(root, stored, (MODEL, OPTIMIZER), [], warn)


def best_valid(
    root: Path, warn: Callable[[str], None], stored: Sequence[Checkpoint] = ()
) -> Checkpoint:
    """Return the checkpoint with the highest dev BLEU, or the newest if none was validated.

    The optimizer's file may be damaged.

    Args:
        root: the folder of the checkpoints.
        warn: called for each damaged checkpoint.
        stored: the checkpoints there, the newest first, if the caller has read some of their files.

    Raises:
        CheckpointError: if there is none.
    """
    errors = []
    scored: list[tuple[float, Checkpoint]] = []
    for checkpoint in stored or map(Checkpoint, checkpoints(root)):
        try:
            bleu = checkpoint.state.dev_bleu
            scored.append((-1.0 if bleu is None else bleu, checkpoint))
        except CheckpointError as error:
            errors.append(error)
    best_first = sorted(scored, key=lambda item: item[0], reverse=True)
    return _first_valid(root, (found for _, found in best_first), (MODEL,), errors, warn)


def _first_valid(
    root: Path,
    stored: Iterable[Checkpoint],
    files: Sequence[str],
    errors: list[CheckpointError],
    warn: Callable[[str], None],
) -> Checkpoint:
    """Return the first checkpoint whose state and `files` are whole, after warning of `errors`."""
    for checkpoint in stored:
        try:
            _ = checkpoint.state
            for name in files:
                checkpoint.verify(name)
        except CheckpointError as error:
            errors.append(error)
            continue
        for damaged in errors:
            warn(f"{damaged}; {checkpoint.path.name} is used")
        return checkpoint
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


def prune(root: Path, keep: int, best: int | None) -> None:
    """Delete all but the newest `keep` checkpoints and the one of step `best`."""
    with disk_errors(root):
        for path in checkpoints(root)[keep:]:
            if path.name != f"step-{best or 0:08d}":
                shutil.rmtree(path)


def _save_arrays(path: Path, variables: Iterable[Variable]) -> None:
    """Write the values of variables by their paths, without a copy in memory."""
    try:
        safetensors.numpy.save_file({v.path: np.asarray(v.numpy()) for v in variables}, path)
    except SafetensorError as error:
        raise DiskError(
            f"{path.parent}: cannot be written: {error}. Free some space and go on with --resume, "
            "or check the folder's permissions"
        ) from error
    sync(path)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _difference(wanted: Mapping[str, tuple], found: Mapping[str, tuple]) -> str:
    for key in sorted({**wanted, **found}):
        if key not in found:
            return f"it lacks {key}"
        if key not in wanted:
            return f"it has {key}, which this model has not"
        if wanted[key] != found[key]:
            return f"{key} has shape {found[key]} there and {wanted[key]} in this model"
    return "the same"
