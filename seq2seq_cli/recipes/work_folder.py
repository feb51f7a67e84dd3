"""The folder of a recipe's intermediate results, from which the same command continues."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.runs import files
from seq2seq_cli.runs.disk import disk_errors, make_durably, remove_tree, write_durably
from seq2seq_cli.runs.lock import LOCK, locked

_SETTINGS = "settings.json"


@contextmanager
def work_folder(output: Path, settings: Mapping[str, Any]) -> Iterator[Path]:
    """Create the folder OUTPUT.partial, or open it to continue; remove it after the block.

    It stays if the block ends with an error. No other process can use it during the block.

    Args:
        output: the file that the block writes.
        settings: everything that determines its content, by readable names; JSON values.

    Raises:
        UsageError: if the output exists, or was started with other settings.
        DataError: if the folder is damaged, or this function has not created it.
        LockedError: if another process uses it.
        DiskError: if the folder cannot be written.
    """
    check_new(output)
    folder = output.with_name(f"{output.name}.partial")
    with disk_errors(folder):
        make_durably(folder)
    with locked(folder, f"is making {output}", "give another --output"):
        check_new(output)  # another process may have completed it
        _check_settings(folder, json.loads(json.dumps(settings)))
        yield folder
        with disk_errors(folder):
            remove_tree(folder)


def check_new(output: Path) -> None:
    """Check that there is no output yet, so that nothing is overwritten.

    Raises:
        UsageError: if there is.
    """
    if files.exists(output):
        raise UsageError(
            f"--output {output}: exists already, and nothing is overwritten. Give another path"
        )


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    path = folder / _SETTINGS
    if not files.exists(path):
        with disk_errors(folder):
            if unknown := {*files.names(folder)} - {LOCK, f".{_SETTINGS}.partial"}:
                raise DataError(
                    f"{folder}: has {min(unknown)}, but no {_SETTINGS} with the settings of "
                    "its start. Remove it or rename it to start again"
                )
            write_durably(path, json.dumps(settings, indent=1).encode())
        return
    try:
        before = dict(json.loads(files.read(path)))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path}: is damaged. Remove {folder} to start again") from error
    changed = [
        f"  {key}: {before.get(key)!r} there, {settings.get(key)!r} now"
        for key in {**before, **settings}
        if before.get(key) != settings.get(key)
    ]
    if changed:
        raise UsageError(
            f"{folder}: was started with other settings:\n" + "\n".join(changed) + "\n"
            "To continue, give the same settings; or remove the folder to start again"
        )
