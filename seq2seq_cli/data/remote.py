"""A prepared corpus at an address, such as https://…, s3://… or gs://…, and its copy in the cache.

fsspec reads the address. The list of the corpus' files comes from the same place as the files, so
it is checked before it is used. All files are compared with it by size and SHA-256.
"""

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import platformdirs
from pydantic import NonNegativeInt, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from seq2seq_cli.data.files import sha256_of, writable
from seq2seq_cli.errors import DataError, UsageError
from seq2seq_cli.runs.disk import publish, write_durably

LISTING = "files.json"
_LARGEST_LISTING = 100_000_000  # bytes; an entry has about 120
_PARTIAL = ".partial"  # the end of the name of a file that is being copied
_SECONDS = 60  # without an answer
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_PACKAGES = {"gs": "gcsfs", "gcs": "gcsfs", "s3": "s3fs", "s3a": "s3fs"}


@dataclass(frozen=True)
class _Entry:
    """What the list says of a file."""

    bytes: NonNegativeInt
    sha256: str


_LIST = TypeAdapter(dict[str, _Entry])


def write_listing(folder: Path) -> None:
    """Write the list of all files of a prepared corpus into its folder."""
    entries = {
        str(path.relative_to(folder)): {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.rglob("*"))
        if os.path.isfile(path)
    }
    (folder / LISTING).write_text(json.dumps(entries, indent=1) + "\n", "utf-8")


def downloaded_corpus(address: str) -> Path:
    """Return the folder of a corpus that `download_corpus` copied.

    Raises:
        DataError: if it was not copied.
    """
    folder = _folder(address)
    if not os.path.isfile(folder / LISTING):
        raise DataError(
            f"{address}: has not been downloaded. Run `s2s data stats --data {address}`, which "
            "downloads it"
        )
    return folder


def download_corpus(address: str, progress: Callable[[int, int], None]) -> Path:
    """Copy a prepared corpus to the cache, and return its folder.

    Listed files that an earlier copy has are kept, so an interrupted copy is continued; all others
    are deleted. A complete copy is used as it is if its files have the listed sizes, or if the
    address cannot be read.

    Args:
        address: of the folder that `s2s data prepare` made.
        progress: called with the bytes received and the total.

    Raises:
        DataError: if it cannot be read, is no prepared corpus, or its files do not match their
            list.
        DiskError: if the cache cannot be written.
        UsageError: if a package for such addresses is missing.
    """
    folder = _folder(address)
    source = _Source(address)
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        listing_path = folder / LISTING
        try:
            listing = source.listing(folder)
        except DataError:
            if os.path.isfile(listing_path):
                return folder
            raise
        entries = _entries(listing, f"{address}/{LISTING}")
        is_same = os.path.isfile(listing_path) and listing_path.read_bytes() == listing
        if is_same and all(_has_size(folder / name, entry) for name, entry in entries.items()):
            return folder
        listing_path.unlink(missing_ok=True)  # from now on, the copy is incomplete
        _delete_others(folder, entries)
        total = sum(entry.bytes for entry in entries.values())
        done = 0

        def show(received: int) -> None:
            progress(done + received, total)

        for name, entry in entries.items():
            if not _is_copied(folder / name, entry):
                source.copy(name, entry, folder, show)
            done += entry.bytes
            show(0)
        write_durably(listing_path, listing)
    return folder


class _Source:
    """The files at an address.

    Raises:
        UsageError: if fsspec cannot read such addresses, or a package for them is missing.
    """

    def __init__(self, address: str):
        self._address = address.rstrip("/")
        scheme = address.split("://")[0]
        try:
            import fsspec

            options: dict[str, Any] = {}
            if scheme in ("http", "https"):
                import aiohttp

                waiting = aiohttp.ClientTimeout(None, sock_connect=_SECONDS, sock_read=_SECONDS)
                options = {"client_kwargs": {"timeout": waiting}}
            self._files, self._path = fsspec.core.url_to_fs(self._address, **options)
        except ImportError as error:
            package = _PACKAGES.get(scheme, "'s2s[remote]'")
            raise UsageError(
                f"{address}: a package for such addresses is missing ({error}). Install it: pip "
                f"install {package}"
            ) from error
        except ValueError as error:
            raise UsageError(f"{address}: cannot be read: {error}") from error

    def listing(self, folder: Path) -> bytes:
        """Return the list of the files. `folder` is where it is stored until then."""
        copied = _partial(folder / LISTING)
        try:
            self._get(LISTING, copied, _LARGEST_LISTING, lambda received: None)
            return copied.read_bytes()
        finally:
            copied.unlink(missing_ok=True)

    def copy(self, name: str, entry: _Entry, folder: Path, show: Callable[[int], None]) -> None:
        """Copy a file, check it, and give it its name."""
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        copied = _partial(path)
        try:
            self._get(name, copied, entry.bytes, show)
            if not _is_copied(copied, entry):
                raise DataError(
                    f"{self._address}/{name}: does not match its size and SHA-256 in {LISTING}. "
                    "Prepare the corpus again, or copy its folder again"
                )
            publish(copied, path)
        finally:
            copied.unlink(missing_ok=True)

    def _get(self, name: str, path: Path, most: int, show: Callable[[int], None]) -> None:
        """Copy a file of at most `most` bytes."""
        from fsspec.callbacks import Callback

        address = f"{self._address}/{name}"

        class Limited(Callback):
            def relative_update(self, inc: int = 1) -> None:
                super().relative_update(inc)
                if self.value > most:
                    raise DataError(f"{address}: has more than {most:,} bytes")
                show(self.value)

        try:
            self._files.get_file(f"{self._path}/{name}", str(path), callback=Limited())
        except DataError:
            raise
        except FileNotFoundError as error:
            raise DataError(
                f"{address}: does not exist. The address must be that of a folder that `s2s data "
                "prepare` made, of this version or a later one"
            ) from error
        except Exception as error:  # each of fsspec's file systems has its own errors
            if _is_about_the_disk(error, path):
                raise
            raise DataError(
                f"{address}: cannot be read ({type(error).__name__}: {error}). Check the address "
                "and the network, or copy the folder and give its path with --data"
            ) from error


def _delete_others(folder: Path, entries: dict[str, _Entry]) -> None:
    """Delete the files that are not listed, such as the weights of an earlier version.

    Another process may copy the same corpus now. Its partial files are kept: those that have
    changed lately.
    """
    for path in folder.rglob("*"):
        is_listed = str(path.relative_to(folder)) in entries
        if os.path.isfile(path) and not is_listed and not _is_being_copied(path):
            path.unlink(missing_ok=True)


def _is_being_copied(path: Path) -> bool:
    with suppress(FileNotFoundError):
        # A copy ends with an error after _SECONDS without an answer.
        silent = time.time() - path.stat().st_mtime
        return path.name.endswith(_PARTIAL) and silent < 2 * _SECONDS
    return False


def _is_about_the_disk(error: Exception, path: Path) -> bool:
    if not isinstance(error, OSError):
        return False
    return error.errno in _DISK_ERRORS or error.filename == str(path)


def _folder(address: str) -> Path:
    key = hashlib.sha256(address.rstrip("/").encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("s2s") / "corpora" / key


def _partial(path: Path) -> Path:
    """Return the name of a file while it is copied, which no other process uses."""
    return path.with_name(f".{path.name}.{os.getpid()}{_PARTIAL}")


def _entries(listing: bytes, address: str) -> dict[str, _Entry]:
    """Return the files of a list, which all lie in the folder.

    Raises:
        DataError: if it is no such list.
    """
    try:
        entries = _LIST.validate_json(listing, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(f"{address}: is not a list of files ({first['msg']})") from error
    for name in entries:
        path = PurePosixPath(name)
        is_inside = path.parts and not path.is_absolute() and ".." not in path.parts
        if not is_inside or name == LISTING or {"\0", "\\"} & set(name):
            raise DataError(f"{address}: names a file that it must not name: {name!r}")
    return entries


def _is_copied(path: Path, entry: _Entry) -> bool:
    return _has_size(path, entry) and sha256_of(path) == entry.sha256


def _has_size(path: Path, entry: _Entry) -> bool:
    return os.path.isfile(path) and path.stat().st_size == entry.bytes
