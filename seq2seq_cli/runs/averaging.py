"""Averages the weights of several checkpoints into a new run."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import numpy as np

from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.arrays import open_arrays
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.disk import remove_tree
from seq2seq_cli.runs.naming import new_run, run_path
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import Warn


@dataclass
class Tensor:
    """A tensor to save.

    Attributes:
        path: its name.
        value: its value.
    """

    path: str
    value: np.ndarray

    def numpy(self) -> np.ndarray:
        """Return the value."""
        return self.value


def choose_checkpoints(run: Run, number: int, best: bool, warn: Warn) -> list[Checkpoint]:
    """Return the last or the best checkpoints of a run.

    Args:
        run: the run.
        number: of checkpoints to return.
        best: whether to return those with the highest dev BLEU, the best first, instead of the
            newest.
        warn: called for each damaged checkpoint, which is left out.

    Raises:
        UsageError: if there are fewer checkpoints.
    """
    found, chosen = [], []
    for path in checkpoints.checkpoint_folders(run.checkpoints):
        checkpoint = Checkpoint(path)
        try:
            if not best or checkpoint.state.dev_bleu is not None:
                found.append(checkpoint)
        except CheckpointError as error:
            warn(f"{error}; it is left out")
    if best:
        found.sort(key=lambda checkpoint: checkpoint.state.dev_bleu or 0.0, reverse=True)
    for checkpoint in found:
        try:
            checkpoint.verify_weights()
            chosen.append(checkpoint)
        except CheckpointError as error:
            warn(f"{error}; it is left out")
        if len(chosen) == number:
            return chosen
    key = "keep_best_checkpoints" if best else "keep_checkpoints"
    kind = "validated checkpoint" if best else "checkpoint"
    remedy = "Take fewer, or train" if len(chosen) > 1 else "Train"
    raise UsageError(
        f"{run.path}: has {len(chosen)} valid {kind}{'s' * (len(chosen) != 1)}, but {number} are "
        f"needed. {remedy} with a larger training.{key}"
    )


def average_checkpoints(run: Run, chosen: Sequence[Checkpoint], name: str | None) -> Run:
    """Write a new run with one checkpoint, which has the mean weights of other checkpoints.

    If a checkpoint has averages of its weights, the mean is over these. The new checkpoint has no
    state of an optimizer, so training cannot continue from it.

    Args:
        run: the run of the checkpoints.
        chosen: the checkpoints.
        name: of the new run; None for the next number.

    Raises:
        CheckpointError: if the checkpoints have different tensors, or the tokenizers of the run
            cannot be read.
        UsageError: if the folder of the new run has content.
        DiskError: if it cannot be written.
    """
    if name is not None:
        path = run_path(name)
        try:
            Run(path).check_free()
        except UsageError:
            raise UsageError(f"{path}: exists already. Give another name to --to") from None
    config = run.config()
    weights = _mean(chosen)
    newest = max((checkpoint.state for checkpoint in chosen), key=lambda state: state.step)
    now = datetime.now(timezone.utc).isoformat()
    state = replace(newest, dev_bleu=None, saved_at=now)
    tokenizer = run.tokenizer_files()
    made = new_run(name, f"{config.model.label}-average")
    with made.lock():
        made.check_free()
        try:
            made.write(config, tokenizer)
            made.save(weights, [], state)
        except BaseException:
            with suppress(OSError):
                remove_tree(made.path)  # it would look like a run whose training has begun
            raise
    return made


def _mean(chosen: Sequence[Checkpoint]) -> list[Tensor]:
    """Return the mean of each tensor over checkpoints, computed in float64."""
    with ExitStack() as stack:
        files = [stack.enter_context(open_arrays(each.path / each.weights)) for each in chosen]
        for checkpoint, file in zip(chosen, files, strict=True):
            if file.specs != files[0].specs:
                raise CheckpointError(
                    f"{checkpoint.path}: has other weights than {chosen[0].path}; only checkpoints "
                    "of the same model can be averaged"
                )
        means = []
        for name in files[0].specs:
            values = [file.array(name) for file in files]
            mean = np.mean(values, axis=0, dtype=np.float64).astype(values[0].dtype)
            means.append(Tensor(name, mean))
        return means
