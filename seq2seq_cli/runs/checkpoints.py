"""Checkpoints on the disk, which are verified when they are read. `saving.py` writes them.

A checkpoint is a folder with `model.safetensors`, `optimizer.safetensors`, `average.safetensors` if
weights are averaged, `state.json`, and `manifest.json` with the SHA-256 of the other files.
"""

import hashlib
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from seq2seq_cli.errors import CheckpointError, os_reason
from seq2seq_cli.runs import files
from seq2seq_cli.runs.arrays import Spec, open_arrays
from seq2seq_cli.runs.state import STRICT, State
from seq2seq_cli.work import Warn

MODEL, OPTIMIZER, AVERAGE, STATE, MANIFEST = (
    "model.safetensors",
    "optimizer.safetensors",
    "average.safetensors",
    "state.json",
    "manifest.json",
)
FILES = (MODEL, OPTIMIZER, AVERAGE, STATE)
_NEEDED = {MODEL, STATE}
_NAME = re.compile(r"step-([0-9]{1,18})")
_LONGEST_JSON = 1_000_000  # bytes; valid files have hundreds


@dataclass(config=STRICT)
class Manifest:
    """The content of `manifest.json`.

    Attributes:
        sha256: the hash of each other file, by name.
    """

    sha256: dict[str, str]


_STATE = TypeAdapter(State)
_MANIFEST = TypeAdapter(Manifest)


class Variable(Protocol):
    """The part of a Keras variable that restoring it needs."""

    path: str
    shape: Any
    dtype: Any

    def assign(self, value: np.ndarray) -> Any:
        """Replace the value."""


def folder_name(step: int) -> str:
    """Return the name of the checkpoint after `step` updates."""
    return f"step-{step:08d}"


def step_of(path: Path) -> int:
    """Return the number of updates in the name of a checkpoint's folder; -1 if it has none."""
    match = _NAME.search(path.name)
    return int(match[1]) if match else -1


def checkpoint_folders(root: Path) -> list[Path]:
    """Return the folders of all checkpoints in `root`, also of damaged ones, the newest first.

    The newest checkpoint is the one with the most updates. Modification times do not count.

    Raises:
        CheckpointError: if `root` cannot be read.
    """
    try:
        paths = [root / name for name in files.names(root)]
    except OSError as error:
        raise CheckpointError(f"{root}: cannot be read: {os_reason(error)}") from error
    named = [path for path in paths if _NAME.fullmatch(path.name)]
    return sorted(named, key=step_of, reverse=True)


class Checkpoint:
    """A saved checkpoint. It reads and hashes each file at most once.

    Args:
        path: the folder.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path):
        self.path = path
        self._verified: set[str] = set()

    @cached_property
    def state(self) -> State:
        """The state of training.

        Raises:
            CheckpointError: if it is missing, damaged or of another version.
        """
        content = self._read(STATE)
        self._compare(STATE, hashlib.sha256(content).hexdigest())
        try:
            state = _STATE.validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "it"
            raise CheckpointError(
                f"{self.path}: {STATE} is from another version of s2s: {key}: {first['msg']}"
            ) from error
        if self.path.name != folder_name(state.step):
            raise CheckpointError(
                f"{self.path}: damaged: {STATE} belongs to {folder_name(state.step)}. Was the "
                "folder renamed?"
            )
        return state

    @property
    def files(self) -> list[str]:
        """The names of its files, without the manifest.

        Raises:
            CheckpointError: if the manifest is missing or damaged.
        """
        return list(self._hashes)

    @property
    def weights(self) -> str:
        """The name of the file with the weights for translation: the averages, if there are any.

        Raises:
            CheckpointError: if the manifest is missing or damaged.
        """
        return AVERAGE if AVERAGE in self._hashes else MODEL

    def verify(self, name: str) -> None:
        """Check the hash of a file.

        Raises:
            CheckpointError: if the file is missing, or the manifest has another hash.
        """
        if name in self._verified:
            return
        self._compare(name, self._hash(name))
        self._verified.add(name)

    def verify_all(self) -> None:
        """Check the state and the hashes of all files.

        Raises:
            CheckpointError: for the first file that is missing or damaged.
        """
        _ = self.state
        for name in sorted(self._hashes):
            self.verify(name)

    def verify_weights(self) -> None:
        """Check the state and the weights for translation.

        Raises:
            CheckpointError: if one is missing or damaged.
        """
        _ = self.state
        self.verify(self.weights)

    def restore(self, name: str, variables: Iterable[Variable]) -> None:
        """Assign to each variable the saved array of the same path.

        Args:
            name: of the file.
            variables: all variables of the file.

        Raises:
            CheckpointError: if the file is damaged, or has other variables. In the second case no
                variable changes.
        """
        self.verify(name)
        variables = list(variables)
        wanted = {v.path: Spec(tuple(v.shape), str(v.dtype)) for v in variables}
        # One array at a time, so that they are not in memory twice.
        with open_arrays(self.path / name) as file:
            if wanted == file.specs:
                for variable in variables:
                    variable.assign(file.array(variable.path))
                return
            found = file.specs
        raise CheckpointError(
            f"{self.path / name}: belongs to another model: {_difference(wanted, found)}. Was "
            "the run's config.toml changed after training? Restore it"
        )

    @cached_property
    def _hashes(self) -> dict[str, str]:
        try:
            hashes = _MANIFEST.validate_json(self._read(MANIFEST)).sha256
        except ValidationError as error:
            raise CheckpointError(f"{self.path}: damaged: {MANIFEST} is unreadable") from error
        odd = [*(_NEEDED - hashes.keys()), *(hashes.keys() - set(FILES))]
        if odd:
            verb = "lacks" if odd[0] in _NEEDED else "names"
            raise CheckpointError(f"{self.path}: damaged: {MANIFEST} {verb} {odd[0]!r}")
        return hashes

    def _read(self, name: str) -> bytes:
        path = self.path / name
        try:
            if files.size(path) > _LONGEST_JSON:
                raise CheckpointError(f"{self.path}: damaged: {name} is too long")
            return files.read(path)
        except OSError as error:
            raise self._unreadable(name, error) from error

    def _hash(self, name: str) -> str:
        digest = hashlib.sha256()
        path = self.path / name
        try:
            files.size(path)
            for block in files.blocks(path):
                digest.update(block)
        except OSError as error:
            raise self._unreadable(name, error) from error
        return digest.hexdigest()

    def _compare(self, name: str, found: str) -> None:
        if self._hashes.get(name) != found:
            raise CheckpointError(f"{self.path}: damaged: {name} differs from {MANIFEST}")

    def _unreadable(self, name: str, error: OSError) -> CheckpointError:
        reason = os_reason(error)
        return CheckpointError(f"{self.path}: damaged: {name} is unreadable: {reason}")


def newest_valid(root: Path, warn: Warn) -> Checkpoint:
    """Return the newest valid checkpoint, from which training can continue.

    Args:
        root: the folder of the checkpoints.
        warn: called for each newer checkpoint, which is damaged.

    Raises:
        CheckpointError: if there is none, or it is an average of others.
    """
    stored = map(Checkpoint, checkpoint_folders(root))
    newest = _first_valid(root, stored, Checkpoint.verify_all, [], warn)
    if OPTIMIZER not in newest.files:
        raise CheckpointError(
            f"{newest.path}: is an average of checkpoints, and training cannot continue from it. "
            "Continue the run of these checkpoints"
        )
    return newest


def best_valid(root: Path, warn: Warn, stored: Sequence[Checkpoint] = ()) -> Checkpoint:
    """Return the checkpoint with the highest dev BLEU, or the newest if none was validated.

    If several have it, the oldest is returned, as training ranks them. Its weights are valid. The
    file of the optimizer may be damaged.

    Args:
        root: the folder of the checkpoints.
        warn: called for each damaged checkpoint.
        stored: the checkpoints, the newest first, if the caller has already read some of their
            files.

    Raises:
        CheckpointError: if no checkpoint has valid weights.
    """
    errors = []
    scored: list[tuple[tuple[float, int], Checkpoint]] = []
    for checkpoint in stored or map(Checkpoint, checkpoint_folders(root)):
        try:
            state = checkpoint.state
            bleu = state.dev_bleu
            rank = (-1.0, state.step) if bleu is None else (bleu, -state.step)
            scored.append((rank, checkpoint))
        except CheckpointError as error:
            errors.append(error)
    best_first = sorted(scored, key=lambda item: item[0], reverse=True)
    return _first_valid(
        root, (found for _, found in best_first), Checkpoint.verify_weights, errors, warn
    )


def _first_valid(
    root: Path,
    stored: Iterable[Checkpoint],
    verify: Callable[[Checkpoint], None],
    errors: list[CheckpointError],
    warn: Warn,
) -> Checkpoint:
    """Return the first checkpoint that passes `verify`. Warn of `errors` and of failures."""
    for checkpoint in stored:
        try:
            verify(checkpoint)
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
            f"{run}: has no checkpoint yet. Continue its training: s2s train --resume --run "
            f"{shlex.quote(str(run))}"
        )
    reasons = "\n".join(map(str, errors))
    return CheckpointError(
        f"{reasons}\n{run}: no valid checkpoint is left. Restore one from a copy. Or delete "
        f"{run} and train again, or train in another folder with --run"
    )


def _difference(wanted: Mapping[str, Spec], found: Mapping[str, Spec]) -> str:
    for key in sorted({**wanted, **found}):
        if key not in found:
            return f"it lacks {key}"
        if key not in wanted:
            return f"it has {key}, which this model lacks"
        saved, own = found[key], wanted[key]
        if saved.shape != own.shape:
            return f"{key} has shape {saved.shape} in the file and {own.shape} in this model"
        if saved.dtype != own.dtype:
            return f"{key} has dtype {saved.dtype} in the file and {own.dtype} in this model"
    return "nothing"
