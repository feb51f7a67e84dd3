"""Bundles: trained runs as single files, without the state of the optimizer.

A bundle is a safetensors file. Each array has the name and the bytes of a file in the folder of the
run. `manifest.json` has the SHA-256 of the other files. The header is checked like that of a
checkpoint. Nothing is unpickled, and no file is written outside the folder.
"""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from seq2seq_cli.errors import CheckpointError
from seq2seq_cli.runs import files
from seq2seq_cli.runs.arrays import ArrayFile, file_parts, open_arrays
from seq2seq_cli.runs.checkpoints import MANIFEST, Manifest
from seq2seq_cli.runs.disk import disk_errors, make_durably

SUFFIX = ".s2s"
_ALLOWED = re.compile(
    r"README\.md|config\.toml|scores\.json|metrics\.jsonl|computation\.json"
    r"|tokenizer/((joint|source|target)\.(model|json)|tokenizer\.json)"
    r"|checkpoints/step-[0-9]{1,18}/(model\.safetensors|state\.json|manifest\.json)"
)
_NEEDED = {"config.toml", "tokenizer/tokenizer.json", MANIFEST}
_LONGEST_MANIFEST = 1_000_000  # bytes
_MANIFEST = TypeAdapter(Manifest)


def is_bundle(path: Path) -> bool:
    """Return whether a path is a file with the suffix of bundles."""
    return path.suffix == SUFFIX and os.path.isfile(path)


def pack(folder: Path, path: Path) -> None:
    """Write the files of a run into one file, except files that do not belong in a bundle.

    The file is complete and on the disk after `publish`.

    Args:
        folder: the run, with one checkpoint.
        path: the file to write.

    Raises:
        DiskError: if it cannot be written.
    """
    names = sorted(
        each.relative_to(folder).as_posix() for each in folder.rglob("*") if os.path.isfile(each)
    )
    arrays = [
        (name, np.fromfile(folder / name, np.uint8)) for name in names if _ALLOWED.fullmatch(name)
    ]
    manifest = Manifest({name: hashlib.sha256(array.data).hexdigest() for name, array in arrays})
    arrays.append((MANIFEST, np.frombuffer(_MANIFEST.dump_json(manifest), np.uint8)))
    with disk_errors(path):
        files.write(path, file_parts(arrays))


def unpack(path: Path) -> Path:
    """Write the files of a bundle into a temporary folder. It is removed when the process ends.

    Returns:
        The folder, which has the name of the bundle.

    Raises:
        CheckpointError: if the file is not a bundle, or is damaged.
        DiskError: if the folder cannot be written.
    """
    with open_arrays(path) as arrays:
        hashes = _hashes(path, arrays)
        with disk_errors(Path(tempfile.gettempdir())):
            parent = Path(tempfile.mkdtemp(prefix="s2s-"))
            atexit.register(shutil.rmtree, parent, ignore_errors=True)
            folder = parent / path.name
            for name, expected in hashes.items():
                content = arrays.array(name)
                if hashlib.sha256(content.data).hexdigest() != expected:
                    raise _damaged(path, f"{name} differs from {MANIFEST}")
                make_durably((folder / name).parent)
                files.write(folder / name, [content.data])
    return folder


def _hashes(path: Path, arrays: ArrayFile) -> dict[str, str]:
    """Check the names and sizes of all files, and return the SHA-256 of each."""
    for name, spec in arrays.specs.items():
        if name != MANIFEST and not _ALLOWED.fullmatch(name):
            raise _damaged(path, f"it has {name[:100]!r}, which does not belong in a bundle")
        if spec.dtype != "uint8" or len(spec.shape) != 1:
            raise _damaged(path, f"{name} is not an array of bytes")
    lacking = sorted(_NEEDED - arrays.specs.keys())
    if lacking:
        raise _damaged(path, f"it lacks {lacking[0]}")
    if arrays.specs[MANIFEST].shape[0] > _LONGEST_MANIFEST:
        raise _damaged(path, f"{MANIFEST} is too long")
    try:
        hashes = _MANIFEST.validate_json(arrays.array(MANIFEST).tobytes()).sha256
    except ValidationError as error:
        raise _damaged(path, f"{MANIFEST} is unreadable") from error
    _check_names(path, sorted({*hashes} ^ (arrays.specs.keys() - {MANIFEST})))
    return hashes


def _check_names(path: Path, differing: Sequence[str]) -> None:
    if differing:
        raise _damaged(path, f"{MANIFEST} and the content differ in {differing[0][:100]!r}")


def _damaged(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"{path}: not a bundle, or damaged: {reason}. Restore it from a copy, or export it again "
        "with s2s export --to bundle"
    )
