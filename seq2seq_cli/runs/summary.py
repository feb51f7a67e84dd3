"""A summary of a run, from the files of its folder except the weights."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seq2seq_cli.config import Config
from seq2seq_cli.config.model import DEFAULT_KIND, RNNConfig
from seq2seq_cli.errors import CheckpointError, S2SError
from seq2seq_cli.runs.checkpoints import Checkpoint, checkpoint_folders
from seq2seq_cli.runs.metrics_log import END, START, VALIDATION, of_kind
from seq2seq_cli.runs.naming import RUNS, folders_of_runs
from seq2seq_cli.runs.run import Run

RunState = Literal["training", "interrupted", "done", "damaged"]


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run in figures.

    Attributes:
        name: the value of `--run` that selects it.
        state: training (another process has its lock), interrupted, done, or damaged.
        problem: what is damaged, or why training ended.
        model: the kind of model and its attention, such as rnn-additive.
        attention: the score, and the wiring of an RNN.
        data: the corpus.
        steps: updates made.
        minutes: the duration of training.
        best_dev_bleu, best_step: of the best validation; None before the first.
        size: of the folder, in bytes.
        changed: the time of the newest checkpoint in UTC, in ISO 8601; empty if there is none.
    """

    name: str
    state: RunState
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
    """Yield the runs in a folder, sorted by name. Other folders are left out."""
    for path in folders_of_runs(root):
        run = Run(path)
        if run.has_config or os.path.isdir(run.checkpoints):
            yield run


def summarise(run: Run) -> RunSummary:
    """Return the summary of a run."""
    entries, unreadable = _entries(run)
    config, problem = _config(run)
    last, damage = _newest_state(run)
    problem = problem or damage or unreadable
    validations = of_kind(entries, VALIDATION)
    best = max(validations, key=lambda entry: entry["dev_bleu"], default=None)
    state, problem = _state(run, entries, problem, has_checkpoint=last is not None)
    step = max([entry["step"] for entry in entries], default=last.state.step if last else 0)
    seconds = [entry["seconds"] for entry in entries if "seconds" in entry]
    return RunSummary(
        name=run_name(run),
        state=state,
        problem=problem,
        model=config.model.label if config else "",
        attention=_attention(config) if config else "",
        data=_data(config) if config else "",
        steps=step,
        minutes=max(seconds, default=0.0) / 60,
        best_dev_bleu=best["dev_bleu"] if best else None,
        best_step=best["step"] if best else None,
        size=folder_size(run.path),
        changed=last.state.saved_at if last else "",
    )


def run_name(run: Run) -> str:
    """Return the name of a run in runs/, or the path of another run."""
    return run.name if run.path.parent == RUNS else str(run.path)


def trained_on(run: Run) -> str:
    """Return device, precision and versions of a run's training; empty for older versions of s2s.

    Args:
        run: the run.
    """
    starts = of_kind(run.metrics(), START)
    computation = starts[0].get("computation") if starts else None
    if not isinstance(computation, dict):
        return ""
    found = [str(computation[key]) for key in ("device", "precision") if key in computation]
    versions = computation.get("versions")
    if isinstance(versions, dict):
        found += [f"{name} {version}" for name, version in versions.items()]
    return ", ".join(found)


def folder_size(path: Path) -> int:
    """Return the size of all files in a folder, in bytes, without files that are being deleted."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total


def differing_keys(configs: "list[Config]") -> dict[str, list[Any]]:
    """Return the keys whose values differ, with the values of all configs.

    The value is None in a config that lacks the key.
    """
    flat = [config.flat() for config in configs]
    keys = dict.fromkeys(key for values in flat for key in values)
    found = {key: [values.get(key) for values in flat] for key in keys}
    return {key: values for key, values in found.items() if any(v != values[0] for v in values)}


def changed_keys(config: Config) -> dict[str, Any]:
    """Return the keys with values that differ from the defaults of the config's kind of model.

    `model.kind` is among them if it is not the default kind.
    """
    usual = Config.model_validate({"model": {"kind": config.model.kind}}).flat()
    usual["model.kind"] = DEFAULT_KIND
    return {key: value for key, value in config.flat().items() if value != usual.get(key)}


def _config(run: Run) -> tuple[Config | None, str]:
    try:
        return run.config(), ""
    except S2SError as error:
        return None, str(error)


def _entries(run: Run) -> tuple[list[dict[str, Any]], str]:
    """Return the entries of the metrics, and why they cannot be read."""
    try:
        return run.metrics(), ""
    except CheckpointError as error:
        return [], str(error)


def _newest_state(run: Run) -> tuple[Checkpoint | None, str]:
    """Return the newest checkpoint with a readable state, and the problem of newer ones."""
    problem = ""
    try:
        paths = checkpoint_folders(run.checkpoints)
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
) -> tuple[RunState, str]:
    if run.is_locked():
        return "training", ""
    if problem:
        return "damaged", problem
    if has_checkpoint and not entries:  # training always writes entries
        return "done", "an average of checkpoints"
    ends = of_kind(entries, END)
    if ends:
        return "done", str(ends[-1].get("reason", ""))
    return "interrupted", ""


def _attention(config: Config) -> str:
    model = config.model
    if not isinstance(model, RNNConfig):
        return "multi-head" if model.has_attention else "none"
    span = "" if model.attention_span == "global" else f"{model.attention_span} "
    return f"{span}{model.attention}, {model.wiring}".replace("_", "-")


def _data(config: Config) -> str:
    return ", ".join(source.corpus for source in config.data.mixture)
