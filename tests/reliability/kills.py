"""Kills of a real training, by SIGKILL at random moments, until it has come to its end.

    python tests/reliability/kills.py --count 20 --in-saves 6

Half of the kills are aimed at a save: they wait until a folder that is being written is there. A
kill counts as inside a save if such a folder is still there afterwards, and is new or changed since
the process began.
"""

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forked import SMALLEST, config_of, entries, saved_hash, train_forked, wait_for

from seq2seq_cli.config import Config
from seq2seq_cli.runs.run import Run

STEPS = 24
"""Updates of each training, each of which is saved."""

_UNFINISHED = (".partial-step-", ".replaced-", ".removed-")
_LONGEST = 600  # seconds until a training that does not end is an error


@dataclass
class Kills:
    """What was done.

    Attributes:
        count: kills of a living process.
        in_saves: of them, those that left a folder that was being written or removed.
        trainings: that were killed, resumed to their end, and compared.
    """

    count: int = 0
    in_saves: int = 0
    trainings: int = 0


def kill_trainings(
    folder: Path, count: int, in_saves: int, seed: int, done: Callable[[Kills], None]
) -> Kills:
    """Kill trainings until there were `count` kills, `in_saves` of them inside a save.

    Args:
        folder: an empty one.
        count: of all kills.
        in_saves: of the kills inside a save.
        seed: of the moments.
        done: called after each training that has come to its end as it should.

    Raises:
        AssertionError: if a training ends in another way, with other weights, or with an update
            that is missing or there twice.
    """
    config = config_of(folder, SMALLEST, STEPS)
    log, chance, kills = folder / "log", random.Random(seed), Kills()
    whole = folder / "whole"
    began = time.monotonic()
    wait_for(train_forked(config, whole, log), log)
    usual = time.monotonic() - began
    expected = saved_hash(whole), entries(whole)
    while kills.count < count or kills.in_saves < in_saves:
        run = folder / "killed"
        shutil.rmtree(run, ignore_errors=True)
        while not _survives(config, run, log, chance, usual, kills, count, in_saves):
            pass
        assert (saved_hash(run), entries(run)) == expected, f"seed {seed}: {kills}"
        kills.trainings += 1
        done(kills)
    return kills


def _survives(
    config: Config,
    run: Path,
    log: Path,
    chance: random.Random,
    usual: float,
    kills: Kills,
    count: int,
    in_saves: int,
) -> bool:
    """Train in a process that is killed at a random moment; return whether it ended before."""
    before = _unfinished(run)  # what the kill before has left
    process = train_forked(config, run, log)
    if kills.count >= count and kills.in_saves >= in_saves:
        wait_for(process, log)
        return True
    aimed = chance.random() < 0.5
    if aimed:
        saves, pause = chance.randrange(1, 4), chance.random() * 0.003
        ended = _wait_for_saves(process, run, saves)
        time.sleep(pause)
    else:
        time.sleep(chance.random() ** 2 * usual)  # more of them early, where more is done
        ended = False
    if not ended:
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code == 0:
        return True
    assert code == -signal.SIGKILL, f"a training ended with {code}: {log.read_text('utf-8')}"
    kills.count += 1
    kills.in_saves += bool(_unfinished(run) - before)
    return False


def _wait_for_saves(process: int, run: Path, saves: int) -> bool:
    """Wait until the process writes its next `saves` checkpoints; return whether it ended."""
    left = {name for name, *_ in _unfinished(run)}  # by the process before
    began, seen = time.monotonic(), set()
    while time.monotonic() - began < _LONGEST:
        found = {name for name, *_ in _unfinished(run)}
        left &= found
        seen |= found - left
        if len(seen) >= saves:
            return False
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return True
        time.sleep(0.0005)
    raise AssertionError(f"a training saved nothing for {_LONGEST} s")


def _unfinished(run: Path) -> set[tuple[str, int, int]]:
    """Return name, inode and time of change of each folder that is being written or removed."""
    found = set()
    with suppress(FileNotFoundError):  # a training that lives renames and removes them meanwhile
        for entry in os.scandir(Run(run).checkpoints):
            if entry.name.startswith(_UNFINISHED):
                with suppress(FileNotFoundError):
                    status = os.stat(entry.path)
                    found.add((entry.name, status.st_ino, status.st_ctime_ns))
    return found


def main() -> None:
    """Kill trainings in a temporary folder, and print a line of JSON for each that ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--in-saves", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kill_trainings(
            Path(folder),
            given.count,
            given.in_saves,
            given.seed,
            lambda kills: print(json.dumps(vars(kills)), flush=True),
        )


if __name__ == "__main__":
    main()
