"""Input and output of commands: arguments, input files, results and the standard streams."""

import errno
import io
import json
import math
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import typer

from seq2seq_cli.errors import DataError, DiskError, UsageError, os_reason
from seq2seq_cli.runs.disk import write_durably

InputOption = Annotated[
    Path | None, typer.Option("--input", "-i", help="Read a file, line by line.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the results to a file.")
]

_SHOWN = 60  # characters of a bad argument that its error shows


class Result(NamedTuple):
    """A result of a command.

    Attributes:
        record: what --json prints, on one line.
        shown: a text or a Rich object, which is printed otherwise.
    """

    record: Any
    shown: Any


def finite(number: float | None) -> float | None:
    """Return a number, or None for what JSON does not have: NaN and infinity."""
    return None if number is None or not math.isfinite(number) else number


def emit(result: Result, as_json: bool, write: Callable[[str], None] | None = None) -> None:
    """Print a result.

    Args:
        result: what to print.
        as_json: whether --json is given.
        write: writes a line; None for stdout.
    """
    write = write or print_line
    if as_json:
        write(json.dumps(result.record, ensure_ascii=False))
    elif isinstance(result.shown, str):
        write(result.shown)
    else:
        from seq2seq_cli.cli import console

        console.show_drawn(result.shown)


def print_line(line: str) -> None:
    """Write a line of results to stdout, plain and at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def open_standard_streams() -> None:
    """Write stdout in UTF-8, regardless of the locale, and name the stream in errors.

    Characters that stderr cannot encode are escaped. Lines that cannot be written to stderr are
    dropped.

    A closed descriptor is replaced by a file that cannot be read or written. Otherwise the next
    file that is opened would get its number, and with it the output for stdout.
    """
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    stdout = _Sink(sys.stdout.fileno() if sys.stdout else 1, "stdout")
    stderr = _Sink(sys.stderr.fileno() if sys.stderr else 2, "stderr", needed=False)
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    sys.stdout = _text(stdout, errors="surrogateescape")  # a path may have any bytes
    sys.stderr = _text(stderr, encoding, errors="backslashreplace")


def check_text(text: str, place: str) -> None:
    """Check that an argument is UTF-8; Python turns other bytes into surrogates.

    Raises:
        UsageError: if not.
    """
    raw = text.encode("utf-8", "surrogateescape")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = raw.decode("utf-8", "backslashreplace")
        raise UsageError(
            f"{place} is not UTF-8: '{shown[:_SHOWN]}{'…' * (len(shown) > _SHOWN)}' (byte "
            f"{error.start + 1} is 0x{raw[error.start]:02x}). Convert it to UTF-8"
        ) from error


def check_files(has_arguments: bool, input_file: Path | None, output: Path | None = None) -> None:
    """Check that the input is given once and can be read, and that the output can be written.

    Raises:
        UsageError: if the input is given twice, does not exist, or would be overwritten.
        DataError: if it cannot be read.
        DiskError: if the output cannot be written.
    """
    if has_arguments and input_file:
        raise UsageError("sentences and --input exclude each other; give one of them")
    if input_file:
        check_input(input_file)
    if output:
        check_output(output, [("--input", input_file)])
        if not (has_arguments or input_file) and _is_stdin(output):
            raise UsageError(
                f"--output {output} is also the file of stdin, which would be overwritten; give "
                "another path"
            )


def check_distinct(outputs: Mapping[str, Path | None]) -> None:
    """Check that no two options name the same file to write.

    Raises:
        UsageError: naming both options.
    """
    found: dict[str, str] = {}
    for option, path in outputs.items():
        if path is not None:
            other = found.setdefault(os.path.realpath(path), option)
            if other != option:
                raise UsageError(f"{other} and {option} have the same file {path}; give another")


def _is_stdin(path: Path) -> bool:
    """Return whether a path is the regular file that stdin reads."""
    with suppress(OSError, ValueError):
        found = os.fstat(sys.stdin.fileno())
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, path.stat())
    return False


def check_input(path: Path, option: str = "--input") -> None:
    """Check that the file of --input, or of another option, exists and can be read.

    Raises:
        UsageError: if there is no such file.
        DataError: if it cannot be read.
    """
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError as error:
        raise UsageError(f"{option} {path}: no such file") from error
    except OSError as error:
        raise DataError(f"{option} {path}: cannot be read: {os_reason(error)}") from error
    if is_folder:
        raise DataError(f"{option} {path}: cannot be read: it is a folder. Give a text file")
    if not os.access(path, os.R_OK):
        raise DataError(f"{option} {path}: cannot be read: you have no permission")


def check_output(
    path: Path, inputs: Sequence[tuple[str, Path | None]] = (), option: str = "--output"
) -> None:
    """Check that the file of --output, or of another option, can be written and is no input.

    The file is not changed.

    Args:
        path: the file.
        inputs: the files that the command reads, with their options; they need not exist.
        option: that names the file.

    Raises:
        UsageError: if it is an input.
        DiskError: if it cannot be written.
    """
    for name, file in inputs:
        if file and os.path.exists(path) and os.path.exists(file) and path.samefile(file):
            raise UsageError(
                f"{option} {path} is also the {name}, which would be overwritten; give another path"
            )
    folder = path.parent
    if os.path.isdir(path):
        problem = "it is a folder. Give the path of a file"
    elif not os.path.isdir(folder):
        problem = f"there is no folder {folder}. Create it, or give another path"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        problem = "you have no permission. Give another path"
    else:
        return
    raise DiskError(f"{option} {path}: cannot be written: {problem}")


def write_file(path: Path, content: bytes, option: str) -> None:
    """Write a file completely and to the disk, or leave the old one.

    If the path is a link, its target is written. A pipe or a device gets the content directly.

    Raises:
        DiskError: naming the option, if it cannot be written.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            path.write_bytes(content)
        else:
            write_durably(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise DiskError(f"{option} {path}: cannot be written: {os_reason(error)}") from error


@contextmanager
def open_input(path: Path | None) -> Iterator[tuple[Any, str]]:
    """Open a file or stdin, and yield it with its name for errors."""
    if path is None:
        assert isinstance(sys.stdin.buffer, io.BufferedReader)
        yield sys.stdin.buffer.raw, "stdin"
        return
    try:
        stream = path.open("rb", buffering=0)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {os_reason(error)}") from error
    with stream:
        yield stream, str(path)


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes a line of results at once, to a file or stdout.

    The file is opened for the first line, or at the end if there is none. A command that fails
    earlier leaves the file as it was.
    """
    if path is None:
        yield print_line
        return
    with ExitStack() as stack:
        files: list[TextIO] = []

        def write(line: str) -> None:
            if not files:
                files.append(stack.enter_context(_text(_opened(path))))
            files[0].write(line + "\n")

        yield write
        if not files:
            _opened(path).close()


class _Sink(io.FileIO):
    """An output that names itself in errors, and drops everything after the first error.

    So the buffers on top of it can be flushed when the program ends.

    Args:
        target: a path, or a descriptor that stays open.
        label: the name of the output, for errors.
        needed: whether the program cannot continue without it.
    """

    def __init__(self, target: Path | int, label: str, needed: bool = True):
        super().__init__(target, "w", closefd=not isinstance(target, int))
        self._label = label
        self._needed = needed
        self._failed = False

    def write(self, data: Any) -> int:
        """Write, or raise DiskError; exit like SIGPIPE if nobody reads the output any more."""
        size = memoryview(data).nbytes
        if self._failed:
            return size
        try:
            return super().write(data)
        except OSError as error:
            self._failed = True
            if not self._needed:
                return size
            if error.errno == errno.EPIPE:
                raise SystemExit(128 + signal.SIGPIPE) from error
            raise _disk_error(self._label, error) from error


@contextmanager
def duplicate_stderr(stream: io.TextIOWrapper) -> Iterator[io.TextIOWrapper]:
    """Yield a stream to the same terminal or file as stderr, on a new descriptor.

    Like stderr, it drops everything after the first error, such as that of a closed terminal.
    """
    descriptor = os.dup(stream.fileno())
    sink = _Sink(descriptor, "stderr", needed=False)
    try:
        with _text(sink, stream.encoding, stream.errors or "strict") as copy:
            yield copy
    finally:
        os.close(descriptor)


def _opened(path: Path) -> _Sink:
    try:
        return _Sink(path, f"--output {path}")
    except OSError as error:
        raise _disk_error(f"--output {path}", error) from error


def _disk_error(label: str, error: OSError) -> DiskError:
    return DiskError(f"{label}: cannot be written: {os_reason(error)}")


def _text(sink: _Sink, encoding: str = "utf-8", errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(sink), encoding, errors, line_buffering=True)
