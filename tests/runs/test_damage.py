"""Checkpoints with a changed byte, or cut off: it is told, and the one before is used."""

import numpy as np
import pytest
from simulated_disk import SimulatedDisk
from simulated_training import ROOT, Training, Variable

from seq2seq_cli.runs import checkpoints, files
from seq2seq_cli.runs.run import Run
from seq2seq_cli.runs.state import Position, State

NEWEST = ROOT / "step-00000002"
POSITIONS = 10_000  # of a payload, in which a byte is changed
BLOCK = 4096  # bytes, after each of which a file is cut


@pytest.fixture
def disk():
    """A disk with two checkpoints of 80 kB."""
    with SimulatedDisk().installed() as disk:
        training = Training()
        run = training.begin()
        for step in (1, 2):
            state = State(step, Position.at_start(), None, "f", "2026-01-01", {})
            values = np.random.default_rng(step).random(10_000, dtype=np.float32)
            run.save([Variable("a", values)], [Variable("b", values)], state)
        yield disk


def found() -> str:
    """Return the name of the checkpoint that is used, if the other one is named as damaged."""
    told = []
    used = checkpoints.newest_valid(ROOT, told.append).path.name
    if told:
        (text,) = told
        assert text.startswith(f"{NEWEST}: damaged: ")
        assert text.endswith("; step-00000001 is used")
    return used


def test_valid_checkpoints_are_used(disk):
    assert found() == "step-00000002"


@pytest.mark.parametrize("name", [checkpoints.MANIFEST, checkpoints.STATE])
def test_a_flipped_bit_of_the_small_files_is_detected(disk, name):
    path = NEWEST / name
    for position in range(files.size(path)):
        for bit in range(8):
            disk.flip(path, position, 1 << bit)
            assert found() == "step-00000001", (position, bit)
            disk.flip(path, position, 1 << bit)
    assert found() == "step-00000002"


@pytest.mark.parametrize("name", [checkpoints.MODEL, checkpoints.OPTIMIZER])
def test_a_changed_byte_of_the_arrays_is_detected(disk, name):
    path = NEWEST / name
    positions = np.random.default_rng(0).choice(files.size(path), POSITIONS // 2, replace=False)
    for position in positions.tolist():
        disk.flip(path, position, 1 + position % 255)
        assert found() == "step-00000001", position
        disk.flip(path, position, 1 + position % 255)
    assert found() == "step-00000002"


@pytest.mark.parametrize(
    "name", ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]
)
def test_a_truncated_extended_or_missing_file_is_detected(disk, name):
    path = NEWEST / name
    whole = files.read(path)
    for length in range(0, len(whole), BLOCK):
        disk.replace(path, whole[:length])
        assert found() == "step-00000001", length
    disk.replace(path, whole[:-1])
    assert found() == "step-00000001"
    disk.replace(path, whole + b"\0")
    assert found() == "step-00000001"
    files.remove(path)
    assert found() == "step-00000001"


def test_a_resumed_training_renames_the_damaged_checkpoint(disk):
    disk.flip(NEWEST / checkpoints.MODEL, -1, 1)
    run, told = Run(ROOT.parent), []
    newest = run.resumable_checkpoint(told.append)
    run.go_back_to(newest.state.step, told.append)
    assert files.names(ROOT) == ["damaged-step-00000002", "step-00000001"]
    assert "damaged-step-00000002: was renamed" in told[-1]
