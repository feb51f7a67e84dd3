"""Summaries of the checkpoints of a run."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.runs.checkpoints import Checkpoint, best_valid, checkpoint_folders, step_of
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.saving import set_aside, superfluous
from seq2seq_cli.runs.summary import folder_size


@dataclass(frozen=True)
class CheckpointSummary:
    """A checkpoint in figures.

    Attributes:
        name: of its folder.
        update: updates made.
        dev_bleu: of its model; None if it was not validated.
        size: of its files, in bytes.
        problem: what is damaged; empty if it is valid.
        is_best: whether translation uses it; see `checkpoints.best_valid`. The file of the
            optimizer may be damaged.
        is_last: whether it is the newest valid one, from which training continues.
    """

    name: str
    update: int
    dev_bleu: float | None
    size: int
    problem: str
    is_best: bool
    is_last: bool


def summarise_checkpoints(run: Run) -> list[CheckpointSummary]:
    """Read and verify all files of all checkpoints of a run.

    Returns:
        The summaries, the earliest checkpoint first. Those that training has renamed come last.

    Raises:
        CheckpointError: if the folder cannot be read.
    """
    stored = [*map(Checkpoint, checkpoint_folders(run.checkpoints))]
    read = [(each.path, *_read(each)) for each in reversed(stored)]
    last = next((path for path, _, problem in reversed(read) if not problem), None)
    best = None
    with suppress(CheckpointError):
        best = best_valid(run.checkpoints, lambda text: None, stored).path
    found = [
        CheckpointSummary(
            name=path.name,
            update=step_of(path),
            dev_bleu=bleu,
            size=folder_size(path),
            problem=problem,
            is_best=path == best,
            is_last=path == last,
        )
        for path, bleu, problem in read
    ]
    for path in set_aside(run.checkpoints):
        problem = "damaged: renamed when training continued from an earlier one"
        found.append(
            CheckpointSummary(
                name=path.name,
                update=step_of(path),
                dev_bleu=None,
                size=folder_size(path),
                problem=problem,
                is_best=False,
                is_last=False,
            )
        )
    return found


def removable(run: Run, keep: int, keep_best: int) -> list[Path]:
    """Return the checkpoints that can be deleted: superfluous and damaged ones.

    The newest valid one and the one that translation uses are never among them.

    Args:
        run: the run.
        keep: number of the newest valid ones to keep, at least 1.
        keep_best: number of the best ones to keep.

    Raises:
        CheckpointError: if none is valid.
    """
    found = summarise_checkpoints(run)
    if not any(each.is_last for each in found):
        run.best_checkpoint(lambda text: None)  # its error says what is wrong
        raise CheckpointError(f"{run.path}: no checkpoint is valid. Nothing was removed")
    best = next((each.update for each in found if each.is_best), None)
    old = {each.path for each in superfluous(run.checkpoints, keep, best, keep_best)}
    damaged = {run.checkpoints / each.name for each in found if each.problem and not each.is_best}
    return sorted(old | damaged)


def _read(checkpoint: Checkpoint) -> tuple[float | None, str]:
    """Return dev BLEU and the problem of a checkpoint."""
    bleu = None
    try:
        bleu = checkpoint.state.dev_bleu
        checkpoint.verify_all()
    except CheckpointError as error:
        return bleu, str(error).removeprefix(f"{checkpoint.path}: ")
    return bleu, ""
