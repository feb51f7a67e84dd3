"""The folder of a recipe's intermediate results, from which the same command continues."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seq2seq_cli.errors import DataError, DiskError, LockedError, UsageError, os_reason
from seq2seq_cli.runs.disk import make_durably, remove_tree, write_durably

_SETTINGS = "settings.json"


@contextmanager
def work_folder(output: Path, settings: Mapping[str, Any]) -> Iterator[Path]:
    """Create the folder OUTPUT.partial, or open it to continue; remove it after the block.

    It stays if the block ends with an error. No other process can use it meanwhile.

    Args:
        output: the file that the block writes.
        settings: everything that determines its content, by readable names; JSON values.

    Raises:
        UsageError: if the output exists, or was begun with other settings.
        LockedError: if another process is writing it.
        DiskError: if the folder cannot be written.
    """
    check_new(output)
    folder = output.with_name(f"{output.name}.partial")
    with writing(folder):
        make_durably(folder)
    with _locked(folder, output):
        check_new(output)  # another process may have completed it
        _check_settings(folder, json.loads(json.dumps(settings)))
        yield folder
        with writing(folder):
            remove_tree(folder)


def check_new(output: Path) -> None:
    """Check that there is no output yet, so that nothing is overwritten.

    Raises:
        UsageError: if there is.
    """
    if os.path.lexists(output):
        raise UsageError(
            f"--output {output}: exists already, and nothing is overwritten. Give another path"
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError of writing `path` into a DiskError."""
    try:
        yield
    except OSError as error:
        raise DiskError(
            f"{path}: cannot be written: {os_reason(error)}. After fixing this, the same command "
            "continues"
        ) from error


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    path = folder / _SETTINGS
    if not path.exists():
        with writing(folder):
            write_durably(path, json.dumps(settings, indent=1).encode())
        return
    try:
        before = dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path}: is damaged. Remove {folder} to start again") from error
    changed = [
        f"  {key}: {before.get(key)!r} there, {settings.get(key)!r} now"
        for key in {**before, **settings}
        if before.get(key) != settings.get(key)
    ]
    if changed:
        raise UsageError(
            f"{folder}: was begun with other settings:\n" + "\n".join(changed) + "\n"
            "To continue, give the same settings; or remove the folder to start again"
        )


@contextmanager
def _locked(folder: Path, output: Path) -> Iterator[None]:
    """Keep other processes out; the operating system ends the lock with the process."""
    with writing(folder):
        file = (folder / "lock").open("a")
    with file:
        try:
            with writing(folder):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except DiskError as error:
            if not isinstance(error.__cause__, BlockingIOError):
                raise
            raise LockedError(
                f"--output {output}: another process is writing it. Wait for it, or stop it"
            ) from error
        yield
