"""A cleaned copy of a file of pairs."""

import gzip
import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from seq2seq_cli.data.checking.inspection import Line, LineFile
from seq2seq_cli.data.files import writable
from seq2seq_cli.errors import DiskError, UsageError
from seq2seq_cli.runs.disk import publish


def new_outputs(out: Path, lines: LineFile) -> list[Path]:
    """Return the paths of a copy of `lines`: `out`, or for parallel files one for each side.

    Raises:
        UsageError: if one of the paths exists, even as a broken symbolic link.
        DiskError: if there is no folder for them.
    """
    if not os.path.isdir(out.parent):
        raise DiskError(f"--fix {out}: there is no folder {out.parent}. Create it first")
    outputs = [out]
    if lines.is_parallel:
        ending = ".gz" if out.suffix == ".gz" else ""
        prefix = str(out).removesuffix(".gz")
        outputs = [Path(f"{prefix}.{language}{ending}") for language in lines.languages]
    check_new(outputs)
    return outputs


def check_new(outputs: Iterable[Path]) -> None:
    """Check that no output exists, even as a broken symbolic link.

    Raises:
        UsageError: if one does.
    """
    for path in outputs:
        if os.path.lexists(path):
            raise UsageError(f"--fix {path}: exists already. Give another name, or remove it")


def write_lines(
    is_parallel: bool, lines: Iterable[Line], kept: NDArray[np.bool_], outputs: list[Path]
) -> None:
    """Write the kept lines, repaired, into temporary files, and rename these to the outputs.

    Args:
        is_parallel: whether each side goes to its own file.
        lines: all lines.
        kept: whether to write each line.
        outputs: one path, or two.

    Raises:
        DiskError: if they cannot be written.
        UsageError: if one of the outputs exists.
    """
    written: list[Path] = []
    temporaries = [path.with_name(f".{path.name}.{os.getpid()}.part") for path in outputs]
    try:
        with writable(outputs[0]), ExitStack() as stack:
            streams = [
                _create(stack, temporary, path.suffix == ".gz")
                for temporary, path in zip(temporaries, outputs, strict=True)
            ]
            for row, line in enumerate(lines):
                if kept[row]:
                    cells = line.cells if is_parallel else ["\t".join(line.cells)]
                    for stream, cell in zip(streams, cells, strict=True):
                        stream.write(f"{cell}\n".encode())
        with writable(outputs[0]):
            check_new(outputs)  # another process may have written them meanwhile
            for temporary, path in zip(temporaries, outputs, strict=True):
                written.append(path)
                publish(temporary, path)
    except BaseException:
        for path in written:  # a side alone is of no use
            with suppress(OSError):
                path.unlink()
        raise
    finally:
        for temporary in temporaries:
            with suppress(OSError):  # it may not exist
                temporary.unlink()


def _create(stack: ExitStack, path: Path, gzipped: bool) -> IO[bytes]:
    raw = stack.enter_context(path.open("xb"))
    if not gzipped:
        return raw
    # The header has neither name nor time, so the same lines make the same file.
    # A GzipFile has all methods of IO[bytes] that are used, but is not declared as one.
    return stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))  # type: ignore
