"""A small run that is killed and resumed, compared bit by bit with an uninterrupted one."""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import S2SError
from seq2seq_cli.runs.disk import disk_errors
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.devices import use_device
from seq2seq_cli.runtime.tensorflow import import_tensorflow
from seq2seq_cli.training.events import Event, Progress, ignore
from seq2seq_cli.training.loop import train
from seq2seq_cli.work import ShowWork, show_nothing

STEPS = 20
"""Number of updates of the run."""

_SAVED, _KILLED = 8, 10  # updates after which the run is saved and killed
_LONGEST = 300  # seconds to wait for the killed process
_WORDS = ("one two three four", "red blue green grey", "cats dogs birds fish", "see eat run sing")
_SETTINGS = {
    "data.dev_pairs": 20,
    "data.test_pairs": 20,
    "tokenizer.vocabulary_size": 320,
    "model.embedding_units": 32,
    "model.encoder_units": 32,
    "model.decoder_units": 64,
    "model.attention_units": 32,
    "training.batch_pairs": 16,
    "training.steps": STEPS,
    "training.compile": "graph",  # compiling would take most of the time
    "decoding.max_length": 12,
    "training.validate_every_steps": _SAVED,
}
_CHILD = f"import sys; from {__name__} import end_by_a_kill; end_by_a_kill(*sys.argv[1:])"


class ResumeCheckError(S2SError):
    """The run of the check did not finish."""


@dataclass(frozen=True)
class ResumeCheck:
    """The result of the check.

    Attributes:
        same_bits: whether weights and the optimizer's state are those of the uninterrupted run.
        same_steps: whether metrics.jsonl has the same updates, each once.
        seconds: the time that it took.
    """

    same_bits: bool
    same_steps: bool
    seconds: float


def check_resuming(folder: Path, device: str, show: ShowWork = show_nothing) -> ResumeCheck:
    """Train, train again in a process that is killed, resume that, and compare.

    Args:
        folder: receives a temporary folder, which is removed at the end.
        device: the value of --device; this process already uses it.
        show: shows the current run.

    Raises:
        ResumeCheckError: if the second process is not ended by the kill.
        S2SError: see `train`.
    """
    began = time.monotonic()
    with (
        disk_errors(folder),
        tempfile.TemporaryDirectory(prefix="s2s-doctor-", dir=folder) as name,
    ):
        show("Training without interruption")
        whole = Run(Path(train(_config(Path(name), device), ignore, name=f"{name}/whole").run))
        # The same precision and shards, which a new run would measure again.
        computation = Computation.from_json(whole.computation() or "")
        chosen = computation.precision, str(computation.shards)
        show("Training in a process that is killed")
        _train_until_killed(name, device, *chosen)
        show("Resuming it")
        parts = Run(Path(name) / "parts")
        train(_config(Path(name), device, *chosen), ignore, resume=parts)
        return ResumeCheck(
            _saved(parts) == _saved(whole),
            _steps(parts) == _steps(whole),
            time.monotonic() - began,
        )


def _train_until_killed(*arguments: str) -> None:
    """Run `end_by_a_kill` in a separate process.

    Raises:
        ResumeCheckError: if the process is not ended by the kill.
    """
    command = [sys.executable, "-c", _CHILD, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        raise ResumeCheckError(f"a run of {_KILLED} updates took over {_LONGEST} s") from None
    if done.returncode != -signal.SIGKILL:
        last = (done.stderr.strip() or "nothing").split("\n")[-1]
        raise ResumeCheckError(f"a run ended with {done.returncode} and printed: {last}")


def end_by_a_kill(folder: str, device: str, precision: str, shards: str) -> None:
    """Train until the process kills itself: after an update that is not saved."""

    def kill(event: Event) -> None:
        if isinstance(event, Progress) and event.step == _KILLED:
            os.kill(os.getpid(), signal.SIGKILL)

    import_tensorflow()
    use_device(device)
    train(_config(Path(folder), device, precision, shards), kill, name=f"{folder}/parts")


def _config(folder: Path, device: str, precision: str = "auto", shards: str = "") -> Config:
    """Return the config; its corpus is written to the folder."""
    corpus = folder / "pairs.tsv"
    sentences = [" ".join(words) for words in itertools.product(*map(str.split, _WORDS))]
    lines = [f"{text}\t{' '.join(reversed(text.split()))}\n" for text in sentences]
    corpus.write_text("".join(lines), encoding="utf-8")
    overrides = Overrides()
    values = {**_SETTINGS, "data.corpus": str(corpus), "training.precision": precision}
    values["training.device"] = device
    if shards:
        values["training.shards"] = int(shards)
    for key, value in values.items():
        overrides.set(key, value, "the check")
    return load_config(overrides)


def _saved(run: Run) -> dict[str, bytes]:
    folder = run.checkpoints / f"step-{STEPS:08d}"
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


def _steps(run: Run) -> list[tuple[str, int]]:
    return [(entry["kind"], entry["step"]) for entry in run.metrics()]
