"""Checkpoints that somebody made to do harm, with good hashes: an error, and nothing else."""

import hashlib
import json
import os
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import checkpoint_state, s2s
from simulated_training import Variable

from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.runs import checkpoints, saving
from seq2seq_cli.runs.averaging import average_checkpoints
from seq2seq_cli.runs.checkpoints import MANIFEST, MODEL, OPTIMIZER, STATE, Checkpoint
from seq2seq_cli.runs.run import Run

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
EIGHT = bytes(8)


class Trap:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple:
        return os.mkdir, ("trapped",)


def arrays(header: object, data: bytes = EIGHT, length: int | None = None) -> bytes:
    """Return a safetensors file with this header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def array(**changes: object) -> bytes:
    return arrays({"a": {**F32, **changes}})


ARRAYS = {
    "a pickle": pickle.dumps(Trap()),
    "a pickle of NumPy": b"\x93NUMPY\x01\x00" + pickle.dumps(Trap()),
    "nothing": b"",
    "no header": EIGHT,
    "a huge shape": array(shape=[2**40]),
    "a shape that overflows": array(shape=[2**62, 4]),
    "a shape of many dimensions": array(shape=[2] + [1] * 5000),
    "an empty array of huge dimensions": arrays(
        {"a": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}}, b""
    ),
    "a negative shape": array(shape=[-2]),
    "a shape of text": array(shape=["2"]),
    "a shape of fractions": array(shape=[2.5]),
    "overlapping arrays": arrays({"a": F32, "b": {**F32, "data_offsets": [4, 12]}}, bytes(12)),
    "the same bytes twice": arrays({"a": F32, "b": F32}),
    "a hole": arrays({"a": F32, "b": {**F32, "data_offsets": [16, 24]}}, bytes(24)),
    "offsets behind the end": array(data_offsets=[8, 16]),
    "offsets that go back": array(data_offsets=[8, 0]),
    "bytes behind the end": arrays({"a": F32}, bytes(16)),
    "another dtype": array(dtype="I32"),
    "a dtype of half the width": array(dtype="F16", shape=[4]),
    "complex numbers": array(dtype="C64", shape=[1]),
    "a dtype that NumPy lacks": array(dtype="BF16", shape=[4]),
    "a dtype of eight bits": array(dtype="F8_E4M3", shape=[8]),
    "an object dtype": array(dtype="O"),
    "a header of 2**63 bytes": arrays({"a": F32}, length=2**63),
    "a header longer than the file": arrays({"a": F32}, length=90_000_000),
    "a header of text": arrays(b"import os"),
    "a header that is deep": arrays(b"[" * 100_000),
    "a header of a list": arrays([F32]),
    "an array of another name": arrays({"../../a": F32}),
    "no array": arrays({}, b""),
    "metadata that is no text": arrays({"__metadata__": {"a": {"b": 1}}, "a": F32}),
}


def forge(path: Path, name: str, data: bytes) -> None:
    """Put a file into a checkpoint, with a good hash."""
    (path / name).unlink(missing_ok=True)
    (path / name).write_bytes(data)
    manifest = json.loads((path / MANIFEST).read_bytes())
    manifest["sha256"][name] = hashlib.sha256(data).hexdigest()
    (path / MANIFEST).write_text(json.dumps(manifest))


@pytest.fixture
def checkpoint(workdir) -> Path:
    """A checkpoint in the run runs/x."""
    Run(Path("runs/x")).tokenizer.mkdir(parents=True)
    variables = [Variable("a", np.ones(2, np.float32))]
    return saving.save(Path("runs/x/checkpoints"), variables, variables, checkpoint_state(1))


class Target(Variable):
    """What is restored; it must not change."""

    shape, dtype = (2,), "float32"

    def assign(self, value: np.ndarray) -> None:
        raise AssertionError("something was assigned")


def test_there_are_enough_cases():
    assert len(ARRAYS) + len(MANIFESTS) + len(STATES) + len(FILES) >= 50


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_do_not_fit_the_model_are_refused(checkpoint, name):
    forge(checkpoint, MODEL, ARRAYS[name])
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=str(checkpoint)):
            Checkpoint(checkpoint).restore(MODEL, [Target("a", np.ones(2, np.float32))])
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    assert not Path("trapped").exists()


@pytest.mark.parametrize("name", ARRAYS)
def test_the_average_of_hostile_checkpoints_is_an_error_or_valid(checkpoint, name):
    """Without a model to compare with, arrays of other names and dtypes are as good as any."""
    forge(checkpoint, MODEL, ARRAYS[name])
    run = Run(Path("runs/x"))
    run.config = lambda: NoConfig
    try:
        made = average_checkpoints(run, [Checkpoint(checkpoint)] * 2, "runs/mean")
    except CheckpointError as error:
        assert str(checkpoint) in str(error)
    else:
        (path,) = checkpoints.checkpoint_folders(made.checkpoints)
        assert (path / MODEL).stat().st_size <= len(ARRAYS[name]) + 1000
    assert not Path("trapped").exists()


class NoConfig:
    class model:  # noqa: N801  (the name of a field of Config)
        label = "x"

    to_toml = staticmethod(str)


def manifest(**hashes: str) -> Callable[[Path], object]:
    return lambda path: {
        "sha256": {**json.loads((path / MANIFEST).read_bytes())["sha256"], **hashes}
    }


ANY = hashlib.sha256(b"").hexdigest()
MANIFESTS = {
    "a path above": manifest(**{"../../../secret": ANY}),
    "an absolute path": manifest(**{"/etc/passwd": ANY}),
    "a device without an end": manifest(**{"/dev/zero": ANY}),
    "a path with a backslash": manifest(**{"..\\secret": ANY}),
    "the name of the folder": manifest(**{".": ANY}),
    "no name": manifest(**{"": ANY}),
    "a name with a NUL": manifest(**{"a\0b": ANY}),
    "a file that no checkpoint has": manifest(**{"model.pkl": ANY}),
    "no weights": lambda path: {"sha256": {STATE: manifest()(path)["sha256"][STATE]}},
    "a list": lambda path: [],
    "a hash that is a list": lambda path: {"sha256": {MODEL: [ANY]}},
    "more keys": lambda path: {**manifest()(path), "__class__": "os.system"},
    "a megabyte": lambda path: {**manifest()(path), "more": "x" * 1_000_000},
    "deep nesting": lambda path: b'{"sha256":' * 100_000,
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_with_other_names_are_refused(checkpoint, name):
    Path("runs/secret").write_bytes(b"")
    content = MANIFESTS[name](checkpoint)
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (checkpoint / MANIFEST).write_bytes(text)
    with pytest.raises(CheckpointError, match="step-00000001: damaged: manifest.json"):
        Checkpoint(checkpoint).verify_all()


STATES = {
    "a pickle": pickle.dumps(Trap()),
    "deep nesting": b'{"position":' * 100_000,
    "a number that is none": b'{"step": NaN}',
    "a megabyte": b" " * 1_000_001,
    "not UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("name", STATES)
def test_invalid_states_are_refused(checkpoint, name):
    forge(checkpoint, STATE, STATES[name])
    with pytest.raises(CheckpointError, match="step-00000001: "):
        Checkpoint(checkpoint).verify_all()
    assert not Path("trapped").exists()


def test_the_state_of_another_update_is_refused(checkpoint):
    checkpoint = checkpoint.rename(checkpoint.with_name("step-00000009"))
    with pytest.raises(CheckpointError, match="state.json belongs to step-00000001. Was the"):
        Checkpoint(checkpoint).verify_all()


FILES = {
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a pipe": lambda path: os.mkfifo(path),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("file", [MODEL, OPTIMIZER, STATE, MANIFEST])
def test_only_regular_files_are_opened(checkpoint, name, file):
    (checkpoint / file).unlink()
    FILES[name](checkpoint / file)
    with pytest.raises(CheckpointError, match=f"damaged: {file} is unreadable"):
        Checkpoint(checkpoint).verify_all()


def test_links_are_removed_but_not_followed(checkpoint):
    outside = Path("outside")
    outside.mkdir()
    (outside / "kept").write_text("x")
    (checkpoint / "folder").symlink_to(outside.resolve())
    checkpoint.with_name("step-00000000").symlink_to(outside.resolve())
    saving.delete([checkpoint, checkpoint.with_name("step-00000000")])
    assert (outside / "kept").read_text() == "x"
    assert list(Path("runs/x/checkpoints").iterdir()) == []


def test_the_command_exits_with_4(checkpoint):
    forge(checkpoint, MODEL, ARRAYS["a huge shape"])
    (checkpoint / MANIFEST).write_text(json.dumps(MANIFESTS["an absolute path"](checkpoint)))
    code, out, err = s2s("checkpoints", "verify", "x")
    assert code == 4
    assert "manifest.json names '/etc/passwd'" in " ".join((out + err).split())
