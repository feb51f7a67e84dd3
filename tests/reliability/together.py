"""Workers that train together: forked from a process that has imported all, as in `forked`."""

import contextlib
import os
import re
import shutil
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from conftest import tiny_config, toy_pairs
from forked import forked

from seq2seq_cli.cli import main as s2s
from seq2seq_cli.config import Config
from seq2seq_cli.runs.checkpoints import checkpoint_folders
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runtime.cluster import Cluster

_LONGEST = 300  # s until workers that do not end are an error


@dataclass
class Workers:
    """Worker processes.

    Attributes:
        processes: their ids.
        logs: the files of their messages.
        codes: how those that have ended did: exit codes, or signals as negative numbers.
        seconds: until each ended, since the first call of `wait` that waited for it.
    """

    processes: list[int]
    logs: list[Path]
    codes: dict[int, int] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)

    def signal(self, worker: int, number: int) -> None:
        """Send a signal to a worker."""
        os.kill(self.processes[worker], number)

    def has_ended(self, worker: int) -> bool:
        """Return whether a worker has ended, and note how."""
        if worker in self.codes:
            return True
        process, status = os.waitpid(self.processes[worker], os.WNOHANG)
        if process:
            self.codes[worker] = os.waitstatus_to_exitcode(status)
        return worker in self.codes

    def wait(self, *but: int) -> None:
        """Wait for the end of all workers `but` some.

        Raises:
            AssertionError: if they do not end, with their messages.
        """
        began = time.monotonic()
        left = set(range(len(self.processes))) - set(but)
        while left:
            for worker in [worker for worker in left if self.has_ended(worker)]:
                left.remove(worker)
                self.seconds.setdefault(worker, time.monotonic() - began)
            assert time.monotonic() - began < _LONGEST, f"{left} do not end: {self.messages()}"
            time.sleep(0.01)

    def wait_for_step(self, run: Path, step: int) -> None:
        """Wait until a run has the checkpoint of an update, or a later one.

        Raises:
            AssertionError: if a worker ends before, with the messages of all.
        """
        began = time.monotonic()
        while (last_step(run) or 0) < step:
            ended = [worker for worker in range(len(self.processes)) if self.has_ended(worker)]
            assert not ended, f"{self.codes}: {self.messages()}"
            assert time.monotonic() - began < _LONGEST, self.messages()
            time.sleep(0.002)

    def messages(self, worker: int | None = None) -> str:
        """Return what a worker has written, or all have, on one line each."""
        if worker is not None:
            return " ".join(self.logs[worker].read_text("utf-8").split())
        return "\n".join(self.messages(each) for each in range(len(self.logs)))


def config_of(folder: Path, steps: int, **settings: object) -> Config:
    """Return the config of a training of four shards that saves after each update."""
    corpus = folder / "pairs.tsv"
    lines = [f"{source}\t{target}\n" for source, target in toy_pairs()]
    corpus.write_text("".join(lines), encoding="utf-8")
    return tiny_config(
        corpus,
        data__dev_pairs=8,
        data__test_pairs=8,
        decoding__max_length=8,
        **{
            # An RNN: the biases of keys in self-attention have no gradient but rounding errors, of
            # which Adam makes steps that differ.
            "training__batch_tokens": 256,
            "training__parts": 2,
            "training__shards": 4,
            "training__steps": steps,
            "training__validate_every_steps": steps,
            "training__checkpoint_minutes": 1e-9,
            **settings,
        },
    )


def start(config: Config, run: Path, size: int, *options: str) -> Workers:
    """Start workers that train as `run`, or go on with it, by the command line.

    One worker is a process without TF_CONFIG.
    """
    file = run.with_suffix(".toml")
    file.write_text(config.to_toml(), encoding="utf-8")
    goes_on = run.exists() and Run(run).has_config
    begins = ["--resume"] if goes_on else ["--config", str(file)]
    arguments = ["s2s", "train", *begins, "--run", str(run), *options]
    addresses = free_addresses(size)
    logs = [run.parent / f"{run.name}-{worker}.log" for worker in range(size)]

    def work(worker: int) -> None:
        sys.argv = arguments
        os.environ.pop("TF_CONFIG", None)
        if size > 1:
            os.environ["TF_CONFIG"] = Cluster(addresses, worker).environment()
        try:
            s2s()
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(int(end.code or 0))

    processes = [forked(lambda w=worker: work(w), logs[worker]) for worker in range(size)]
    return Workers(processes, logs)


def free_addresses(number: int) -> tuple[str, ...]:
    """Return addresses of this machine whose ports are free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return tuple(f"127.0.0.1:{each.getsockname()[1]}" for each in sockets)


def last_step(run: Path) -> int | None:
    """Return the update of the newest checkpoint, or None."""
    found = checkpoint_folders(Run(run).checkpoints)
    return int(re.findall(r"\d+", found[0].name)[0]) if found else None


def arrays(run: Path) -> dict[str, np.ndarray]:
    """Return the weights and the optimizer's state of a run's newest checkpoint."""
    from safetensors.numpy import load_file

    found = {}
    for path in sorted(checkpoint_folders(Run(run).checkpoints)[0].glob("*.safetensors")):
        found |= {f"{path.name}: {name}": value for name, value in load_file(path).items()}
    return found


def difference(a: Path, b: Path) -> float:
    """Return the maximum difference between the arrays of two runs' newest checkpoints."""
    one, two = arrays(a), arrays(b)
    assert one.keys() == two.keys()
    return max(float(np.max(np.abs(one[name] - two[name]), initial=0)) for name in one)


def removed(run: Path) -> Path:
    """Return a path where there is no run any more."""
    shutil.rmtree(run, ignore_errors=True)
    return run
