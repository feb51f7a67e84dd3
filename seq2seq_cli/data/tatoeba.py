"""The download of the Tatoeba corpus that TensorFlow's and Keras' tutorials use."""

import http.client
import os
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

from seq2seq_cli.data.files import is_file, readable, sha256_of, writable
from seq2seq_cli.errors import DataError
from seq2seq_cli.runs.disk import publish

TATOEBA_URL = "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
TATOEBA_SHA256 = "f80e581ae291aa34dd3aba7bd98b5e9505234da4318e2f3295df70a1520c7f61"
_LARGEST = 10_000_000  # bytes that are received; the file has 2.6 MB


def downloaded_tatoeba() -> Path:
    """Return the path of the downloaded corpus.

    Raises:
        DataError: if it has not been downloaded or was changed since, with the remedy.
    """
    path = tatoeba_path()
    if not is_file(path):
        raise DataError(
            f"{path}: the tatoeba corpus has not been downloaded. Run `s2s data download`, or "
            "give a copy of spa-eng.zip with `--data PATH/spa-eng.zip`"
        )
    with readable(path):
        found = sha256_of(path)
    if found != TATOEBA_SHA256:
        raise DataError(
            f"{path}: is not the file that was downloaded (SHA-256 {found}, expected "
            f"{TATOEBA_SHA256}). Run `s2s data download`, which downloads it again"
        )
    return path


def tatoeba_path() -> Path:
    """Return the path of the downloaded corpus, in the platform's cache folder."""
    return platformdirs.user_cache_path("s2s") / "spa-eng.zip"


def download_tatoeba(progress: Callable[[int, int], None], url: str = TATOEBA_URL) -> Path:
    """Download spa-eng.zip to the cache, unless the cache has it, and check its SHA-256.

    Args:
        progress: called with the bytes received and the total, 0 if that is not known.
        url: the address to download from.

    Raises:
        DataError: if there is no network, or the file is not the expected one.
        DiskError: if the cache cannot be written.
    """
    path = tatoeba_path()
    if is_file(path):
        with readable(path):
            if sha256_of(path) == TATOEBA_SHA256:
                return path
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="spa-eng-", suffix=".part")
    try:
        with writable(path.parent):
            with os.fdopen(handle, "wb") as part:
                for block in _received(url, path, progress):
                    part.write(block)
            found = sha256_of(Path(temporary))
        if found != TATOEBA_SHA256:
            raise DataError(
                f"{url}: this is not the expected file (SHA-256 {found}, expected "
                f"{TATOEBA_SHA256}). A proxy may have answered instead. Try again, or get "
                "spa-eng.zip elsewhere and give it with `--data PATH/spa-eng.zip`"
            )
        with writable(path):
            publish(Path(temporary), path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path


def _received(url: str, path: Path, progress: Callable[[int, int], None]) -> Iterator[bytes]:
    """Yield the blocks of a download. `path` is where users may put the file instead."""
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            length = response.headers.get("Content-Length") or ""
            total = int(length) if length.isascii() and length.isdigit() else 0
            received = 0
            while block := response.read(1 << 16):
                yield block
                received += len(block)
                if received > _LARGEST:
                    raise DataError(
                        f"{url}: this is not the expected file: it has more than "
                        f"{_LARGEST / 1e6:.0f} MB"
                    )
                progress(received, total)
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"{url}: cannot be reached ({getattr(error, 'reason', error)}).\n"
            "Check the network. Or download that address with a browser, on any machine, and give "
            "the file with `--data PATH/spa-eng.zip`, or put it at "
            f"{path}"
        ) from error
