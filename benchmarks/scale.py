"""Time and memory of preparing, starting, training and resuming, by the size of the corpus.

    python benchmarks/scale.py --sizes 10000 100000 1000000 10000000 --json scale.json

The corpora are the phrasebook's pairs, repeated and numbered. Memory is the maximum of the resident
memory, summed over the command's processes. Times begin with the start of the command.
"""

import argparse
import itertools
import json
import signal
import statistics
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

from seq2seq_cli.config.data import DataConfig
from seq2seq_cli.data.corpus import read_corpus

S2S = [sys.executable, "-m", "seq2seq_cli"]


class Command:
    """A running command, and the maximum of its process memory (bytes)."""

    def __init__(self, *arguments: str, folder: Path):
        import psutil

        self.began = time.monotonic()
        self.memory = 0
        self.log = (folder / "log.txt").open("w")
        self.process = psutil.Popen(
            [*S2S, *arguments], cwd=folder, stdout=self.log, stderr=self.log
        )
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        import psutil

        while self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE:
            total = 0
            try:
                for process in [self.process, *self.process.children(recursive=True)]:
                    total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self.memory = max(self.memory, total)
            time.sleep(0.1)

    def seconds(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self.began

    def finish(self, expected: int = 0) -> float:
        """Wait for the end, and return the time it took."""
        code = self.process.wait()
        if code != expected:
            raise SystemExit(f"exit code {code}; see {self.log.name}")
        return self.seconds()


def write_corpus(path: Path, pairs: int) -> None:
    """Write so many pairs, without repeating a sentence."""
    train = read_corpus(DataConfig()).train
    with path.open("w", encoding="utf-8") as file:
        for number in itertools.count(1):
            for source, target in itertools.islice(train, max(pairs, 0)):
                file.write(f"{number}. {source}\t{number}. {target}\n")
            pairs -= len(train)
            if pairs <= 0:
                return


def metrics(run: Path) -> list[dict[str, float]]:
    """Return the training entries that the run has logged so far."""
    path = run / "metrics.jsonl"
    lines = path.read_text("utf-8").split("\n")[:-1] if path.is_file() else []
    return [entry for entry in map(json.loads, lines) if "pairs_per_second" in entry]


def wait_for_update(command: Command, run: Path, step: int) -> float:
    """Wait until the run logs an update after `step`, and return the time since the start."""
    while not any(entry["step"] > step for entry in metrics(run)):
        if command.process.poll() is not None:
            raise SystemExit(f"the training ended early; see {command.log.name}")
        time.sleep(0.05)
    return command.seconds()


def measure(pairs: int, folder: Path, steps: int) -> dict[str, float]:
    """Prepare, train, interrupt and resume with a corpus of so many pairs."""
    write_corpus(folder / "corpus.tsv", pairs)
    prepare = Command("data", "prepare", "prepared", "--data", "corpus.tsv", folder=folder)
    found: dict[str, float] = {"pairs": pairs, "prepare_seconds": prepare.finish()}
    found["prepare_memory"] = prepare.memory
    (folder / "corpus.tsv").unlink()
    run = folder / "runs" / "x"
    train = Command("train", "--data", "prepared", "--epochs", "100", "--run", "x", folder=folder)
    found["first_steps_seconds"] = wait_for_update(train, run, 0)
    wait_for_update(train, run, steps)
    train.process.send_signal(signal.SIGTERM)
    train.finish(expected=128 + signal.SIGTERM)
    found["train_memory"] = train.memory
    rates = [entry["pairs_per_second"] for entry in metrics(run)]
    found["pairs_per_second"] = statistics.median(rates[len(rates) // 3 :])
    saved = int(metrics(run)[-1]["step"])
    resume = Command("train", "--resume", "--run", "x", folder=folder)
    found["resume_seconds"] = wait_for_update(resume, run, saved)
    resume.process.send_signal(signal.SIGTERM)
    resume.finish(expected=128 + signal.SIGTERM)
    found["resume_memory"] = resume.memory
    return found


def main() -> None:
    """Measure each size, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--steps", type=int, default=600, help="updates to train for")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    rows = []
    for pairs in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(pairs, Path(folder), options.steps))
        print(json.dumps(rows[-1]), flush=True)
        if options.json:
            versions = {name: version(name) for name in ("s2s", "tensorflow", "keras")}
            options.json.write_text(json.dumps({"versions": versions, "sizes": rows}, indent=1))


if __name__ == "__main__":
    main()
