"""Coverage-guided fuzzing of all that reads foreign bytes, by Atheris (pip install atheris).

    python tests/reliability/fuzz.py tsv CORPUS_FOLDER -runs=1000000

The targets are tsv, toml, manifest, state, arrays, metrics and command. Anything but a typed
error ends the fuzzing with the input, as does an input that takes over 20 seconds. None needs
TensorFlow. Inputs that reach new code are kept in CORPUS_FOLDER, from which the next fuzzing goes
on.
"""

import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["seq2seq_cli", "tomli", "safetensors", "typer"]):
    import typer
    from typer.exceptions import TyperException

    from seq2seq_cli.cli import app
    from seq2seq_cli.config.data import DataConfig
    from seq2seq_cli.config.files import load_config
    from seq2seq_cli.config.overrides import Overrides
    from seq2seq_cli.data.reader import Reader
    from seq2seq_cli.errors import CheckpointError, DataError, S2SError, UsageError
    from seq2seq_cli.runs import checkpoints, saving
    from seq2seq_cli.runs.arrays import open_arrays
    from seq2seq_cli.runs.checkpoints import Checkpoint
    from seq2seq_cli.runs.metrics_log import MetricsLog
    from seq2seq_cli.runs.state import Position, State

import numpy as np

REFUSALS = (S2SError, TyperException, typer.Exit, typer.Abort)
# Parts of mutated JSON: entries of a safetensors header, and values of any type and size.
ENTRIES = [
    {"dtype": dtype, "shape": [0], "data_offsets": [48, 48]}
    for dtype in ("F64", "F32", "F16", "BF16", "I64", "I8", "U8", "BOOL", "F8_E4M3", "F4", "C64")
]
ODD: list[Any] = [
    *(None, True, 0, 1, -1, 1.5, 1e308, float("nan"), 48, 2**31, 2**63, 2**64),
    *("", "F32", "../a", "/a", "\ud800", "x" * 99, "2026-01-01"),
    *([], [0], [3, 4], [48, 48], [0, 2**62], [0] * 20, [[]], {}, {"": ""}, *ENTRIES),
]
LIMITS = ["-timeout=20", "-rss_limit_mb=4096", "-max_len=4096"]


class Variable:
    """An array of a checkpoint."""

    path, shape, dtype = "a/kernel", (3, 4), "float32"

    def numpy(self) -> np.ndarray:
        """Return the value."""
        return np.ones(self.shape, np.float32)


def checkpoint_in(folder: Path) -> Path:
    """Save a small checkpoint; return its folder."""
    usual: dict[str, Any] = {"dev_bleu": None, "data_fingerprint": "0", "versions": {}}
    state = State(step=1, position=Position.at_start(), saved_at="2026-01-01", **usual)
    return saving.save(folder / "checkpoints", [Variable()], [Variable()], state)


def tsv(folder: Path) -> Callable[[bytes], None]:
    """Read the bytes as a corpus."""
    path = folder / "x.tsv"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            for _ in Reader(DataConfig(corpus=str(path))).corpora()[0].pairs:
                pass
        except DataError as error:
            assert str(error).startswith(str(path))

    return read


def toml(folder: Path) -> Callable[[bytes], None]:
    """Read the bytes as a config file."""
    path = folder / "my.toml"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            load_config(Overrides.read(path))
        except UsageError as error:
            assert "my.toml" in str(error)

    return read


def file_of_checkpoint(folder: Path, name: str) -> Callable[[bytes], None]:
    """Put the bytes in place of a file of a checkpoint, and verify that.

    The manifest gets the file's new hash, or the bytes would be refused before they are parsed.
    """
    saved = checkpoint_in(folder)
    manifest = json.loads((saved / checkpoints.MANIFEST).read_text("utf-8"))

    def read(data: bytes) -> None:
        (saved / name).write_bytes(data)
        if name != checkpoints.MANIFEST:
            manifest["sha256"][name] = hashlib.sha256(data).hexdigest()
            (saved / checkpoints.MANIFEST).write_text(json.dumps(manifest), "utf-8")
        try:
            Checkpoint(saved).verify_all()
        except CheckpointError as error:
            assert str(error).startswith(str(saved))

    return read


def arrays(folder: Path) -> Callable[[bytes], None]:
    """Read the bytes as arrays of a checkpoint."""
    path = folder / "arrays.safetensors"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            with open_arrays(path) as file:
                for name, spec in file.specs.items():
                    assert file.array(name).shape == spec.shape
        except CheckpointError as error:
            assert str(error).startswith(str(path))

    return read


def metrics(folder: Path) -> Callable[[bytes], None]:
    """Read the bytes as metrics.jsonl."""
    path = folder / "metrics.jsonl"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        for entry in MetricsLog(path).entries(lambda warning: None):
            assert isinstance(entry["step"], int)

    return read


def command(folder: Path) -> Callable[[bytes], None]:
    """Parse the bytes as a command line, its arguments parted by NUL; the command is not run."""
    os.chdir(folder)
    group: Any = typer.main.get_command(app)

    def read(data: bytes) -> None:
        arguments = [os.fsdecode(part) for part in data.split(b"\0")]
        found = group
        try:
            while hasattr(found, "commands") and arguments and arguments[0] in found.commands:
                found = found.commands[arguments.pop(0)]
            with open(os.devnull, "w") as nothing:
                before, sys.stdout = sys.stdout, nothing  # what --help prints
                try:
                    found.make_context("s2s", arguments).close()
                finally:
                    sys.stdout = before
        except REFUSALS:
            pass

    return read


TARGETS: dict[str, Callable[[Path], Callable[[bytes], None]]] = {
    "tsv": tsv,
    "toml": toml,
    "manifest": lambda folder: file_of_checkpoint(folder, checkpoints.MANIFEST),
    "state": lambda folder: file_of_checkpoint(folder, checkpoints.STATE),
    "arrays": arrays,
    "metrics": metrics,
    "command": command,
}


def changed(value: Any, chance: random.Random) -> Any:
    """Return a JSON value of which one part is another."""
    if isinstance(value, dict) and chance.random() < 0.9:
        key = chance.choice([*value, "a", "b"])
        return {**value, key: changed(value.get(key), chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        index = chance.randrange(len(value))
        return [*value[:index], changed(value[index], chance), *value[index + 1 :]]
    return chance.choice(ODD)


def mutated_json(data: bytes, most: int, seed: int) -> bytes:
    """Mutate the bytes, or a value of the JSON in them, which then stays JSON."""
    chance = random.Random(seed)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if value is None or chance.random() < 0.3:
        return atheris.Mutate(data, most)
    return json.dumps(changed(value, chance)).encode()[:most]


def mutated_arrays(data: bytes, most: int, seed: int) -> bytes:
    """Mutate a safetensors file: its bytes, or its header, whose length then stays right."""
    length = int.from_bytes(data[:8], "little")
    if seed % 5 == 0 or length > len(data):
        return atheris.Mutate(data, most)
    header, values = data[8 : 8 + length], data[8 + length :]
    header = mutated_json(header, max(most - 8 - len(values), 0), seed)
    return len(header).to_bytes(8, "little") + header + values


MUTATORS = {"arrays": mutated_arrays} | dict.fromkeys(
    ("manifest", "state", "metrics"), mutated_json
)


def seeds(target: str, folder: Path) -> list[bytes]:
    """Return valid inputs, from which fuzzing starts."""
    names = {"manifest": checkpoints.MANIFEST, "state": checkpoints.STATE}
    if target in (*names, "arrays"):
        return [(checkpoint_in(folder) / names.get(target, checkpoints.MODEL)).read_bytes()]
    return {
        "tsv": [b"I see\tveo\nyou see\tves\n"],
        "toml": [b'[model]\nkind = "rnn"\n[training]\nsteps = 5\nseed = 1\n'],
        "metrics": [b'{"kind": "training", "step": 1, "loss": 2.5}\n'],
        "command": [
            b"train\0--steps\x005\0--set\0training.seed=1",
            b"translate\0--beam\x005",
        ],
    }[target]


def main() -> None:
    """Fuzz one target; the arguments after the folder are libFuzzer's."""
    target, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    options = [*LIMITS, f"-artifact_prefix={corpus.absolute()}-", *sys.argv[3:]]
    corpus = corpus.absolute()
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as name, tempfile.TemporaryDirectory() as other:
        for number, seed in enumerate(seeds(target, Path(other))):
            (corpus / f"seed-{number}").write_bytes(seed)
        read = TARGETS[target](Path(name))
        mutator = {"custom_mutator": MUTATORS[target]} if target in MUTATORS else {}
        atheris.Setup([sys.argv[0], *options, str(corpus)], read, **mutator)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
