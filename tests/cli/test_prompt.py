"""The prompt of the command `translate`."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def default_interrupt() -> None:
    """Let SIGINT interrupt also where these tests run in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def translating(
    state: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen, Callable[[bytes, bytes], bytes]]]:
    """Run `s2s translate` on a terminal; return it, and what types and reads until an answer."""
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "seq2seq_cli", "translate"],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "XDG_STATE_HOME": str(state), **environment},
        preexec_fn=default_interrupt,
    ) as process:
        os.close(child)

        def say(text: bytes, answer: bytes) -> bytes:
            os.write(parent, text)
            seen = b""
            until = time.monotonic() + 60
            while answer not in seen and time.monotonic() < until:
                if select.select([parent], [], [], 1)[0]:
                    seen += os.read(parent, 4096)
            assert answer in seen, seen
            return seen

        try:
            yield process, say
        finally:
            process.kill()  # of no effect on one that has left
    os.close(parent)


def interrupt(process: subprocess.Popen) -> int:
    """Send SIGINT until the process leaves: readline misses one that comes before it waits."""
    for _ in range(30):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=10)
    raise AssertionError("SIGINT does not end the process")


def test_on_a_terminal_there_is_a_prompt_with_history(home, tmp_path):
    with translating(tmp_path) as (process, say):
        assert b"Translating with" in say(b"", b"> ")
        assert b"gatos" in say(b"I see one cats.\n", b"\r\n> ")
        say(b"\n", b"\r\n")
        assert process.wait(timeout=60) == 0
    assert (tmp_path / "s2s" / "history").read_text().count("I see one cats.") == 1


def test_ctrl_c_at_the_prompt_exits_with_130_and_saves_the_history(home, tmp_path):
    with translating(tmp_path, PYTHONIOENCODING="ascii") as (process, say):
        say(b"", b"> ")
        assert "él".encode() in say("él".encode() + b"\n", b"\r\n> ")
        assert interrupt(process) == 130
    assert (tmp_path / "s2s" / "history").read_text().count("él") == 1
