"""Resumptions of a training after each of its updates, compared with the uninterrupted training.

    python tests/reliability/resumptions.py --steps 48

Each resumption is a process of its own, which trains to the end. What it finds is what a kill right
after the save of that update leaves.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from forked import KINDS, config_of, entries, forked, saved_hash, train_forked, wait_for

from seq2seq_cli.config import Config
from seq2seq_cli.runs.checkpoints import checkpoint_folders, folder_name, step_of
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.events import ignore
from seq2seq_cli.training.loop import train


def whole_training(folder: Path, kind: str, steps: int) -> tuple[Config, Path]:
    """Train without interruption, keep each checkpoint; return the config and the run's folder."""
    config = config_of(folder, KINDS[kind], steps)
    kept = config.training.model_copy(update={"keep_checkpoints": steps})
    config = config.model_copy(update={"training": kept})
    run, log = folder / f"whole-{kind}", folder / "log"
    wait_for(forked(lambda: train(config, ignore, name=str(run)), log), log)
    assert len(checkpoint_folders(Run(run).checkpoints)) == steps
    return config, run


def moments(whole: Path, steps: int) -> Iterator[tuple[int, ...]]:
    """Yield the updates after which a training is killed: each alone, and each two of one epoch.

    Two of one epoch are neighbours, since all pairs would be thousands.
    """
    epochs = [epoch_after(whole, step) for step in range(1, steps + 1)]
    for step in range(1, steps):
        yield (step,)
    for step in range(1, steps - 1):
        if step % 16 == 1 and epochs[step - 1] == epochs[step]:
            yield step, step + 1


def epoch_after(whole: Path, step: int) -> int:
    """Return the epoch of the training after an update."""
    state = json.loads((Run(whole).checkpoints / folder_name(step) / "state.json").read_text())
    return int(state["position"]["epoch"])


def check_resumption(folder: Path, config: Config, whole: Path, stops: tuple[int, ...]) -> None:
    """Resume a copy of the training that was killed after `stops[0]`, then after each other stop.

    Raises:
        AssertionError: if a checkpoint or an entry of metrics.jsonl is not that of the whole one.
    """
    run, log = folder / "resumed", folder / "log"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(whole, run)
    for stop in stops:
        forget_after(run, stop)
        wait_for(train_forked(config, run, log), log)
    for path in checkpoint_folders(Run(whole).checkpoints):
        step = step_of(path)
        assert saved_hash(run, step) == saved_hash(whole, step), f"{run}: {stops}: step {step}"
    assert entries(run) == entries(whole), f"{run}: {stops}"


def forget_after(run: Path, step: int) -> None:
    """Remove what a training did after an update, as if it had been killed then."""
    for path in checkpoint_folders(Run(run).checkpoints):
        if step_of(path) > step:
            shutil.rmtree(path)
    log = run / "metrics.jsonl"
    lines = log.read_text("utf-8").splitlines(keepends=True)
    # The updates that follow are there in part, as after a kill before the save.
    log.write_text("".join(line for line in lines if json.loads(line)["step"] <= step + 1), "utf-8")


def check_kind(folder: Path, kind: str, steps: int, every: int = 1, first: int = 0) -> int:
    """Check the resumptions of a kind of training, or one of `every`; return their number."""
    config, whole = whole_training(folder, kind, steps)
    assert epoch_after(whole, steps) > 0, "the training ends in its first epoch"
    chosen = list(moments(whole, steps))[first::every]
    for stops in chosen:
        check_resumption(folder, config, whole, stops)
    return len(chosen)


def main() -> None:
    """Check all kinds of training in temporary folders; print the number of resumptions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="of each EVERY, from 0")
    parser.add_argument("--kind", choices=[*KINDS])
    given = parser.parse_args()
    for kind in [given.kind] if given.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            count = check_kind(Path(folder), kind, given.steps, given.every, given.first)
            print(json.dumps({"kind": kind, "count": count}), flush=True)


if __name__ == "__main__":
    main()
