"""Faults of trainings by several workers: a signal, a kill, a stop; and other numbers of workers.

    python tests/reliability/workers.py                 a few of each, some seconds
    python tests/reliability/workers.py --kills 20      and kills at random moments

Each line that it prints is what was tried, as JSON.
"""

import argparse
import json
import random
import signal
import tempfile
import time
from pathlib import Path

from forked import entries, saved_hash
from together import config_of, difference, last_step, removed, start

STEPS = 30
"""Updates of each training, each of which is saved."""
LONGEST = 60.0
"""Seconds in which all workers must have left, after one is lost."""


def elastic(folder: Path) -> None:
    """Train by four workers, then two, then one; compare with one process that was never ended.

    The four end since one of them gets SIGTERM, and the two since one of them is killed.
    """
    config = config_of(folder, STEPS)
    whole = start(config, folder / "whole", 1)
    whole.wait()
    assert whole.codes == {0: 0}, whole.messages()
    run = removed(folder / "elastic")

    four = start(config, run, 4)
    four.wait_for_step(run, 2)
    four.signal(2, signal.SIGTERM)
    four.wait()
    assert set(four.codes.values()) == {128 + signal.SIGTERM}, f"{four.codes}: {four.messages()}"
    first = last_step(run)
    assert first is not None
    assert first < STEPS
    assert all(f"at step {first}, which is saved" in four.messages(worker) for worker in range(4))

    two = start(config, run, 2)
    two.wait_for_step(run, first + 2)
    two.signal(1, signal.SIGKILL)
    two.wait()
    assert two.codes == {0: 8, 1: -signal.SIGKILL}, f"{two.codes}: {two.messages()}"
    assert "worker 1 (127.0.0.1:" in two.messages(0)
    assert two.seconds[0] < LONGEST

    one = start(config, run, 1)
    one.wait()
    assert one.codes == {0: 0}, one.messages()
    found = difference(run, folder / "whole")
    assert found == 0, found
    updates = [entry for entry in entries(run) if entry[0] == "training"]
    assert [step for _, step, _ in updates] == [*range(1, STEPS + 1)]
    say(tried="4 workers, SIGTERM, 2 workers, SIGKILL, 1 process", difference=found)


def stopped(folder: Path, worker: int) -> None:
    """Stop a worker by SIGSTOP; the other leaves, names it, and a new start goes on."""
    config = config_of(folder, STEPS)
    run = removed(folder / "stopped")
    both = start(config, run, 2)
    both.wait_for_step(run, 2)
    both.signal(worker, signal.SIGSTOP)
    both.wait(worker)
    both.signal(worker, signal.SIGKILL)
    both.wait()
    other = 1 - worker
    assert both.codes == {other: 8, worker: -signal.SIGKILL}, f"{both.codes}: {both.messages()}"
    assert f"worker {worker} (127.0.0.1:" in both.messages(other), both.messages(other)
    assert both.seconds[other] < LONGEST
    say(tried=f"SIGSTOP of worker {worker}", seconds=round(both.seconds[other], 1))


def kills(folder: Path, count: int, seed: int) -> None:
    """Kill workers at random moments until there were `count`; compare all bits at the end."""
    config = config_of(folder, STEPS)
    chance = random.Random(seed)
    whole, run = folder / "whole-2", folder / "killed"
    began = time.monotonic()
    start(config, whole, 2).wait()
    usual = time.monotonic() - began
    done, longest = 0, 0.0
    while done < count:
        removed(run)
        while True:
            both = start(config, run, 2)
            worker = chance.randrange(2)
            if done < count:
                time.sleep(chance.random() * usual)
                if not both.has_ended(worker):
                    both.signal(worker, signal.SIGKILL)
            both.wait()
            if both.codes == {0: 0, 1: 0}:
                break
            if both.codes.get(worker) == -signal.SIGKILL:
                done += 1
                other = 1 - worker
                named = f"worker {worker} (127.0.0.1:" in both.messages(other)
                # One that has heard of the end of the training ends well.
                assert both.codes[other] == 0 or named, f"seed {seed}: {both.messages()}"
                longest = max(longest, both.seconds[other])
                assert longest < LONGEST
                say(kill=done, of=worker, at=last_step(run), code=both.codes[other])
        assert (saved_hash(run), entries(run)) == (saved_hash(whole), entries(whole)), seed
    say(tried="SIGKILL at random moments", kills=done, seconds=round(longest, 1), same_bits=True)


def say(**what: object) -> None:
    """Print what was done as a line of JSON."""
    print(json.dumps(what), flush=True)


def main() -> None:
    """Try all in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["elastic", "stopped", "kills"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only in (None, "elastic"):
            elastic(folder)
        if given.only in (None, "stopped"):
            stopped(folder, 1)
            stopped(folder, 0)
        if given.kills:
            kills(folder, given.kills, given.seed)


if __name__ == "__main__":
    main()
