"""The run folder: config, tokenizer, checkpoints, metrics and logs of one training."""

import fcntl
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import CheckpointError, LockedError, UsageError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.disk import disk_errors, write_durably

Warn = Callable[[str], None]
RUNS = Path("runs")
COMPUTATION = "computation.json"
_CONFIG = "config.toml"
# What is in the folder of a training that ended before its config was written.
_LEFTOVERS = {"lock", "tokenizer", f".{_CONFIG}.partial"}
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
    def tokenizer(self) -> Path:
        """The folder of the tokenizers' files."""
        return self.path / "tokenizer"

    @property
    def has_config(self) -> bool:
        """Whether the config is there, which is written last before training."""
        return (self.path / _CONFIG).is_file()

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
        if not self.path.is_dir():
            return not self.path.exists()
        return {path.name for path in self.path.iterdir()} <= _LEFTOVERS

    def write(self, config: Config, tokenizer_files: Mapping[str, bytes]) -> None:
        """Write the files from which the model is rebuilt into a new folder, which is locked.

        Raises:
            UsageError: if another training was faster.
        """
        self.check_free()
        with disk_errors(self.path):
            self.tokenizer.mkdir(parents=True, exist_ok=True)
            for name, content in tokenizer_files.items():
                write_durably(self.tokenizer / name, content)
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

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other process from training here; the lock ends with the process.

        Raises:
            LockedError: naming the process that has it.
        """
        with disk_errors(self.path):
            file = (self.path / "lock").open("a+")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                raise LockedError(
                    f"{self.path}: process {file.read().strip() or 'unknown'} is training here. "
                    "Wait for it, stop it, or train in another folder with --run"
                ) from error
            with disk_errors(self.path):
                file.truncate(0)
                file.write(str(os.getpid()))
                file.flush()
            yield

    def append_metrics(self, entry: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl."""
        with (
            disk_errors(self.path / "metrics.jsonl"),
            (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file,
        ):
            file.write(json.dumps(entry) + "\n")

    def metrics(self, warn: Warn = lambda text: None) -> list[dict[str, Any]]:
        """Read metrics.jsonl.

        Broken lines are left out, with a warning, except for a last line that was cut off.
        """
        path = self.path / "metrics.jsonl"
        if not path.is_file():
            return []
        entries: list[dict[str, Any]] = []
        broken = []
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                entry = json.loads(line)
            except ValueError:
                entry = None
            if isinstance(entry, dict) and isinstance(entry.get("step"), int):
                entries.append(entry)
            else:
                broken.append(number)
        if broken:
            others = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
            warn(f"{path}:{broken[0]}: left out a broken line{others}")
        return entries

    def forget_metrics_after(self, step: int, warn: Warn) -> None:
        """Drop the entries of updates that a resumed training makes again, and broken lines."""
        path = self.path / "metrics.jsonl"
        with disk_errors(path):
            kept = [entry for entry in self.metrics(warn) if entry["step"] <= step]
            text = "".join(json.dumps(entry) + "\n" for entry in kept)
            write_durably(path, text.encode())


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
    """
    run = resumed or (Run(run_path(name)) if name is not None else None)
    if run is None:
        return
    if not resumed:
        run.check_free()
    if run.path.exists():
        with run.lock():
            pass


def next_path(name: str | None, label: str) -> Path:
    """Return the folder of a new training: that of `name`, or the next number with `label`.

    Raises:
        UsageError: if the name is not usable for a folder.
    """
    if name is not None:
        return run_path(name)
    there = RUNS.iterdir() if RUNS.is_dir() else ()
    numbers = [int(match[0]) for path in there if (match := re.match(r"\d+", path.name))]
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
            run.path.mkdir(parents=True, exist_ok=True)
        return run
    with disk_errors(RUNS):
        RUNS.mkdir(exist_ok=True)
        while True:
            path = next_path(None, label)
            with suppress(FileExistsError):  # another process took the number
                path.mkdir()
                return Run(path)


def find_run(name: str | None, warn: Warn = lambda text: None) -> Run:
    """Return the run called `name`, or the one whose checkpoint is the newest.

    Raises:
        CheckpointError: if there is no such run, naming those there are.
    """
    if name is not None:
        path = run_path(name)
        if not path.is_dir():
            there = ", ".join(sorted(p.name for p in RUNS.glob("*/"))) or "none"
            raise CheckpointError(f"{path}: no such run. Runs in {RUNS.absolute()}: {there}")
        return Run(path)
    candidates: list[tuple[str, Path, list[Checkpoint]]] = []
    for path in RUNS.glob("*/"):
        stored = [Checkpoint(each) for each in checkpoints.checkpoints(path / "checkpoints")]
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


# Keys that may differ when a training continues: they change no result.
_FREE_ON_RESUME = {"training.device"}


def resumed_config(run: Run, *layers: Overrides) -> Config:
    """Return the run's config, which `layers` may repeat but not change.

    Raises:
        UsageError: naming each key that differs, with both values.
    """
    before = run.config()
    kinds = [layer["model.kind"] for layer in layers if "model.kind" in layer]
    if kinds and kinds[-1] != before.model.kind:  # another kind has other keys: no more to compare
        old, new = {"model.kind": before.model.kind}, {"model.kind": kinds[-1]}
    else:
        now = run.config(*layers)
        old, new = before.flat(), now.flat()
    changed = [key for key in old if old[key] != new[key] and key not in _FREE_ON_RESUME]
    if changed:
        lines = [f"  {key}: {old[key]!r} there, {new[key]!r} now" for key in changed]
        raise UsageError(
            f"--resume: {run.path} was begun with another config:\n" + "\n".join(lines) + "\n"
            "Leave these out to go on, or leave --resume out to begin a new run"
        )
    return now
