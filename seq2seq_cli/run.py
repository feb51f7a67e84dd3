"""The run folder: config, tokenizer, checkpoints, metrics and logs of one training."""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seq2seq_cli import checkpoints
from seq2seq_cli.config import Config
from seq2seq_cli.config_files import Overrides, load_config
from seq2seq_cli.errors import CheckpointError, LockedError, UsageError

RUNS = Path("runs")
COMPUTATION = "computation.json"


class Run:
    """A folder below `runs/`, or wherever `--run` says.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path):
        self.path = path

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

    def config(self, *layers: Overrides) -> Config:
        """Read the resolved config; the values of `layers` come in the place of its own."""
        path = self.path / "config.toml"
        if not path.is_file():
            raise CheckpointError(f"{path}: does not exist; {self.path} is not a run's folder")
        return load_config(Overrides.read(path), *layers)

    def write(self, config: Config, tokenizer_files: Mapping[str, bytes]) -> None:
        """Fill a new folder with what a rebuild of the model needs."""
        with checkpoints.disk_errors(self.path):
            self.tokenizer.mkdir(parents=True, exist_ok=True)
            for name, content in tokenizer_files.items():
                checkpoints.write_durably(self.tokenizer / name, content)
            checkpoints.write_durably(self.path / "config.toml", config.to_toml().encode())

    def write_computation(self, text: str) -> None:
        """Keep how the training computes, as JSON."""
        with checkpoints.disk_errors(self.path):
            checkpoints.write_durably(self.path / COMPUTATION, text.encode())

    def computation(self) -> str | None:
        """Return what was kept, or None."""
        try:
            return (self.path / COMPUTATION).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other process from training here; the lock goes with the process.

        Raises:
            LockedError: naming the process that has it.
        """
        with checkpoints.disk_errors(self.path):
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
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def append_metrics(self, entry: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl."""
        with (
            checkpoints.disk_errors(self.path / "metrics.jsonl"),
            (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file,
        ):
            file.write(json.dumps(entry) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """Read metrics.jsonl; a last line that was cut off is left out."""
        path = self.path / "metrics.jsonl"
        if not path.is_file():
            return []
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def forget_metrics_after(self, step: int) -> None:
        """Drop the entries of updates that a resumed training makes again."""
        kept = [entry for entry in self.metrics() if entry["step"] <= step]
        with checkpoints.disk_errors(self.path / "metrics.jsonl"):
            partial = self.path / ".metrics.partial"
            checkpoints.write_durably(
                partial, "".join(json.dumps(entry) + "\n" for entry in kept).encode()
            )
            partial.replace(self.path / "metrics.jsonl")


def run_path(name: str) -> Path:
    """Return the folder that `--run` means: a path, or a name below runs/."""
    path = Path(name)
    return path if len(path.parts) > 1 or path.is_absolute() else RUNS / name


def new_run(name: str | None, label: str) -> Run:
    """Make the folder of a new training: that of `name`, or the next number with `label`.

    Raises:
        UsageError: if the folder has something in it.
    """
    if name is not None:
        path = run_path(name)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(
                f"{path}: exists already. Go on with it by --resume, or give another name to --run"
            )
        with checkpoints.disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        return Run(path)
    with checkpoints.disk_errors(RUNS):
        RUNS.mkdir(exist_ok=True)
        numbers = [int(m[0]) for p in RUNS.iterdir() if (m := re.match(r"\d+", p.name))]
        number = max(numbers, default=0) + 1
        while True:
            path = RUNS / f"{number:03d}-{label}"
            try:
                path.mkdir()
                return Run(path)
            except FileExistsError:  # another process took the number
                number += 1


def find_run(name: str | None, report: Callable[[str], None] = lambda text: None) -> Run:
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
    candidates = []
    for path in RUNS.glob("*/"):
        for checkpoint in checkpoints.checkpoints(path / "checkpoints"):
            try:
                saved_at = checkpoints.read_state(checkpoint)["saved_at"]
            except CheckpointError as error:
                report(f"{error}; the one before it is used")
                continue
            candidates.append((saved_at, path))
            break
    if not candidates:
        raise CheckpointError(
            f"{RUNS.absolute()}: no run with a checkpoint. Train one by `s2s train`, go to the "
            "folder that has one, or name it by --run"
        )
    return Run(max(candidates)[1])


# What may differ when a training goes on: it changes where it runs, not what it computes.
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
        now = load_config(Overrides.read(run.path / "config.toml"), *layers)
        old, new = before.flat(), now.flat()
    changed = [key for key in old if old[key] != new[key] and key not in _FREE_ON_RESUME]
    if changed:
        lines = [f"  {key}: {old[key]!r} there, {new[key]!r} now" for key in changed]
        raise UsageError(
            f"--resume: {run.path} was begun with another config:\n" + "\n".join(lines) + "\n"
            "Leave these out to go on, or leave --resume out to begin a new run"
        )
    return now
