"""A training without a model, on a simulated disk, and what must be true of its run at any time."""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from simulated_disk import NO_FAULT, Fault, Killed, SimulatedDisk, Site

from seq2seq_cli.errors import S2SError
from seq2seq_cli.runs import checkpoints, files, saving
from seq2seq_cli.runs.arrays import file_parts
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.naming import new_run
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position, State

RUN = Path("runs/001-x")
ROOT = RUN / "checkpoints"
SAVE_EVERY, KEEP, BEST = 2, 2, 2  # updates, checkpoints, an update
NEXT, LAST = 10, 12  # updates to which the next process trains, and the last one
CONFIG: Any = SimpleNamespace(to_toml=lambda: "[model]\n")
TOKENIZER = {"source.json": b"[1, 2]", "target.json": b"[3, 4, 5]"}


class Variable:
    def __init__(self, path: str, value: np.ndarray):
        self.path, self.value = path, value

    def numpy(self) -> np.ndarray:
        return self.value


def weights(step: int, variant: int = 0) -> list[Variable]:
    values = np.arange(7, dtype=np.float32) + 10 * step + variant
    return [Variable("a/kernel", values), Variable("b/bias", values[:2] * 2)]


def content(variables: list[Variable]) -> bytes:
    return b"".join(bytes(part) for part in file_parts((v.path, v.value) for v in variables))


@dataclass
class Training:
    """A process that trains; a new one is made after each fault.

    Attributes:
        acknowledged: the updates whose checkpoints `save` has said are safe, of all processes.
        begun: whether `Run.write` has said that the run's files are safe.
        attempted: the updates whose checkpoints it began to write.
        told: what it warned of.
        damaged: the updates whose checkpoints were damaged on the disk.
    """

    acknowledged: set[int] = field(default_factory=set)
    begun: bool = False
    attempted: set[int] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)

    def train(self, last: int, between: Callable[[], None] = lambda: None) -> None:
        """Begin or resume, and train to an update.

        Args:
            last: the update.
            between: is called once the training is under way.
        """
        run = self.begin()
        newest = run.resumable_checkpoint(self.told.append)
        position = newest.state.step if newest else 0
        run.go_back_to(position, self.told.append)
        between()
        for step in range(position + 1, last + 1):
            run.append_metrics({"kind": "training", "step": step})
            if step % SAVE_EVERY == 0:
                self.save(run, step)
        run.append_metrics({"kind": "end", "step": last})

    def copy(self) -> "Training":
        return copy.deepcopy(self)

    def begin(self) -> Run:
        run = Run(RUN)
        if not run.has_config:
            run = new_run(str(RUN), "x")
            run.write(CONFIG, TOKENIZER)
        self.begun = True
        return run

    def save(self, run: Run, step: int, variant: int = 0) -> None:
        self.attempted.add(step)
        state = State(step, Position.at_start(), 1.0 / step, "f", "2026-01-01", {})
        run.save(weights(step, variant), weights(step, variant), state)
        self.acknowledged.add(step)
        self.damaged.discard(step)
        saving.prune(run.checkpoints, KEEP, BEST)


def check_content(checkpoint: Checkpoint) -> None:
    """Check that a checkpoint is wholly one that was saved."""
    step = checkpoint.state.step
    found = [
        files.read(checkpoint.path / name) for name in (checkpoints.MODEL, checkpoints.OPTIMIZER)
    ]
    assert found in [[content(weights(step, variant))] * 2 for variant in (0, 1)]


def is_whole(path: Path) -> bool:
    """Return whether a checkpoint has the files and hashes of its manifest.

    It does not use the code that is tested.
    """
    try:
        hashes = json.loads(files.read(path / checkpoints.MANIFEST))["sha256"]
        found = {name: hashlib.sha256(files.read(path / name)).hexdigest() for name in hashes}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return found == hashes


def check_survivors(training: Training) -> None:
    """Check what a fault has left of a training, as the next process finds it."""
    run = Run(RUN)
    if training.begun:
        assert run.has_config
    if run.has_config:
        assert {name: files.read(run.tokenizer / name) for name in TOKENIZER} == TOKENIZER
    newest = run.resumable_checkpoint(lambda text: None)
    whole = whole_checkpoints(training)
    names = [name for name in files.names(ROOT) if name.startswith("damaged-step-")]
    assert all(any(name[8:21] in text for text in training.told) for name in names)
    aside = {int(name[13:21]) for name in names} - set(whole)
    expected = training.acknowledged - aside - training.damaged
    expected |= training.attempted & set(whole)
    last = sorted(expected, reverse=True)[:KEEP]
    assert whole[:KEEP] == last
    assert [newest.state.step if newest else 0] == (last[:1] or [0])
    if BEST in expected:
        assert BEST in whole


def whole_checkpoints(training: Training) -> list[int]:
    """Return the updates of the checkpoints that are there, the latest first.

    All that are there must be whole, but for those that were damaged on the disk.
    """
    whole = []
    for path in checkpoints.checkpoint_folders(ROOT):
        step = checkpoints.step_of(path)
        if not is_whole(path):
            assert step in training.damaged
            continue
        check_content(Checkpoint(path))
        whole.append(step)
    return whole


def check_end(training: Training) -> None:
    """Train to the end, and check that nothing is missing, left over or there twice."""
    training.train(LAST)
    lines = files.read(RUN / "metrics.jsonl").decode().split("\n")
    entries = [json.loads(line) for line in lines[:-1]]
    steps = [entry["step"] for entry in entries if entry["kind"] == "training"]
    assert steps == list(range(1, LAST + 1))
    assert [entry["step"] for entry in entries if entry["kind"] == "end"] == [LAST]
    there = [path.name for path in checkpoints.checkpoint_folders(ROOT)]
    assert there == [f"step-{step:08d}" for step in (LAST, LAST - SAVE_EVERY, BEST)]
    assert not [name for name in files.names(ROOT) if name.startswith(".")]


@dataclass(frozen=True)
class Scenario:
    """Something that a process does, on a disk as others have left it.

    Attributes:
        name: what happens.
        disk: before it; never changed.
        training: what was acknowledged before it.
        act: what the process does.
    """

    name: str
    disk: SimulatedDisk
    training: Training
    act: Callable[[Training, SimulatedDisk], None]

    def run(
        self, fault: Fault = NO_FAULT, left_out: Site | None = None
    ) -> tuple[SimulatedDisk, Training]:
        """Let the process work until a fault ends it; return the disk and the process.

        Args:
            fault: ends it.
            left_out: a line of the code whose operation does nothing.
        """
        disk = self.disk.copy()
        disk.left_out = left_out
        training = self.training.copy()
        go_on(disk, training, lambda: self.act(training, disk), fault)
        return disk, training

    def operations(self) -> list[str]:
        """Return its operations without a fault."""
        return self.run()[0].log

    def position(self, operation: str, name: str) -> int:
        """Return the number of the operation on the path that ends so."""
        log = self.operations()
        return next(
            number
            for number, line in enumerate(log)
            if line.startswith(operation) and line.endswith(name)
        )


def go_on(
    disk: SimulatedDisk, training: Training, act: Callable[[], None], fault: Fault = NO_FAULT
) -> None:
    """Let a process work on a disk; only an error with a message, or its death, may end it."""
    disk.begin(fault)
    with disk.installed():
        try:
            act()
        except (S2SError, Killed):
            if fault is NO_FAULT:
                raise
    log = disk.log
    disk.begin()
    disk.log, disk.unreadable = log, ""


def check_after(disk: SimulatedDisk, training: Training, text: str = "") -> None:
    """Check what a fault has left, and that a later training ends as if there had been none.

    Args:
        disk: as the fault has left it.
        training: that had the fault.
        text: describes the fault in errors.
    """
    try:
        with disk.installed():
            check_survivors(training)
            check_end(training)
    except Exception as error:
        raise AssertionError(text) from error


def scenarios() -> list[Scenario]:
    """Return what is tried with every fault."""

    def resume(training: Training, disk: SimulatedDisk) -> None:
        training.train(8)

    def replace(training: Training, disk: SimulatedDisk) -> None:
        training.save(Run(RUN), 6, variant=1)

    def decay(training: Training, disk: SimulatedDisk) -> None:
        training.train(8, between=lambda: damage(training, disk, 6))

    def misread(training: Training, disk: SimulatedDisk) -> None:
        disk.unreadable = "step-00000006"
        training.train(8, between=lambda: setattr(disk, "unreadable", ""))

    empty = SimulatedDisk()
    begun = Scenario("", empty, Training(), lambda training, disk: training.train(6)).run()
    broken = begun[0].copy(), begun[1].copy()
    damage(broken[1], broken[0], 6)
    resuming, replacing = Scenario("resume", *begun, resume), Scenario("replace", *begun, replace)
    manifest = resuming.position("sync", "manifest.json")
    between_renames = replacing.position("rename", ".partial-step-00000006")
    return [
        Scenario("begin", empty, Training(), lambda training, disk: training.train(4)),
        resuming,
        replacing,
        Scenario("resume from the one before", *broken, resume),
        Scenario("the disk decays", *begun, decay),
        Scenario("the newest is unreadable for a while", *begun, misread),
        Scenario("resume after a kill", *resuming.run(Fault(manifest, "kill")), resume),
        Scenario("resume after a kill", *replacing.run(Fault(between_renames, "kill")), resume),
    ]


def damage(training: Training, disk: SimulatedDisk, step: int) -> None:
    """Flip a bit of a checkpoint on the disk."""
    path = ROOT / f"step-{step:08d}/{checkpoints.MODEL}"
    if disk.exists(path):
        disk.flip(path, -1, 1)
        training.damaged.add(step)


LOSSES = [  # what a loss of power leaves: of changed names, of contents, and the seed of chance
    ("none", "synced", 0),
    ("none", "mixed", 1),
    ("all", "synced", 0),
    ("all", "zeros", 0),
    ("all", "cut", 0),
    ("some", "mixed", 2),
    ("some", "mixed", 3),
]


def power_losses(
    scenario: Scenario, left_out: Site | None = None, losses: list[tuple[str, str, int]] = LOSSES
) -> Iterator[tuple[str, SimulatedDisk, Training]]:
    """Yield what is left if power is lost after any change, with a description."""
    log = scenario.run(left_out=left_out)[0].log
    for number in range(1, len(log) + 1):
        if log[number - 1].startswith(READING):
            continue  # the same as before it
        killed, training = scenario.run(Fault(number, "kill"), left_out)
        for names, contents, seed in losses:
            disk = killed.copy()
            disk.crash(names, contents, seed)
            text = f"{scenario.name}, {number} operations, names {names}, contents {contents}"
            yield text, disk, training.copy()


READING = ("names", "read", "blocks")


def faults(log: list[str], step: int = 1) -> Iterator[Fault]:
    """Yield every fault of every operation in a log, or of every `step`-th."""
    for number, line in enumerate(log):
        if number % step:
            continue
        operation, _, path = line.partition(" ")
        yield Fault(number, "kill")
        kinds = ["EIO"]
        if operation not in READING:
            kinds += ["ENOSPC", "late"]
        if operation in ("write", "append"):
            kinds.append("short")
            yield Fault(number, "half")
        if operation == "write" and path.startswith(str(ROOT)):
            yield Fault(number, "lost")
        for kind in kinds:
            yield Fault(number, kind)
            yield Fault(number, kind, lasts=True)
