"""Two versions of the code: their worktrees, and the commands that they run."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORKING_TREE = "working tree"
STDERR_LINES = 15  # that are shown if a command fails


class FailureError(Exception):
    """A command failed, or its output cannot be read."""


@dataclass(frozen=True)
class Side:
    """One version of the code: its name, its worktree, and the folder of its runs."""

    name: str
    tree: Path
    folder: Path


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    title: str
    code: int
    stdout: str
    stderr: str

    @property
    def problem(self) -> str:
        """The exit code and the end of stderr."""
        tail = "\n".join(self.stderr.strip().splitlines()[-STDERR_LINES:])
        return f"{self.title}\nexit code {self.code}: {tail}"

    def output(self) -> str:
        """Return stdout.

        Raises:
            FailureError: if the command failed.
        """
        if self.code:
            raise FailureError(self.problem)
        return self.stdout

    def records(self) -> list[dict[str, Any]]:
        """Return the output of a command with --json: one object per line.

        Raises:
            FailureError: if the command failed, or printed no JSON.
        """
        try:
            found = [json.loads(line) for line in self.output().splitlines()]
        except ValueError as error:
            raise FailureError(f"{self.title}\nits output is not JSON: {error}") from error
        if not found:
            raise FailureError(f"{self.title}\nit printed nothing")
        return found

    def number(self, key: str) -> float:
        """Return a number of the first record.

        Raises:
            FailureError: if there is none.
        """
        record = self.records()[0]
        if key not in record:
            raise FailureError(f"{self.title}\nits output has no {key}")
        return float(record[key])


def run_together(commands: Mapping[Side, Sequence[str]]) -> dict[Side, Done]:
    """Run a command of `s2s` for each side, all in parallel; an exception here ends them all."""
    with ExitStack() as stack:
        started = {}
        for side, arguments in commands.items():
            out, err = (stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2))
            inherited = os.environ.get("PYTHONPATH")
            path = os.pathsep.join([str(side.tree), *([inherited] if inherited else [])])
            process = subprocess.Popen(
                [sys.executable, "-m", "seq2seq_cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=side.folder,  # `python -m` looks for the package in this folder first
                env={**os.environ, "PYTHONPATH": path},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)  # does nothing if it has ended
            started[side] = process, out, err
        done = {}
        for side, (process, out, err) in started.items():
            code = process.wait()
            out.seek(0)
            err.seek(0)
            title = f"{side.name}: s2s {' '.join(commands[side])}"
            done[side] = Done(title, code, out.read(), err.read())
        return done


def commit_of(name: str) -> str:
    """Return a commit's full name.

    The working tree becomes a commit on no branch, with all files that git does not ignore; the
    index stays as it is.

    Raises:
        FailureError: if there is no such commit.
    """
    if name != WORKING_TREE:
        return git("rev-parse", "--verify", f"{name}^{{commit}}")
    with tempfile.TemporaryDirectory() as folder:
        index = f"{folder}/index"
        git("read-tree", "HEAD", index=index)
        git("add", "--all", index=index)
        return git("commit-tree", git("write-tree", index=index), "-p", "HEAD", "-m", name)


@contextmanager
def worktree(name: str, commit: str, folder: Path) -> Iterator[Side]:
    """Check out a commit for as long as the block runs.

    Args:
        name: the name of the side.
        commit: the commit to check out.
        folder: where to make the worktree and the folder of the side's runs.
    """
    tree, runs = folder / f"{name}-tree", folder / name
    runs.mkdir()
    try:
        git("worktree", "add", "--detach", str(tree), commit)
        yield Side(name, tree, runs)
    finally:
        with suppress(FailureError):  # an interrupted `add` has removed it already
            git("worktree", "remove", "--force", str(tree))


def git(*arguments: str, index: str | None = None) -> str:
    """Return the output of a git command.

    Raises:
        FailureError: if it fails.
    """
    done = subprocess.run(
        ["git", "-c", "user.name=same.py", "-c", "user.email=same.py@localhost", *arguments],
        cwd=ROOT,
        env={**os.environ, **({"GIT_INDEX_FILE": index} if index else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    title = f"git {' '.join(arguments)}"
    return Done(title, done.returncode, done.stdout, done.stderr).output().strip()
