"""Training by several workers on this machine: speed, loss, and time to resume; and what it means.

    python benchmarks/workers.py --workers 1 2 4 --model transformer --steps 200 --json workers.json
    python benchmarks/workers.py --from workers.json --network 10

Each number of workers trains as many updates of the same shards; 1 is one process with all cores.
The speed is the median of the later two thirds. Resuming is the time from the start of the command
to the next ten updates. The second command computes from such figures what is exchanged per update,
and how fast more workers would be on a network, if nothing else slowed them down.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from seq2seq_cli.runtime.machine import cores, processor_name

_FLOAT = 4  # bytes
_MORE = 20  # updates after resuming


def entries(run: Path) -> list[dict[str, Any]]:
    """Return what a run has logged of its updates so far."""
    path = run / "metrics.jsonl"
    lines = path.read_text("utf-8").split("\n")[:-1] if path.is_file() else []
    return [entry for entry in map(json.loads, lines) if entry["kind"] == "training"]


def command(workers: int, *options: str) -> list[str]:
    """Return the command that trains by so many workers."""
    s2s = [sys.executable, "-m", "seq2seq_cli"]
    if workers == 1:
        return [*s2s, "train", *options, "--strategy", "one"]
    return [*s2s, "launch", "--workers", str(workers), "--", "train", *options]


def train(workers: int, folder: Path, options: list[str], steps: int) -> None:
    """Run a training to its end.

    Raises:
        SystemExit: if it fails, with its messages.
    """
    log = folder / "log.txt"
    with log.open("w") as file:
        limits = ["--run", str(folder / "run"), "--steps", str(steps)]
        code = subprocess.run(
            command(workers, *options, *limits), stdout=file, stderr=file, check=False
        ).returncode
    if code:
        raise SystemExit(log.read_text("utf-8"))


def measure(workers: int, options: list[str], steps: int) -> dict[str, Any]:
    """Return the figures of a training by so many workers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = folder / "run"
        train(workers, folder, options, steps)
        found = entries(run)
        rates = [entry["pairs_per_second"] for entry in found][len(found) // 3 :]
        (begun, *_) = map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines())
        began, resumed = time.monotonic(), None
        log = folder / "resuming.log"
        with log.open("w") as written:
            resuming = subprocess.Popen(
                command(workers, "--resume", "--run", str(run), "--steps", str(steps + _MORE)),
                stdout=written,
                stderr=subprocess.STDOUT,
            )
            while resuming.poll() is None:
                if resumed is None and entries(run)[-1]["step"] > steps:
                    resumed = time.monotonic() - began
                time.sleep(0.05)
        if resuming.returncode or resumed is None:
            raise SystemExit(f"the training was not resumed:\n{log.read_text()}")
        return {
            "workers": workers,
            "pairs_per_second": round(statistics.median(rates), 1),
            "loss": found[-1]["loss"],
            "resume_seconds": round(resumed, 1),
            "weights": begun["parameters"],
            "pairs_per_update": round(begun["train_pairs"] / begun["batches_per_epoch"], 1),
            "shards": begun["computation"]["shards"],
            "precision": begun["computation"]["precision"],
        }


def on_a_network(figures: dict[str, Any], gigabits: float) -> Iterator[str]:
    """Yield a table of what more workers would do, as lines of Markdown.

    A ring sends and receives 2 (W - 1) / W times the gradient for each worker and update. The
    computation of an update is that of one process, as it was measured, divided by W; or the batch
    grows with W, and each worker computes as much as one did. Nothing is exchanged meanwhile.

    Args:
        figures: of one worker.
        gigabits: per second, of the network, in each direction.
    """
    size = _FLOAT * figures["weights"]
    computing = figures["pairs_per_update"] / figures["pairs_per_second"]
    yield f"{size / 1e6:.1f} MB of gradient, {1000 * computing:.0f} ms of computation per update"
    yield "| workers | sent per update | exchange | same batch | batch × workers |"
    yield "|---|---|---|---|---|"
    for workers in (2, 8, 64):
        sent = 2 * (workers - 1) / workers * size
        exchange = sent * 8 / (gigabits * 1e9)
        same = computing / (computing / workers + exchange)
        larger = workers * computing / (computing + exchange)
        yield (
            f"| {workers} | {sent / 1e6:.1f} MB | {1000 * exchange:.1f} ms | {same:.1f} times as "
            f"fast | {larger:.1f} times as fast |"
        )


def main() -> None:
    """Measure, or compute from what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--model", default="transformer")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--from", dest="measured", type=Path)
    parser.add_argument("--network", type=float, default=10.0, help="gigabits per second")
    given = parser.parse_args()
    if given.measured:
        rows = json.loads(given.measured.read_text("utf-8"))
        alone = [row for row in rows if row["workers"] == 1]
        if not alone:
            parser.error(f"{given.measured}: has no row of one worker; use --workers 1")
        for line in on_a_network(alone[0], given.network):
            print(line)
        return
    settings = {
        "batch_tokens": given.batch_tokens,
        "shards": given.shards,
        "precision": "float32",
        "validate_every_steps": 10**6,
    }
    options = ["--data", "phrasebook", "--model", given.model]
    for key, value in settings.items():
        options += ["--set", f"training.{key}={value}"]
    packages = ", ".join(f"{name} {version(name)}" for name in ("tensorflow", "keras"))
    print(f"{cores()} cores of {processor_name()}; {packages}; {os.uname().release}", flush=True)
    found = []
    for workers in given.workers:
        found.append(measure(workers, options, given.steps))
        print(json.dumps(found[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
