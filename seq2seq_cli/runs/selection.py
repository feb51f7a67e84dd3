"""Selects checkpoints of a run by name: best, last, all, or the number of an update."""

import os
import re
from pathlib import Path

from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs.checkpoints import Checkpoint, checkpoint_folders
from seq2seq_cli.runs.run import Run
from seq2seq_cli.work import Warn

BEST, LAST, ALL = "best", "last", "all"


def select(run: Run, name: str, warn: Warn) -> list[Checkpoint]:
    """Return the checkpoints that a name selects, the earliest first.

    Args:
        run: the run.
        name: `best` by dev BLEU, `last`, `all`, or an update such as 1200 or step-00001200.
        warn: called for each damaged checkpoint, which is skipped.

    Raises:
        UsageError: if the name is none of these.
        CheckpointError: if there is no such checkpoint, or it is damaged.
    """
    if name == BEST:
        return [run.best_checkpoint(warn)]
    if name in (LAST, ALL):
        valid = [each for each in map(Checkpoint, _paths(run)) if _is_valid(each, warn)]
        if not valid:
            raise CheckpointError(f"{run.path}: has no valid checkpoint. Continue its training")
        return valid[-1:] if name == LAST else valid
    number = re.fullmatch(r"(?:step-)?(\d+)", name)
    if not number:
        raise UsageError(
            f"{name!r} is not a checkpoint. Give best, last, all, or an update such as 1200"
        )
    wanted = run.checkpoints / f"step-{int(number[1]):08d}"
    if not os.path.isdir(wanted):
        updates = ", ".join(str(int(path.name[5:])) for path in _paths(run)) or "none"
        raise CheckpointError(
            f"{run.path}: has no checkpoint of update {number[1]}. It has: {updates}"
        )
    checkpoint = Checkpoint(wanted)
    checkpoint.verify_weights()
    return [checkpoint]


def _paths(run: Run) -> list[Path]:
    """Return the folders of the checkpoints, the earliest first."""
    return checkpoint_folders(run.checkpoints)[::-1]


def _is_valid(checkpoint: Checkpoint, warn: Warn) -> bool:
    try:
        checkpoint.verify_weights()
    except CheckpointError as error:
        warn(f"{error}; it is skipped")
        return False
    return True
