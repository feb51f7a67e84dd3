"""Two signals in each phase of a real training: the process ends at once, and nothing is lost.

python tests/reliability/second_signals.py
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from forked import SMALLEST, config_of, entries, forked, saved_hash, train_forked, wait_for

from seq2seq_cli.cli import main as s2s
from seq2seq_cli.runs import checkpoints
from seq2seq_cli.runs.run import Run
from seq2seq_cli.training import checkpointing, loop, setup
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.validation import Validator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMMAND = sys.modules["seq2seq_cli.cli.workers"]
PHASES = {  # in what the signals come, at its which call, and the last update that is saved then
    "import": (COMMAND, "start_tensorflow", 1, 0),
    "data": (setup, "read_corpus", 1, 0),
    "compile": (loop, "compile_ahead", 1, 0),
    "update": (Updater, "update", 3, 2),
    "validation": (Validator, "translate", 1, 2),
    "save": (checkpointing.saving, "_move", 3, 2),
    "end": (loop.Trainer, "_end", 1, 6),
}
STEPS = 6


def signalled_twice(config: Path, run: Path, phase: str, number: int) -> None:
    """Train by the command line; both signals come in the phase, to this process."""
    owner, name, call, _ = PHASES[phase]
    working, calls = getattr(owner, name), 0

    def signalling(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls == call:
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)
        return working(*arguments, **named)

    setattr(owner, name, signalling)
    sys.argv = ["s2s", "train", "--config", str(config), "--run", str(run)]
    s2s()


def check(folder: Path, phase: str, number: int, expected: tuple[str, list]) -> None:
    """Check that two signals end a training at once, and that it goes on to the same end.

    Raises:
        AssertionError: if not.
    """
    config = config_of(folder, SMALLEST, STEPS)
    text, run, log = folder / "my.toml", folder / f"{phase}-{number}", folder / "log"
    text.write_text(config.to_toml(), encoding="utf-8")
    process = forked(lambda: signalled_twice(text, run, phase, number), log)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    said = log.read_text("utf-8")
    assert code == -number, f"{phase}: ended with {code}: {said}"
    assert "Traceback" not in said
    root, last = Run(run).checkpoints, PHASES[phase][3]
    assert bool(checkpoints.checkpoint_folders(root)) == bool(last)
    if last:
        newest = checkpoints.newest_valid(root, lambda warning: None)
        assert newest.state.step == last, f"{phase}: {newest.path} is the last one"
    wait_for(train_forked(config, run, log), log)
    assert (saved_hash(run), entries(run)) == expected, phase


def main() -> None:
    """Check each phase with each signal in a temporary folder; print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signal", choices=[number.name for number in SIGNALS])
    parser.add_argument("--phases", nargs="+", choices=[*PHASES], default=[*PHASES])
    given = parser.parse_args()
    chosen = [signal.Signals[given.signal]] if given.signal else SIGNALS
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:  # as nohup does, or a shell in a script
            signal.signal(number, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        wait_for(train_forked(config_of(folder, SMALLEST, STEPS), folder / "whole", log), log)
        expected = saved_hash(folder / "whole"), entries(folder / "whole")
        for phase in given.phases:
            for number in chosen:
                check(folder, phase, number, expected)
                print(json.dumps({"phase": phase, "signal": number.name}), flush=True)


if __name__ == "__main__":
    main()
