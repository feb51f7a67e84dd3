"""Whether the diagnosis of a training is silent where nothing is wrong.

    python benchmarks/clean_runs.py runs/001-rnn-additive runs/002-transformer
    python benchmarks/clean_runs.py --train phrasebook-rnn-additive phrasebook-transformer
    python benchmarks/clean_runs.py --train phrasebook-rnn-additive --updates 300

The runs are trainings in which nothing is wrong. The figures in their metrics.jsonl are given to
the detectors once more, so that a changed threshold needs no new training. `--train` trains shipped
configs first, each as its file says. `--updates` interrupts each after so many updates, with the
learning rates of the whole training.

Exit codes: 0 all silent, 1 a detector has spoken or a training failed, 2 usage.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from seq2seq_cli.runs.naming import run_path
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training.diagnosis import Diagnosis, Diagnostician

_EVERY = 0.5  # seconds between two looks at a training


def steps(run: Run) -> int:
    """Return how many updates a run has recorded."""
    return max((entry["step"] for entry in run.metrics()), default=0)


def train(config: str, folder: Path, updates: int | None) -> Run:
    """Train a shipped config; interrupt it after so many updates, if any."""
    run = Run(folder / config)
    command = [sys.executable, "-m", "seq2seq_cli", "train", "--quiet", "--config", config]
    process = subprocess.Popen([*command, "--run", str(run.path)])
    interrupted = False
    while process.poll() is None:
        time.sleep(_EVERY)
        if updates and not interrupted and steps(run) >= updates:
            process.send_signal(signal.SIGINT)
            interrupted = True
    if process.returncode not in (0, 130):
        raise SystemExit(f"{config}: the training failed")
    return run


def problems(run: Run) -> list[Diagnosis]:
    """Return what the detectors say of a run's figures."""
    doctor = Diagnostician()
    return [found for entry in run.metrics() for found in doctor.look_at(entry)]


def main() -> None:
    """Print a line for each run, and for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--train", nargs="+", default=[], metavar="CONFIG")
    parser.add_argument("--updates", type=int, help="after which trainings are interrupted")
    options = parser.parse_args()
    if not options.runs and not options.train:
        parser.error("name runs, or configs by --train")
    has_spoken = False
    with tempfile.TemporaryDirectory() as folder:
        runs = [Run(run_path(name)) for name in options.runs]
        runs += [train(config, Path(folder), options.updates) for config in options.train]
        for run in runs:
            if not steps(run):
                raise SystemExit(f"{run.path}: has no figures")
            found = problems(run)
            has_spoken |= bool(found)
            print(f"{run.path}: {steps(run)} updates, problems: {len(found)}")
            for each in found:
                print(f"  update {each.step}: {each.name}: {each.text}")
    sys.exit(1 if has_spoken else 0)


if __name__ == "__main__":
    main()
