"""Training processes that are forked from one that has imported all and computed nothing.

A fork takes milliseconds, an import of TensorFlow seconds. TensorFlow starts its threads at the
first operation, which only the forked processes make. So each begins as a new process does.
"""

import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from conftest import tiny_config, toy_pairs

from seq2seq_cli.config import Config
from seq2seq_cli.runs.checkpoints import checkpoint_folders
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.tensorflow import import_tensorflow
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train

import_tensorflow()

KINDS: dict[str, dict[str, object]] = {
    "rnn": {"model__kind": "rnn"},
    "transformer": {"model__kind": "transformer"},
    "decoder_only": {"model__kind": "decoder_only"},
    "bfloat16": {"model__kind": "transformer", "training__precision": "bfloat16"},
    "parts": {"model__kind": "rnn", "training__parts": 2, "training__batch_tokens": 256},
}
"""The trainings that are interrupted, by name."""

SMALLEST = {"model__kind": "decoder_only", "model__layers": 1}
"""The training that is traced in the shortest time."""

Entry = tuple[str, int, float]


def config_of(folder: Path, model: dict[str, object], steps: int) -> Config:
    """Return the config of a training that saves after each update; its corpus is in `folder`."""
    corpus = folder / "pairs.tsv"
    if not corpus.exists():
        lines = [f"{source}\t{target}\n" for source, target in toy_pairs()]
        corpus.write_text("".join(lines), encoding="utf-8")
    return tiny_config(
        corpus,
        **model,
        tokenizer__kind="words",  # sentences of one length, for which an update is traced once
        data__dev_pairs=8,
        data__test_pairs=8,
        decoding__max_length=8,
        training__steps=steps,
        training__validate_every_steps=steps // 2,
        training__checkpoint_minutes=1e-9,
    )


def forked(work: Callable[[], object], log: Path) -> int:
    """Start a process that does `work` and ends; return its id. Its output goes to `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def train_forked(config: Config, run: Path, log: Path) -> int:
    """Start a process that trains as `run`, or goes on with it; return its id."""
    known = Run(run) if run.exists() and Run(run).has_config else None
    name = None if known else str(run)
    return forked(lambda: train(config, ignore, resume=known, name=name), log)


def wait_for(process: int, log: Path) -> None:
    """Wait for the end of a process.

    Raises:
        AssertionError: if it did not end well; with what it printed.
    """
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code == 0, f"a training ended with {code}: {log.read_text('utf-8')}"


def saved_hash(run: Path, step: int | None = None) -> str:
    """Return the SHA-256 of the weights and the optimizer's state, of the newest checkpoint."""
    root = Run(run).checkpoints
    folder = checkpoint_folders(root)[0] if step is None else root / f"step-{step:08d}"
    digest = hashlib.sha256(folder.name.encode())
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def entries(run: Path) -> list[Entry]:
    """Return the kind, the update and the loss of each entry of updates and validations."""
    lines = (run / "metrics.jsonl").read_text("utf-8").splitlines()
    found = [entry for entry in map(json.loads, lines) if entry["kind"] in KEPT]
    return [(entry["kind"], entry["step"], entry[KEPT[entry["kind"]]]) for entry in found]


KEPT = {"training": "loss", "validation": "dev_loss"}
