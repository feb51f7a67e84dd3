"""The command that starts several processes on this machine: launch."""

import argparse
import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from seq2seq_cli.cli.files import check_files
from seq2seq_cli.errors import DiskError, UsageError, WorkerError, os_reason
from seq2seq_cli.runs.disk import publish
from seq2seq_cli.runtime.devices import LAUNCH_INDEX
from seq2seq_cli.runtime.machine import run_on, share_of_cores

_S2S = [sys.executable, "-m", "seq2seq_cli"]

_GRACE = 60.0
"""Seconds from the end of the first worker, or from the first failure, until the others get
SIGTERM."""
_TERMINATION = 10.0
"""Seconds from SIGTERM to SIGKILL."""
_PAUSE = 0.1  # s


def launch(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- train … | -- translate …",
            help="The options are those of s2s train and s2s translate. A translation needs "
            "--input and --output.",
        ),
    ],
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Number of processes.")
    ] = 2,
) -> None:
    """Train, or translate a file, with several processes on this machine."""
    if command[0] == "translate":
        _translate(command[1:], workers)
    elif command[0] == "train":
        addresses = _free_addresses(workers)
        clusters = [_cluster(addresses, index) for index in range(workers)]
        _run([command] * workers, clusters, end_together=True)
    else:
        raise UsageError(
            f"launch: {command[0]}: only train and translate can be launched. Use -- train, or "
            "-- translate"
        )


def _translate(options: Sequence[str], workers: int) -> None:
    """Let each process translate a shard of a file; write the translations in order.

    Raises:
        UsageError: if the files are not given, or are the same.
        WorkerError: if a process fails; the output stays as it was.
        DiskError: if the output cannot be written.
    """
    from seq2seq_cli.documents.formats import format_of

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--input", "-i", type=Path)
    parser.add_argument("--output", "-o", type=Path)
    parser.add_argument("--format")
    parser.add_argument("--shard")
    given, others = parser.parse_known_args(options)
    if not given.input or not given.output:
        raise UsageError("launch: translate needs --input and --output")
    if given.shard:
        raise UsageError("launch: translate --shard: launch divides the file itself. Leave it out")
    format_ = given.format or format_of(given.input)
    if format_ not in (None, "lines"):
        raise UsageError(
            f"launch: translate divides a file by its lines, but --input is {format_}. Use "
            "--format lines, or translate the document with s2s translate"
        )
    check_files(False, given.input, given.output)
    output = Path(given.output)
    with _scratch(output) as folder:
        shards = [Path(folder, str(number)) for number in range(1, workers + 1)]
        others += ["--format", given.format] if given.format else []
        command = ["translate", *others, "--input", str(given.input)]
        _run(
            [
                [*command, "--shard", f"{path.name}/{workers}", "--output", str(path)]
                for path in shards
            ],
            [{}] * workers,
            end_together=False,
        )
        try:
            _join(shards)
            _deliver(shards[0], output)
        except OSError as error:
            raise DiskError(f"{output}: cannot be written: {os_reason(error)}") from error


def _join(shards: Sequence[Path]) -> None:
    """Append all shards to the first one, and delete each, which saves space."""
    with shards[0].open("ab") as joined:
        for path in shards[1:]:
            with path.open("rb") as shard:
                shutil.copyfileobj(shard, joined)
            path.unlink()


def _deliver(file: Path, output: Path) -> None:
    """Give a complete file the name of the output.

    It is copied if the output is a pipe or a device, in another file system, or in a folder that
    may not be changed.
    """
    if not os.path.exists(output) or os.path.isfile(output):
        try:
            publish(file, Path(os.path.realpath(output)))
            return
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EACCES, errno.EPERM):
                raise
    with file.open("rb") as joined, output.open("wb") as stream:
        shutil.copyfileobj(joined, stream)


def _scratch(output: Path) -> "tempfile.TemporaryDirectory[str]":
    """Return a folder for the shards: beside the output, or where temporary files usually are."""
    beside = Path(os.path.realpath(output)).parent
    try:
        return tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=beside)
    except OSError:  # such as for /dev/null
        return tempfile.TemporaryDirectory(prefix="s2s-")


def _run(
    commands: Sequence[list[str]], variables: Sequence[dict[str, str]], end_together: bool
) -> None:
    """Run a command of s2s in each process, and wait until all have ended.

    Args:
        commands: of the processes.
        variables: additional environment variables of each.
        end_together: whether all must end soon after the first one; otherwise only after the first
            failure.

    Raises:
        WorkerError: if one of them fails.
    """
    processes: list[subprocess.Popen[bytes]] = []
    threads = []
    with _passing_signals(processes):
        try:
            for index, (command, added) in enumerate(zip(commands, variables, strict=True)):
                environment = {**added, LAUNCH_INDEX: str(index)}
                processes.append(_start(command, environment, share_of_cores(index, len(commands))))
                thread = threading.Thread(target=_copy, args=[processes[-1], index], daemon=True)
                threads.append(thread)
                thread.start()
        except OSError as error:  # a worker cannot be started
            for process in processes:
                process.kill()
            raise WorkerError(f"a worker cannot be started: {os_reason(error)}") from error
        code = _wait(processes, end_together)
    for thread in threads:
        thread.join(_TERMINATION)
    if code:
        name = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise WorkerError(
            f"a worker ended with {name}; its messages are above",
            128 - code if code < 0 else code,
        )


def _free_addresses(number: int) -> list[str]:
    """Return addresses of this machine with free ports."""
    with contextlib.ExitStack() as open_sockets:
        found = [open_sockets.enter_context(socket.socket()) for _ in range(number)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in found]


def _cluster(addresses: list[str], index: int) -> dict[str, str]:
    from seq2seq_cli.runtime.cluster import Cluster

    return {"TF_CONFIG": Cluster(tuple(addresses), index).environment()}


def _start(
    command: list[str], variables: dict[str, str], cores: set[int] | None
) -> "subprocess.Popen[bytes]":
    """Start a worker in its own session, so that it does not get each signal twice."""
    process = subprocess.Popen(
        [*_S2S, *command],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    if cores:
        run_on(process.pid, cores)
    return process


def _copy(process: "subprocess.Popen[bytes]", index: int) -> None:
    """Print the lines of a worker, each with the worker's number."""
    assert process.stdout
    with process.stdout as lines:
        for line in lines:
            sys.stderr.buffer.write(f"{index} | ".encode() + line)
            sys.stderr.buffer.flush()


@contextmanager
def _passing_signals(processes: "list[subprocess.Popen[bytes]]") -> Iterator[None]:
    """Forward the signals that end training to all workers."""

    def send(number: int, frame: FrameType | None) -> None:
        for process in processes:
            process.send_signal(number)

    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup, also for the workers
    ]
    before = {number: signal.signal(number, send) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(processes: "list[subprocess.Popen[bytes]]", end_together: bool) -> int:
    """Wait for all workers, and end those that hang. Return the first exit code that is not 0."""
    code, first_end, is_terminated = 0, 0.0, False
    while None in (codes := [process.poll() for process in processes]):
        code = code or _first_failure(codes)
        if code or (end_together and any(each is not None for each in codes)):
            first_end = first_end or time.monotonic()
            is_terminated = _end(processes, time.monotonic() - first_end, is_terminated)
        time.sleep(_PAUSE)
    return code or _first_failure(codes)


def _first_failure(codes: list[int | None]) -> int:
    """Return the first exit code that is not 0, or 0."""
    return next(filter(None, codes), 0)


def _end(processes: "list[subprocess.Popen[bytes]]", waited: float, is_terminated: bool) -> bool:
    """End the workers that hang, and return whether SIGTERM was sent; it is sent once.

    Args:
        processes: the workers; those that have ended get no signal.
        waited: seconds since the others should end.
        is_terminated: whether SIGTERM was sent already.
    """
    if waited > _GRACE + _TERMINATION:
        for process in processes:
            process.kill()
    elif waited > _GRACE and not is_terminated:
        for process in processes:
            process.terminate()
    return waited > _GRACE
