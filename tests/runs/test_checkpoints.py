import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from datetime import datetime, timezone

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from conftest import checkpoint_state

from seq2seq_cli.errors import CheckpointError, DiskError
from seq2seq_cli.runs import checkpoints, files, saving
from seq2seq_cli.runs.arrays import Spec, file_parts, open_arrays
from seq2seq_cli.runs.checkpoints import Checkpoint
from seq2seq_cli.runs.listing import summarise_checkpoints
from seq2seq_cli.runs.run import Run


class Variable:
    def __init__(self, path: str, value):
        self.path, self.value = path, np.asarray(value)
        self.shape, self.dtype = self.value.shape, self.value.dtype

    def numpy(self):
        return self.value

    def assign(self, value):
        self.value = value


def variables(scale: float = 1.0) -> list[Variable]:
    return [
        Variable("encoder/kernel", scale * np.arange(6, dtype=np.float32).reshape(2, 3)),
        Variable("adam/iteration", np.int64(7 * scale)),
    ]


def save(root, step: int, scale: float = 1.0, bleu: float | None = None):
    state = checkpoint_state(step, dev_bleu=bleu)
    return saving.save(root, variables(scale), variables(-scale), state)


def damage(path, name: str = "model.safetensors") -> None:
    data = bytearray((path / name).read_bytes())
    data[-1] ^= 1
    (path / name).write_bytes(data)


def fail(message: str) -> None:
    raise AssertionError(message)


def test_a_saved_checkpoint_is_restored(tmp_path):
    path = save(tmp_path, 12, scale=3.0)
    model, optimizer = variables(0), variables(0)
    saved = Checkpoint(path)
    saved.restore(checkpoints.MODEL, model)
    saved.restore(checkpoints.OPTIMIZER, optimizer)
    for found, wanted in zip(model + optimizer, variables(3.0) + variables(-3.0), strict=True):
        np.testing.assert_array_equal(found.value, wanted.value)
        assert found.value.dtype == wanted.value.dtype
    assert saved.state == checkpoint_state(12)


def test_tensorflow_is_not_imported():
    code = "import sys, seq2seq_cli.runs.checkpoints; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_bfloat16_arrays_are_read_without_tensorflow(tmp_path):
    array = np.arange(3).astype(ml_dtypes.bfloat16)
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"".join(file_parts([("momentum", array)])))
    code = f"""
import sys
from pathlib import Path
from seq2seq_cli.runs.arrays import open_arrays
with open_arrays(Path({str(path)!r})) as file:
    assert file.array("momentum").tolist() == [0, 1, 2]
assert "tensorflow" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_newest_valid_one_is_found_and_damaged_ones_are_named(tmp_path):
    for step in (5, 10, 200):
        save(tmp_path, step)
    damage(tmp_path / "step-00000200")
    (tmp_path / "step-00000010" / "optimizer.safetensors").unlink()
    told = []
    assert checkpoints.newest_valid(tmp_path, told.append).path.name == "step-00000005"
    assert ["step-00000200" in told[0], "step-00000010" in told[1]] == [True, True]
    assert all("damaged" in text for text in told)


@pytest.mark.parametrize("find", [checkpoints.newest_valid, checkpoints.best_valid])
def test_training_can_continue_without_a_checkpoint(tmp_path, find):
    with pytest.raises(
        CheckpointError, match="no checkpoint yet. Continue .*: s2s train --resume --run"
    ):
        find(tmp_path / "checkpoints", fail)


@pytest.mark.parametrize("find", [checkpoints.newest_valid, checkpoints.best_valid])
def test_if_all_are_damaged_each_is_named_with_a_remedy(tmp_path, find):
    root = tmp_path / "checkpoints"
    for step in (1, 2):
        damage(save(root, step))
    with pytest.raises(CheckpointError) as caught:
        find(root, fail)
    for step in (1, 2):
        assert f"step-0000000{step}: damaged: model.safetensors differs from" in str(caught.value)
    assert f"Or delete {tmp_path} and train again, or train in another" in str(caught.value)


def forge(path, name: str, content: object) -> None:
    """Write a file of a checkpoint anew, with a good hash."""
    data = json.dumps(content).encode()
    (path / name).write_bytes(data)
    manifest = json.loads((path / checkpoints.MANIFEST).read_bytes())
    manifest["sha256"][name] = hashlib.sha256(data).hexdigest()
    (path / checkpoints.MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("manifest", [[], {}, None, {"sha256": []}, {"sha256": {"state.json": 1}}])
def test_a_manifest_of_another_form_is_damage(tmp_path, manifest):
    path = save(tmp_path, 1)
    (path / checkpoints.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(CheckpointError, match="damaged: manifest.json "):
        _ = Checkpoint(path).state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: [], "state.json is from another version of s2s: it: "),
        (lambda state: {**state, "more": 1}, "more: Unexpected keyword argument"),
        (lambda state: {**state, "dev_bleu": "high"}, "dev_bleu: Input should be a valid number"),
        (lambda state: {**state, "position": {"step": 1}}, "position.epoch: Field required"),
        (lambda state: {**state, "position": []}, "position: Input should be"),
        (lambda state: {"step": 1}, "position: Field required"),
    ],
)
def test_a_state_of_another_form_is_an_error_and_an_older_one_is_used(tmp_path, change, message):
    save(tmp_path, 1)
    path = save(tmp_path, 2)
    forge(path, checkpoints.STATE, change(json.loads((path / checkpoints.STATE).read_bytes())))
    with pytest.raises(CheckpointError, match=message):
        _ = Checkpoint(path).state
    for find in (checkpoints.newest_valid, checkpoints.best_valid):
        told = []
        assert find(tmp_path, told.append).path.name == "step-00000001"
        assert message in told[0]


def test_the_best_is_the_first_of_the_highest_dev_bleu(tmp_path):
    for step, bleu in ((1, 10.0), (2, 30.0), (3, 20.0), (4, None), (5, 30.0)):
        save(tmp_path, step, bleu=bleu)
    assert checkpoints.best_valid(tmp_path, fail).path.name == "step-00000002"
    damage(tmp_path / "step-00000002")
    told = []
    assert checkpoints.best_valid(tmp_path, told.append).path.name == "step-00000005"
    assert len(told) == 1


def test_the_newest_is_used_if_none_was_validated(tmp_path):
    save(tmp_path, 1)
    save(tmp_path, 2)
    assert checkpoints.best_valid(tmp_path, fail).path.name == "step-00000002"


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ([Variable("a", [1.0, 2.0])], "it lacks b"),
        ([Variable("a", [1.0, 2.0]), Variable("b", [1]), Variable("c", [1])], "it has c, which"),
        ([Variable("a", [1.0]), Variable("b", [1])], r"a has shape \(1,\) in the file and \(2,\)"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused_and_nothing_assigned(tmp_path, theirs, message):
    path = saving.save(tmp_path, theirs, [], checkpoint_state(1))
    mine = [Variable("a", [8.0, 9.0]), Variable("b", [7])]
    with pytest.raises(CheckpointError, match=f"belongs to another model: {message}"):
        Checkpoint(path).restore(checkpoints.MODEL, mine)
    assert mine[0].value.tolist() == [8.0, 9.0]


def test_pruning_keeps_the_newest_and_the_best(tmp_path):
    for step in range(1, 7):
        save(tmp_path, step)
    saving.prune(tmp_path, keep=2, best=3)
    assert [p.name[-1] for p in checkpoints.checkpoint_folders(tmp_path)] == ["6", "5", "3"]


@pytest.mark.parametrize("name", [checkpoints.MODEL, checkpoints.STATE, checkpoints.MANIFEST])
def test_a_full_disk_changes_nothing(tmp_path, monkeypatch, name):
    write = files.write

    def full(path, parts):
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, parts)

    save(tmp_path, 1)
    monkeypatch.setattr(files, "write", full)
    with pytest.raises(DiskError, match=r"No space left on device.*\. Free some space and"):
        save(tmp_path, 2)
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000001"]
    checkpoints.newest_valid(tmp_path, fail)


def test_partial_files_of_a_killed_process_are_ignored_and_removed(tmp_path):
    partial = tmp_path / ".partial-step-00000009"
    partial.mkdir(parents=True)
    (partial / "model.safetensors").write_bytes(b"half")
    assert checkpoints.checkpoint_folders(tmp_path) == []
    save(tmp_path, 1)
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000001"]


def test_saving_the_same_step_again_replaces_it(tmp_path):
    save(tmp_path, 1, scale=1.0)
    path = save(tmp_path, 1, scale=2.0)
    model = variables(0)
    Checkpoint(path).restore(checkpoints.MODEL, model)
    assert model[0].value[1, 2] == 10


def test_manifest_has_a_hash_of_each_file(tmp_path):
    path = save(tmp_path, 1)
    hashes = json.loads((path / "manifest.json").read_text())["sha256"]
    assert sorted(hashes) == ["model.safetensors", "optimizer.safetensors", "state.json"]


def test_each_file_is_read_only_once(tmp_path, monkeypatch):
    save(tmp_path, 1)
    read = []
    monkeypatch.setattr(files, "blocks", spying(files.blocks, read))
    best = checkpoints.best_valid(tmp_path, fail)
    state = best.state
    shutil.rmtree(best.path)
    best.verify(checkpoints.MODEL)
    assert best.state is state
    assert [path.name for path in read] == [checkpoints.MODEL]


def test_a_summary_reads_each_file_only_once(tmp_path, monkeypatch):
    run = Run(tmp_path)
    save(run.checkpoints, 1, bleu=5.0)
    read = []
    monkeypatch.setattr(files, "blocks", spying(files.blocks, read))
    (found,) = summarise_checkpoints(run)
    assert (found.is_best, found.is_last) == (True, True)
    names = [checkpoints.MODEL, checkpoints.OPTIMIZER, checkpoints.STATE]
    assert sorted(path.name for path in read) == names


def spying(function, arguments: list):
    """Return a function that also keeps its arguments."""

    def spy(argument):
        arguments.append(argument)
        return function(argument)

    return spy


def test_the_configured_number_of_best_checkpoints_is_kept(tmp_path):
    for step, bleu in enumerate((5.0, 9.0, None, 7.0, 8.0, 1.0, None), start=1):
        save(tmp_path, step, bleu=bleu)
    (tmp_path / "step-00000005" / "state.json").write_bytes(b"{")
    saving.prune(tmp_path, keep=1, best=2, keep_best=3)
    assert [path.name[-1] for path in checkpoints.checkpoint_folders(tmp_path)] == [*"7421"]
    damage(tmp_path / "step-00000004")
    save(tmp_path, 8, bleu=2.0)
    saving.prune(tmp_path, keep=1, best=2, keep_best=3)
    assert [path.name[-1] for path in checkpoints.checkpoint_folders(tmp_path)] == [*"821"]


CLOCKS = {
    "a day back": (86_400, -86_400),
    "a day ahead": (-86_400, 86_400),
    "1970": (0, -1_600_000_000),
    "the same second": (0, 0),
    "2038": (0, 600_000_000),
    "back and forth": (86_400, 0),
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_checkpoints_are_ordered_by_updates_and_not_by_the_clock(tmp_path, clock):
    for step, shift in zip((1, 2, 3), (0, *CLOCKS[clock]), strict=True):
        now = 1_700_000_000 + shift
        saved_at = datetime.fromtimestamp(now, timezone.utc).isoformat()
        state = checkpoint_state(step, saved_at=saved_at)
        path = saving.save(tmp_path, variables(step), variables(-step), state)
        for each in [*path.iterdir(), path]:
            os.utime(each, (now, now))
    assert [checkpoints.step_of(p) for p in checkpoints.checkpoint_folders(tmp_path)] == [3, 2, 1]
    assert checkpoints.newest_valid(tmp_path, fail).state.step == 3
    saving.prune(tmp_path, keep=2, best=None)
    assert [checkpoints.step_of(p) for p in checkpoints.checkpoint_folders(tmp_path)] == [3, 2]


def test_checkpoints_are_ordered_by_number_and_other_names_ignored(tmp_path):
    for name in (
        "step-99999999",
        "step-100000000",
        "step-x",
        "step-1-copy",
        "damaged-step-00000003",
    ):
        (tmp_path / name).mkdir()
    found = [path.name for path in checkpoints.checkpoint_folders(tmp_path)]
    assert found == ["step-100000000", "step-99999999"]


def test_the_library_reads_the_same_arrays(tmp_path):
    arrays = {
        "é/kernel": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "steps": np.int64(7),
        "empty": np.zeros((0, 3), np.float16),
        "flags": np.array([True, False, True]),
        "big endian": np.arange(3, dtype=">f8"),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    path = tmp_path / "a.safetensors"
    files.write(path, file_parts(arrays.items()))
    read = safetensors.numpy.load_file(path)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype.newbyteorder("=")
    with open_arrays(path) as file:
        assert file.specs["é/kernel"] == Spec((3, 2), "float32")
        np.testing.assert_array_equal(file.array("flags"), arrays["flags"])


def test_a_damaged_checkpoint_does_not_count_as_kept(tmp_path):
    for step in (1, 2, 3, 4):
        save(tmp_path, step)
    damage(tmp_path / "step-00000003")
    saving.prune(tmp_path, keep=2, best=None)
    assert [checkpoints.step_of(p) for p in checkpoints.checkpoint_folders(tmp_path)] == [4, 3, 2]
