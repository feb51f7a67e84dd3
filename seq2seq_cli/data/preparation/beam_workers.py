"""The workers of an Apache Beam runner."""

import contextlib
import io
import pickle
import shlex
import uuid
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import create_runner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from seq2seq_cli.data.preparation.beam_processes import BeamProcesses
from seq2seq_cli.errors import S2SError, UsageError, WorkerError
from seq2seq_cli.runs import files
from seq2seq_cli.runtime.machine import cores

MakeRunner = Callable[[], Any]

_LOCAL = ("directrunner", "fnapirunner")  # Beam's names of the runner on this machine


class BeamWorkers:
    """Runs functions and pipelines on the workers of a Beam runner; calls are as in `Processes`.

    By default, calls run in processes of this machine, one for each core. Pipelines run in this
    process, as NumPy needs less time for all keys than Beam needs to send them to other processes.

    Args:
        options: flags of Beam, separated as in a shell.
        folder: an empty folder that all workers share, for the results of calls.

    Raises:
        UsageError: if Beam does not know a flag or the runner.
    """

    def __init__(self, options: str, folder: Path):
        self._processes = BeamProcesses(folder)
        self._options, self._for_calls, self._runner = _runners(
            _flags(options), self._processes.command
        )
        self._folder = folder
        self._calls: list[tuple[int, bytes]] = []
        self._numbers = count()  # never the same, in case a slow call ends after its results

    def __enter__(self) -> "BeamWorkers":
        self._processes.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._processes.__exit__(*error)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Note a call. It may run several times, even at once, if a worker fails or is slow."""
        self._calls.append((next(self._numbers), pickle.dumps((function, arguments))))

    def results(self) -> list[Any]:
        """Run the noted calls, and return their results in the order of submission.

        Raises:
            S2SError, OSError: the first of those that calls raised.
            WorkerError: if Beam fails.
        """
        calls, self._calls = self._calls, []

        def build(pipeline: Any) -> None:
            spread = pipeline | beam.Create(calls) | beam.Reshuffle()
            spread | beam.Map(_call, self._folder)

        if calls:
            self._run(self._for_calls, build)
        results = []
        for number, _ in calls:
            path = self._folder / f"{number}.result"
            result, error = pickle.loads(path.read_bytes())
            if error is not None:
                raise error
            results.append(result)
            path.unlink()
        return results

    def run(self, build: Callable[[Any], None]) -> None:
        """Run a pipeline.

        Args:
            build: adds its steps to a beam.Pipeline.

        Raises:
            WorkerError: if Beam fails.
        """
        self._run(self._runner, build)

    def _run(self, runner: MakeRunner, build: Callable[[Any], None]) -> None:
        try:
            pipeline = beam.Pipeline(runner(), self._options)
            build(pipeline)
            state = pipeline.run().wait_until_finish()
        except SystemExit:
            if self._processes.lost:
                raise WorkerError(
                    "a worker process of Apache Beam was killed, perhaps for lack of memory"
                ) from None
            raise
        except Exception as error:
            lines = str(error).strip().split("\n")
            raise WorkerError(f"Apache Beam failed: {lines[-1] or type(error).__name__}") from error
        self._processes.forget()
        if state not in (None, "DONE"):
            raise WorkerError(f"Apache Beam failed: the pipeline ended in the state {state}")


def save(path: Path, array: np.ndarray) -> None:
    """Write an array to a .npy file completely or not at all, so that a step can be repeated."""
    content = io.BytesIO()
    np.save(content, array)
    write_completely(path, content.getvalue())


def write_completely(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, so that a step can be repeated."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    partial.write_bytes(content)
    files.rename(partial, path)


def _call(call: tuple[int, bytes], folder: Path) -> None:
    """Make a call, and write its result to a file, or the error if the user can act on it."""
    number, content = call
    function, arguments = pickle.loads(content)
    result, problem = None, None
    try:
        result = function(*arguments)
    except (S2SError, OSError) as error:
        problem = error
    write_completely(folder / f"{number}.result", pickle.dumps((result, problem)))


def _flags(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise UsageError(f"--beam-options {options!r}: {error}") from None


def _runners(flags: list[str], worker: str) -> tuple[Any, MakeRunner, MakeRunner]:
    """Return Beam's options, and the runner of calls and that of pipelines.

    Runners elsewhere have options that only they know, so only those of the local one are checked.

    Args:
        flags: Beam's.
        worker: the shell command of a worker process of this machine.
    """
    options, unknown = _parsed(flags)
    name = options.view_as(StandardOptions).runner or _LOCAL[0]
    if name.lower() not in _LOCAL:
        try:
            create_runner(name)
        except (ValueError, ImportError) as error:
            raise UsageError(f"--beam-options --runner={name}: {error}") from error
        return options, partial(create_runner, name), partial(create_runner, name)
    if unknown:
        raise UsageError(f"--beam-options: Apache Beam has no option {' '.join(unknown)}")
    direct = options.view_as(DirectOptions)
    given = {flag.partition("=")[0] for flag in flags}
    if "--direct_running_mode" in given:
        return options, FnApiRunner, FnApiRunner
    if "--direct_num_workers" not in given:
        direct.direct_num_workers = cores()
    environment = SubprocessSDKEnvironment.from_command_string(worker)
    return options, partial(FnApiRunner, environment), FnApiRunner


def _parsed(flags: list[str]) -> tuple[Any, list[str]]:
    """Return Beam's options, and the flags that it does not know.

    Raises:
        UsageError: if a value is invalid.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            options = PipelineOptions(flags)
            known = options.get_all_options()
            everything = options.get_all_options(retain_unknown_options=True)
    except SystemExit:
        problem = printed.getvalue().strip().split("\n")[-1]
        raise UsageError(f"--beam-options: {problem.partition('error: ')[2]}") from None
    return options, [f"--{name}" for name in everything if name not in known]
