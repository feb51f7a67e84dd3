"""What a run's folder says of its training, without reading the weights."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seq2seq_cli.config import Config
from seq2seq_cli.config.model import DEFAULT_KIND
from seq2seq_cli.errors import CheckpointError, S2SError
from seq2seq_cli.runs.checkpoints import Checkpoint, checkpoints
from seq2seq_cli.runs.run import RUNS, Run

State = Literal["training", "interrupted", "done", "damaged"]


@dataclass(frozen=True)
class RunSummary:
    """A run in figures.

    Attributes:
        name: its path as `--run` takes it, without runs/.
        state: training (another process has its lock), interrupted, done, or damaged.
        problem: what is damaged, or why the training ended.
        model: the kind of model and its attention, such as rnn-additive.
        attention: the score, and the wiring of an RNN.
        data: the corpus.
        steps: updates made.
        minutes: spent in training.
        best_dev_bleu, best_step: of the best validation, if there was one.
        size: of the folder, in bytes.
        changed: when a checkpoint was last saved, in UTC, in ISO 8601; empty without any.
    """

    name: str
    state: State
    problem: str
    model: str
    attention: str
    data: str
    steps: int
    minutes: float
    best_dev_bleu: float | None
    best_step: int | None
    size: int
    changed: str


def all_runs(root: Path = RUNS) -> Iterator[Run]:
    """Yield the runs in a folder, by name. What is no run's folder is left out."""
    for path in sorted(root.glob("*/")):
        run = Run(path)
        if run.name.startswith("."):  # one that is just being removed
            continue
        if run.has_config or os.path.isdir(run.checkpoints):
            yield run


def summarise(run: Run) -> RunSummary:
    """Return what a run's folder says of it."""
    entries = run.metrics()
    config, problem = _config(run)
    last, damage = _newest_state(run)
    problem = problem or damage
    validations = [entry for entry in entries if entry.get("kind") == "validation"]
    best = max(validations, key=lambda entry: entry["dev_bleu"], default=None)
    state, problem = _state(run, entries, problem, has_checkpoint=last is not None)
    step = max([entry["step"] for entry in entries], default=last.state.step if last else 0)
    seconds = [entry["seconds"] for entry in entries if "seconds" in entry]
    return RunSummary(
        run_name(run),
        state,
        problem,
        config.model.label if config else "",
        _attention(config) if config else "",
        _data(config) if config else "",
        step,
        max(seconds, default=0.0) / 60,
        best["dev_bleu"] if best else None,
        best["step"] if best else None,
        folder_size(run.path),
        last.state.saved_at if last else "",
    )


def run_name(run: Run) -> str:
    """Return a run's name below runs/, or its path."""
    return run.name if run.path.parent == RUNS else str(run.path)


def trained_on(run: Run) -> str:
    """Return device, precision and versions of a training; empty for runs of earlier versions."""
    start = next((entry for entry in run.metrics() if entry.get("kind") == "start"), {})
    computation = start.get("computation")
    if not isinstance(computation, dict):
        return ""
    found = [str(computation[key]) for key in ("device", "precision") if key in computation]
    versions = computation.get("versions")
    if isinstance(versions, dict):
        found += [f"{name} {version}" for name, version in versions.items()]
    return ", ".join(found)


def folder_size(path: Path) -> int:
    """Return the bytes of the files in a folder; those that vanish meanwhile do not count."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total


def differing_keys(configs: "list[Config]") -> dict[str, list[Any]]:
    """Return the keys whose values differ, with the value of each config; None where it has none.

    The order is that of the first config that has a key.
    """
    flat = [config.flat() for config in configs]
    keys = dict.fromkeys(key for values in flat for key in values)
    found = {key: [values.get(key) for values in flat] for key in keys}
    return {key: values for key, values in found.items() if any(v != values[0] for v in values)}


def changed_keys(config: Config) -> dict[str, Any]:
    """Return the values that differ from the defaults of the config's kind of model, and the kind.

    The kind is left out if it is the default.
    """
    usual = Config.model_validate({"model": {"kind": config.model.kind}}).flat()
    usual["model.kind"] = DEFAULT_KIND
    return {key: value for key, value in config.flat().items() if value != usual.get(key)}


def _config(run: Run) -> tuple[Config | None, str]:
    try:
        return run.config(), ""
    except S2SError as error:
        return None, str(error)


def _newest_state(run: Run) -> tuple[Checkpoint | None, str]:
    """Return the newest checkpoint whose state can be read, and what is wrong with newer ones."""
    problem = ""
    try:
        paths = checkpoints(run.checkpoints)
    except CheckpointError as error:
        return None, str(error)
    for path in paths:
        checkpoint = Checkpoint(path)
        try:
            _ = checkpoint.state
        except CheckpointError as error:
            problem = problem or str(error)
            continue
        return checkpoint, problem
    return None, problem


def _state(
    run: Run, entries: list[dict[str, Any]], problem: str, has_checkpoint: bool
) -> tuple[State, str]:
    if run.is_locked():
        return "training", ""
    if problem:
        return "damaged", problem
    if has_checkpoint and not entries:  # no training does that
        return "done", "an average of checkpoints"
    ends = [entry for entry in entries if entry.get("kind") == "end"]
    if ends:
        return "done", str(ends[-1].get("reason", ""))
    shares = [entry["share_done"] for entry in entries if "share_done" in entry]
    # Runs that ended before this entry was written have none.
    return ("done", "") if shares and shares[-1] >= 1 else ("interrupted", "")


def _attention(config: Config) -> str:
    model = config.model
    if model.kind != "rnn":
        return "multi-head"
    span = "" if model.attention_span == "global" else f"{model.attention_span} "
    return f"{span}{model.attention}, {model.wiring}".replace("_", "-")


def _data(config: Config) -> str:
    return ", ".join(source.corpus for source in config.data.mixture)
